"""What a newcomer meets in the first hour: new, check, cite, completion, and errors that say what to do."""

import json
import os
import subprocess
import sys

import pytest

from saltus.cli import app
from saltus.scenarios import loads
from saltus.scenarios.kinds import KINDS
from saltus.scenarios.templates import template


def call(capsys, *arguments):
    """Exit code, stdout and stderr."""
    code = app.call([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def changed(kind, *replacements):
    """A template with some of its text replaced; every replacement must hit."""
    text = template(kind)
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def alone(program, folder=None, **variables):
    """A program in a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [sys.executable, "-c", f"import sys; from saltus.cli import app; {program}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_scenario_is_commented_and_right(kind, folder, capsys):
    code, out, err = call(capsys, "new", kind)
    assert (code, err) == (0, "") and out.count("#") > 10
    (folder / "my.toml").write_text(out)
    code, out, err = call(capsys, "check", "my.toml", "--keys")
    assert (code, err) == (0, "") and f"kind {kind}" in out


def test_new_without_a_kind_names_the_kinds(capsys):
    code, out, err = call(capsys, "new")
    assert code == 2 and out == "" and "sliding" in err and "saltus new sliding > my.toml" in err


def test_check_builds_the_start_and_says_how_masses_begin(folder, capsys):
    (folder / "my.toml").write_text(template("sliding"))
    code, out, _ = call(capsys, "check", "my.toml")
    assert code == 0 and "mass 0 slips, mass 1 slips" in out
    code, out, _ = call(capsys, "check", "my.toml", "--json", "--set", "friction.mu=5.0")
    assert json.loads(out)["modes"] == ["slip", "slip"]


def test_check_counts_many_masses_and_does_not_take_rods_for_masses(folder, capsys):
    text = """
        kind = "sliding"
        surface = { type = "plane", slope_x = 0.4 }
        release = { polygon = [[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]], spacing = 1.0, mass = 1.0, mu = 0.2 }
        solve = { until = 1.0 }
    """
    (folder / "many.toml").write_text(text)
    assert app.call(["check", "many.toml"]) == 0
    assert "At the start: 12 masses slip." in capsys.readouterr().out
    (folder / "raft.toml").write_text(text.replace("mu = 0.2 }", "mu = 0.2, rods = { stiffness = 1e4 } }"))
    assert app.call(["check", "raft.toml"]) == 0
    assert "pulled" not in capsys.readouterr().out
    (folder / "line.toml").write_text(text.replace(", [4.0, 3.0], [0.0, 3.0]]", "]"))
    assert app.call(["check", "line.toml"]) == 2
    assert "`release.polygon` needs at least 3 corners [x, y], got 2." in capsys.readouterr().err


def test_check_of_keys_needs_no_jax(folder):
    (folder / "my.toml").write_text(template("rails"))
    done = alone(
        "code = app.call(['check', 'my.toml', '--keys']); sys.exit(code + 10 * ('jax' in sys.modules))", folder
    )
    assert done.returncode == 0, done.stderr


def test_bodies_that_grow_until_they_jam_are_a_possible_scenario(folder, capsys):
    code, out, _ = call(capsys, "check", "jammed-ellipsoids", "--set", "fill.seed=2")
    assert code == 0 and "valid scenario of kind bodies" in out


def test_help_of_reproduce_needs_no_jax():
    done = alone("app.call(['reproduce', '--help']); sys.exit(bool({'jax', 'matplotlib'} & set(sys.modules)))")
    assert done.returncode == 0 and "--quick" in done.stdout


# What went wrong, and what the one line on stderr must contain.
MISTAKES = {
    "wrong key": ("sliding", [("velocity = [0.0, 0.98]", "velocty = [0.0, 0.98]")], ["masses.0.velocty", "'velocity'"]),
    "angle in degrees": ("rails", [("half_angle = 0.5", "half_angle = 30")], ["radians", "0.523599", "half_angle_deg"]),
    "outside the bowl": ("sliding", [("[0.40, 0.0]", "[1.40, 0.0]")], ["Mass 1", "outside"]),
    "height given": (
        "sliding",
        [("[0.30, 0.0]", "[0.30, 0.0, 0.1]")],
        ["masses.0.position", "x and y", "follows from the surface"],
    ),
    "rod would stretch": ("sliding", [("[0.0, 1.30]", "[0.5, 1.30]")], ["Rod 0", "project = true"]),
    "rod to nowhere": ("sliding", [("between = [0, 1]", "between = [0, 2]")], ["mass 2", "0 to 1"]),
    "friction forgotten": ("sliding", [("[friction]\nmu = 0.02", "")], ["mu", "[friction]", "0.0 means none"]),
    "word without quotes": ("sliding", [('kind = "sliding"', "kind = sliding")], ["not TOML", "quotes"]),
    "unknown kind": ("sliding", [('kind = "sliding"', 'kind = "slidng"')], ["Did you mean 'sliding'"]),
    "method without step": ("sliding", [("rtol = 1e-10", 'method = "rk4"')], ["solve.step"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line_that_says_what_to_do(mistake, folder, capsys):
    kind, replacements, words = MISTAKES[mistake]
    (folder / "my.toml").write_text(changed(kind, *replacements))
    code, out, err = call(capsys, "check", "my.toml")
    assert code == 2 and out == "" and err.count("\n") == 1
    for word in words:
        assert word in err


def test_a_forgotten_rod_is_pointed_out(folder, capsys):
    text = template("sliding")
    begin, end = text.index("[[rods]]"), text.index("\n[friction]")
    (folder / "my.toml").write_text(text[:begin] + text[end:])
    code, out, _ = call(capsys, "check", "my.toml")
    assert code == 0 and "do not feel each other" in out and "[[rods]]" in out


def test_a_missing_file_is_told_with_what_is_near(folder, capsys):
    assert "saltus new" in call(capsys, "check", "first.toml")[2]
    (folder / "first.toml").write_text("")
    assert "Did you mean 'first.toml'" in call(capsys, "run", "frist.toml")[2]
    assert "Did you mean the file 'first.toml'" in call(capsys, "run", "first")[2]


def test_degrees_are_accepted_where_the_key_says_so():
    scenario = loads(changed("rails", ("half_angle = 0.5", "half_angle_deg = 30")))
    assert scenario.half_angle == pytest.approx(0.5235987755982988, abs=1e-15)
    with pytest.raises(ValueError, match="Both `half_angle` and `half_angle_deg`"):
        loads(changed("rails", ("half_angle = 0.5", "half_angle = 0.5\nhalf_angle_deg = 30")))
    with pytest.raises(ValueError, match="number of degrees"):
        loads(changed("rails", ("half_angle = 0.5", 'half_angle_deg = "30"')))


def test_a_missing_extra_says_how_to_install_it(folder, capsys, monkeypatch):
    (folder / "my.toml").write_text(template("sliding"))
    monkeypatch.setitem(sys.modules, "zarr", None)
    code, _, err = call(capsys, "run", "my.toml", "--set", "solve.until=0.01", "--out", "run.zarr")
    assert code == 2 and "pip install 'saltus[zarr]'" in err


@pytest.mark.parametrize(
    ("scenario", "source"), [("bowl", "Tinti & Gallotti 2019"), ("rails-to-rest", "Contensou 1963")]
)
def test_cite_lists_the_sources_of_system_and_laws(scenario, source, capsys):
    code, out, _ = call(capsys, "cite", scenario)
    assert code == 0 and source in out and "CITATION.cff" in out
    facts = json.loads(call(capsys, "cite", scenario, "--json")[1])
    assert any(source in entry for one in facts["references"] for entry in one["sources"])


def test_the_shell_completes_verbs_scenarios_papers_and_kinds(tmp_path):
    def completed(words):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_SALTUS_COMPLETE": "complete_bash"}
        return alone("app.main([])", tmp_path, **asked).stdout.split()

    assert "reproduce" in completed("saltus rep")
    assert "tinti-2019" in completed("saltus reproduce tin")
    assert "bowl-steady" in completed("saltus run bowl-s")
    assert "sliding" in completed("saltus new sl")
