"""The table [ensemble] of a scenario: what is accepted, and what is said of what is not."""

import tomllib

import numpy as np
import pytest

from saltus import scenarios
from saltus.cli import app
from saltus.ensembles.design import Design
from saltus.errors import ScenarioError
from saltus.scenarios.keys import with_values
from saltus.scenarios.loader import validate

BASE = """
kind = "sliding"
[surface]
type = "sphere"
radius = 1.0
[[masses]]
mass = 1.0
position = [0.3, 0.0]
[friction]
mu = 0.02
[solve]
until = 1.0
[ensemble]
samples = 100
"""


def ensemble(text):
    return scenarios.loads(BASE + text).ensemble


def test_keys_stand_beside_samples_quoted_or_not():
    quoted = ensemble('seed = 4\n"friction.mu" = { normal = [0.02, 0.005], min = 0.0 }')
    assert quoted == ensemble("seed = 4\nfriction.mu = { normal = [0.02, 0.005], min = 0.0 }")
    assert quoted == ensemble("seed = 4\n[ensemble.parameters]\nfriction.mu = { normal = [0.02, 0.005], min = 0.0 }")
    assert quoted.samples == 100 and quoted.seed == 4 and quoted.design == "random"
    assert list(quoted.parameters) == ["friction.mu"]


@pytest.mark.parametrize(
    "key", ["masses.0.mu", "masses.0.velocity.1", "gravity", "surface.radius", "solve.restitution"]
)
def test_keys_that_are_known_but_not_given_can_vary(key):
    assert list(ensemble(f'"{key}" = {{ uniform = [0.1, 0.2] }}').parameters) == [key]


@pytest.mark.parametrize("name", list(scenarios.entries()))
def test_every_kind_of_scenario_takes_an_ensemble(name):
    data = tomllib.loads(scenarios.load(name).text)
    key = "impact.restitution" if data["kind"] == "bodies" else "gravity"
    data["ensemble"] = {"samples": 8, key: {"uniform": [0.5, 1.0]}}
    if {"measure", "compress"} & data.keys():  # a gas gives averages, not a motion
        with pytest.raises(ScenarioError, match="gas_boxes"):
            validate(data)
        return
    assert Design(validate(data).ensemble).draw(0, 8)[key].shape == (8,)


def test_values_are_put_in_by_key():
    scenario = scenarios.loads(BASE + "gravity = { uniform = [9.7, 9.9] }")
    other = with_values(scenario, {"masses.0.velocity.1": 0.5, "friction.mu": 0.3})
    assert other.masses[0].velocity == [0.0, 0.5] and other.mu == [0.3] and other.ensemble is None
    assert scenario.masses[0].velocity == [0.0, 0.0]
    with pytest.raises(ScenarioError, match="`friction.mu` must be >= 0, got -0.1"):
        with_values(scenario, {"friction.mu": -0.1})


def test_angles_vary_in_degrees():
    scenario = scenarios.load("rails-to-rest").scenario
    assert with_values(scenario, {"slope_deg": 3.0}).slope == pytest.approx(np.pi / 60, rel=1e-15)


def test_the_scenario_itself_is_what_runs():
    assert scenarios.loads(BASE + "gravity = { uniform = [1.0, 2.0] }").gravity == 9.81


WRONG = {
    '"friction.mu" = { nomral = [0.02, 0.005] }': "Unknown key `ensemble.friction.mu.nomral`. Did you mean 'normal'?",
    '"friction.mu" = { normal = [0.02, 0.005], mim = 0.0 }': "Did you mean 'min'?",
    '"friction.mu" = { normal = [0.02, -0.005] }': "must be > 0, got -0.005",
    '"friction.mu" = { lognormal = [-4.0, 0.5] }': "write exp(m)",
    '"friction.mu" = { uniform = [0.2, 0.1] }': "[lowest, highest], got [0.2, 0.1]",
    '"friction.mu" = { normal = [0.02, 0.005], min = 0.1, max = 0.1 }': "must be <",
    '"friction.mu" = { uniform = [0.1, 0.2], max = 0.05 }': "Nothing of `ensemble.friction.mu.uniform`",
    '"friction.mu" = { normal = [0.02, 0.005], uniform = [0.0, 1.0] }': "got `normal` and `uniform`",
    '"friction.mu" = { min = 0.0 }': "needs one distribution, got none",
    '"friction.mu" = { normal = [0.02] }': "must have 2 entries",
    '"friction.mu" = { normal = "wide" }': "`ensemble.friction.mu.normal` must be a list",
    '"friction.mu" = 0.3': "must be a distribution, such as",
    '"friction.mu" = { choice = [] }': "at least 1 entry",
    '"friction.mu" = { choice = [0.1, "a"] }': "all of one sort",
    '"friction.mu" = { choice = [0.1, 0.2], weights = [1.0] }': "must be as many as `choice` has, 2, got 1",
    '"friction.mu" = { choice = [0.1, 0.2], weights = [1.0, -1.0] }': "must be >= 0",
    '"friction.mu" = { choice = [0.1, 0.2], min = 0.0 }': "`ensemble.friction.mu.min` does not go with `choice`",
    '"friction.mu" = { choice = [0.1, -0.2] }': "In [ensemble]: `friction.mu` must be >= 0, got -0.2",
    '"friction.mu" = { csv = "a.csv" }': "`ensemble.friction.mu.column` is missing",
    '"solve.method" = { choice = ["tsit5", "dopri9"] }': "Did you mean 'dopri8'?",
    '"frction.mu" = { uniform = [0.0, 1.0] }': "In [ensemble]: Unknown key `frction`. Did you mean 'friction'?",
    '"frction.mu" = { csv = "a.csv", column = "mu" }': "In [ensemble]: Unknown key `frction`. Did you mean 'friction'?",
    '"masses.1.mu" = { uniform = [0.0, 1.0] }': "has the entries 0 to 0, there is no '1'",
    '"rods.0.strength" = { uniform = [0.0, 1.0] }': "`rods` is empty",
    '"masses.0.position" = { uniform = [0.0, 1.0] }': "`masses.0.position` must be a list",
    '"gravity.1" = { uniform = [0.0, 1.0] }': "not a table or list",
    '"ensemble.seed" = { choice = [1, 2] }': "cannot vary",
    'gravity = { uniform = [1.0, 2.0] }\n"gravity.x" = { uniform = [1.0, 2.0] }': "vary the same value",
    'friction.mu = { uniform = [0.1, 0.2] }\n"friction.mu" = { uniform = [0.1, 0.2] }': "given twice",
    "sampels = 3": "Unknown key `ensemble.sampels`. Did you mean 'samples'?",
    'design = "soboll"\ngravity = { uniform = [1.0, 2.0] }': "Did you mean 'sobol'?",
    "seed = -1\ngravity = { uniform = [1.0, 2.0] }": "`ensemble.seed` must be >= 0",
    "seed = 1": "[ensemble] varies nothing",
    'design = "grid"\ngravity = { uniform = [1.0, 2.0] }': "a grid needs `values`",
    'design = "grid"\ngravity = { grid = [1.0, 2.0, 2.5] }': "whole count",
    "gravity = { grid = [1.0, 2.0, 3] }": 'belongs to design = "grid"',
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_tables_are_refused_in_one_sentence(text):
    with pytest.raises(ScenarioError) as caught:
        ensemble(text)
    assert WRONG[text] in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "keys, correlation, words",
    [
        (["gravity", "friction.mu"], 1.0, "must be positive definite"),
        (["gravity", "friction.mu"], [[1.0, 0.5], [0.4, 1.0]], "symmetric"),
        (["gravity", "friction.mu"], [[2.0, 0.5], [0.5, 1.0]], "ones on the diagonal"),
        (["gravity", "friction.mu"], [[1.0, 0.5]], "one number or 2 rows of 2"),
        (["gravity"], 0.5, "at least 2 different keys"),
        (["gravity", "friction.nu"], 0.5, "Did you mean 'friction.mu'?"),
        (["gravity", "solve.method"], 0.5, "has `choice`"),
    ],
)
def test_wrong_correlations_are_refused(keys, correlation, words):
    tables = 'gravity = { uniform = [1.0, 2.0] }\n"friction.mu" = { uniform = [0.1, 0.2] }\n'
    tables += '"solve.method" = { choice = ["tsit5"] }\n'
    group = f"[[ensemble.correlated]]\nkeys = {keys}\ncorrelation = {correlation}"
    with pytest.raises(ScenarioError) as caught:
        ensemble(tables + group)
    assert words in str(caught.value)


def test_no_samples_are_refused():
    with pytest.raises(ScenarioError, match="`ensemble.samples` must be >= 1, got 0"):
        scenarios.loads(BASE.replace("samples = 100", "samples = 0") + "gravity = { uniform = [1.0, 2.0] }")
    table = scenarios.loads(BASE.replace("samples = 100", "") + "gravity = { uniform = [1.0, 2.0] }").ensemble
    assert Design(table, samples=7).samples == 7
    with pytest.raises(ScenarioError, match="`ensemble.samples` is missing"):
        Design(table)
    with pytest.raises(ScenarioError, match="must be >= 1, got 0"):
        Design(table, samples=0)


def test_a_grid_counts_its_own_samples():
    table = 'design = "grid"\ngravity = { grid = [1.0, 2.0, 5] }\n"friction.mu" = { values = [0.1, 0.2] }'
    counted = scenarios.loads(BASE.replace("samples = 100", "") + table).ensemble
    assert Design(counted).samples == 10
    with pytest.raises(ScenarioError, match="The grid has 10 samples, got 100"):
        Design(ensemble(table))


def test_a_saltelli_design_says_which_numbers_of_samples_it_takes():
    table = 'design = "saltelli"\ngravity = { uniform = [1.0, 2.0] }\n"friction.mu" = { uniform = [0.1, 0.2] }'
    assert Design(ensemble(table), samples=6 * 16).samples == 96
    with pytest.raises(ScenarioError, match="got 100. Take 96 or 192."):
        Design(ensemble(table))


@pytest.fixture
def folder(tmp_path):
    """A folder with a scenario and a table of measured values."""
    (tmp_path / "measured.csv").write_text("mu, g\n0.1, 9.1\n0.2, 9.2\n0.3, 9.3\n")
    keys = '"friction.mu" = { csv = "measured.csv", column = "mu" }\ngravity = { csv = "measured.csv", column = "g" }\n'
    (tmp_path / "case.toml").write_text(BASE.replace("samples = 100", "samples = 3") + keys)
    return tmp_path


def test_sample_i_takes_row_i_of_a_file_beside_the_scenario(folder):
    loaded = scenarios.load(folder / "case.toml")
    values = Design(loaded.scenario.ensemble).draw(1, 3)
    assert values["friction.mu"].tolist() == [0.2, 0.3] and values["gravity"].tolist() == [9.2, 9.3]
    # The text that is stored names the file in full.
    assert Design(scenarios.loads(loaded.text).ensemble).draw(0, 1)["gravity"].tolist() == [9.1]


@pytest.mark.parametrize("design", ["random", "sobol", "latin"])
def test_drawn_rows_keep_their_columns_together(folder, design):
    text = (folder / "case.toml").read_text().replace(" }", ', rows = "drawn" }')
    (folder / "case.toml").write_text(text.replace("[ensemble]", f'[ensemble]\ndesign = "{design}"'))
    values = Design(scenarios.load(folder / "case.toml").scenario.ensemble, samples=300).draw(0, 300)
    assert np.allclose(values["gravity"], 9.0 + values["friction.mu"], rtol=0, atol=1e-12)
    assert set(values["friction.mu"]) == {0.1, 0.2, 0.3}


def test_rows_of_a_file_are_one_axis_of_a_grid(folder):
    text = (folder / "case.toml").read_text().replace("samples = 3", 'design = "grid"')
    (folder / "case.toml").write_text(text + '"masses.0.mass" = { values = [1.0, 2.0] }\n')
    grid = Design(scenarios.load(folder / "case.toml").scenario.ensemble)
    assert grid.numbers(grid.draw(0, 6))[:, 0].tolist() == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
    assert grid.numbers(grid.draw(0, 6))[:, 2].tolist() == [1.0, 2.0] * 3


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "There is no file"),
        ("", "must have a header line"),
        ("mu\n", "at least one row"),
        ("mue,g\n1,2\n2,3\n3,4\n", "has no column 'mu'. Did you mean 'mue'? Its columns: mue, g."),
        ("mu,g\n1,2\nrough,3\n3,4\n", "got 'rough' in line 3"),
        ("mu,g\n1,2\nnan,3\n3,4\n", "finite numbers, got 'nan'"),
        ("mu,g\n1,2\n1\n3,4\n", "got '' in line 3"),
        ("mu,g\n1,2\n", 'has 1 rows for 3 samples. Ask for fewer, or give rows = "drawn".'),
        (b"mu\xff\xfe,g\n1,2\n", "Cannot read"),
    ],
)
def test_wrong_files_are_refused(folder, content, words):
    path = folder / "measured.csv"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ScenarioError) as caught:
        Design(scenarios.load(folder / "case.toml").scenario.ensemble)
    assert words in str(caught.value)


def test_check_tells_of_the_ensemble_and_reads_its_files(folder, capsys):
    assert app.call(["check", str(folder / "case.toml")]) == 0
    assert "An ensemble of 3 samples (random) varies friction.mu, gravity." in capsys.readouterr().out
    (folder / "measured.csv").unlink()
    assert app.call(["check", str(folder / "case.toml")]) == 2
    assert "There is no file" in capsys.readouterr().err
