import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus import scenarios
from saltus.engines import steppers
from saltus.errors import ScenarioError
from saltus.scenarios import base, toml
from saltus.scenarios.loader import apply_overrides, validate

CATALOGUE = list(scenarios.entries())

SMALL = """
kind = "sliding"
[surface]
type = "sphere"
radius = 1.0
[[masses]]
mass = 1.0
position = [0.3, 0.0]
mu = 0.02
[solve]
until = 1.0
"""


def test_the_smallest_scenario_has_the_defaults_of_the_documentation():
    scenario = scenarios.loads(SMALL)
    assert scenario.gravity == 9.81
    assert scenario.masses[0].velocity == [0.0, 0.0]
    assert scenario.mu == [0.02]
    assert scenario.solve.rtol == 1e-10 and scenario.solve.atol == 1e-12
    assert scenario.solve.samples == 1001
    assert scenario.solve.formulation == "full"
    assert scenario.solve.friction_reaction == "abs"
    assert scenario.solve.adhesion and not scenario.solve.project


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_ready_scenario_is_valid_and_described(name):
    entry = scenarios.entries()[name]
    loaded = scenarios.load(name)
    assert loaded.scenario.kind == entry.kind
    assert 20 < len(entry.description) < 110
    assert entry.path.read_text().startswith("# ")


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_scenario_written_as_toml_reads_back_the_same(name):
    data = tomllib.loads(scenarios.load(name).text)
    assert tomllib.loads(toml.dumps(data)) == data


keys = st.text(min_size=1, max_size=8)
leaves = st.one_of(st.integers(-10, 10), st.floats(allow_nan=False), st.booleans(), st.text(max_size=12))
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))


@given(st.dictionaries(keys, values, max_size=4))
def test_any_plain_data_survives_toml(data):
    assert tomllib.loads(toml.dumps(data)) == data


def test_friction_given_once_serves_the_masses_without_their_own():
    text = SMALL.replace("mu = 0.02", "") + "[friction]\nmu = 0.3\n"
    assert scenarios.loads(text).mu == [0.3]
    assert scenarios.loads(SMALL + "[friction]\nmu = 0.3\n").mu == [0.02]


def test_the_known_methods_are_those_of_the_engines():
    assert (*base.ADAPTIVE_METHODS, *base.FIXED_METHODS) == steppers.METHODS


def test_a_file_is_read_like_a_name(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SMALL)
    loaded = scenarios.load(path)
    assert loaded.name == "mine" and loaded.text == SMALL


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("masses.0.mass=2.5", ("masses", 0, "mass"), 2.5),
        ("masses.0.position=[0.1, 0.2]", ("masses", 0, "position"), [0.1, 0.2]),
        ("masses.0.position.1=0.2", ("masses", 0, "position"), [0.3, 0.2]),
        ("solve.method=tsit5", ("solve", "method"), "tsit5"),
        ('solve.method="tsit5"', ("solve", "method"), "tsit5"),
        ("solve.adhesion=false", ("solve", "adhesion"), False),
        ("friction.mu=0.5", ("friction", "mu"), 0.5),
        (" gravity = 1 ", ("gravity",), 1),
        ("surface={type='plane', slope_x=0.1}", ("surface",), {"type": "plane", "slope_x": 0.1}),
    ],
)
def test_overrides_reach_every_key(override, path, value):
    data = apply_overrides(tomllib.loads(SMALL), [override])
    validate(data)
    for part in path:
        data = data[part]
    assert data == value


def test_the_stored_text_holds_the_overrides():
    loaded = scenarios.load("bowl", ["masses.1.mass=2.5", "solve.until=3"])
    again = scenarios.loads(loaded.text)
    assert again == loaded.scenario
    assert again.masses[1].mass == 2.5


def test_the_text_without_overrides_is_the_file():
    assert scenarios.load("bowl").text == scenarios.entries()["bowl"].path.read_text()


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("masses.0.mas=2", "Unknown key `masses.0.mas`. Did you mean 'mass'? Known: mass, position, velocity, mu."),
        ("solve.untl=2", "Unknown key `solve.untl`. Did you mean 'until'?"),
        ("surface.radiu=3", "Unknown key `surface.radiu`. Did you mean 'radius'? Known: type, radius."),
        ("foo=1", "Unknown key `foo`. Known: kind,"),
        ("rods.0.betwen=[0,1]", "Unknown key `rods.0.betwen`. Did you mean 'between'?"),
        ("surface.type=spere", "Unknown `surface.type` 'spere'. Did you mean 'sphere'?"),
        ("surface={}", "`surface.type` is missing. Known: sphere, dome, plane"),
        ("surface={type='sphere'}", "`surface.radius` is missing."),
        ("kind=slidin", "Unknown kind 'slidin'. Did you mean 'sliding'?"),
        ("kind=3", "`kind` must be a word in quotes, got 3."),
        ("masses.0.mass=0", "`masses.0.mass` must be > 0, got 0."),
        ("masses.0.mass=true", "`masses.0.mass` must be a number, got True."),
        ("masses.0.mass=heavy", "`masses.0.mass` must be a number, got 'heavy'."),
        ("masses.0.mass=nan", "`masses.0.mass` must be a finite number, got nan."),
        ("masses.0.mass=inf", "`masses.0.mass` must be a finite number, got inf."),
        ("masses.0.mu=-0.1", "`masses.0.mu` must be >= 0, got -0.1."),
        ("masses.0.position=[1]", "`masses.0.position` must have at least 2 entries, got [1]."),
        ("masses.0.position=[1, 2, 3]", "`masses.0.position` must have at most 2 entries"),
        ("masses.0.position=[1, x]", "`masses.0.position` must be a list, got '[1, x]'."),
        ("masses.0=1", "`masses.0` must be a table, got 1."),
        ("masses=[]", "`masses` must have at least 1 entry, got []."),
        ("masses=3", "`masses` must be a list, got 3."),
        ("rods.0.between=[0, 0]", "Rod 0 joins mass 0 to itself."),
        ("rods.0.between=[0, 7]", "Rod 0 joins mass 7, which does not exist. The masses are numbered 0 to 1."),
        ("rods.0.between=[0, -1]", "Rod 0 joins mass -1"),
        ("rods.0.between=[0, 0.5]", "`rods.0.between.1` must be a whole number, got 0.5."),
        ("rods=[{between=[0,1]}, {between=[1,0]}]", "Rods 0 and 1 join the same masses 1 and 0."),
        ("friction={}", "`friction.mu` is missing."),
        ("solve.until=0", "`solve.until` must be > 0, got 0."),
        ("solve.until=nan", "`solve.until` must be > 0, got nan."),
        ("solve.method=rk5", "Unknown method 'rk5'. Did you mean 'rk4'?"),
        ("solve.method=rk4", "Method 'rk4' needs `solve.step`"),
        ("solve.step=-1", "`solve.step` must be > 0, got -1."),
        ("solve.adhesion=1", "`solve.adhesion` must be true or false, got 1."),
        ("solve.samples=1", "`solve.samples` must be >= 2, got 1."),
        ("solve.samples=2.5", "`solve.samples` must be a whole number, got 2.5."),
        ("solve.restitution=1.5", "`solve.restitution` must be <= 1, got 1.5."),
        ("solve.formulation=fulll", "Unknown `solve.formulation` 'fulll'. Did you mean 'full'? Known: full, tangent."),
        ("surface={type='expression', z='__import__(1)'}", "Unknown function '__import__'"),
        ("surface={type='expression', z='q*x'}", "Unknown name 'q'"),
        ("surface={type='expression', z='x', parameters={x=1}}", "A parameter cannot be called 'x'"),
        ("masses.0.mass", "An override is key=value"),
        ("=3", "An override is key=value"),
        ("masses.9.mass=1", "`masses` has the entries 0 to 1, there is no '9'."),
        ("gravity.x=1", "`gravity` is 9.81, not a table or list."),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(override, words):
    with pytest.raises(ScenarioError) as caught:
        scenarios.load("bowl", [override])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_friction_must_be_given():
    with pytest.raises(ScenarioError, match=r"`masses.0.mu` is missing"):
        scenarios.loads(SMALL.replace("mu = 0.02", ""))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"kind = ", "is not TOML"),
        (b"\xff\xfe\x00", "is not a text file"),
        (b"", "`kind` is missing"),
        (b"a = " + b"[" * 5000, "is not TOML"),
    ],
)
def test_files_that_are_no_scenarios_are_refused(tmp_path, content, words):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match=words):
        scenarios.load(path)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("bowll", "There is no scenario 'bowll' in the catalogue. Did you mean 'bowl'?"),
        ("bowl.toml", "There is no file 'bowl.toml'. The catalogue has 'bowl'."),
        ("nowhere/x.toml", "There is no file"),
        (".", "is a folder"),
    ],
)
def test_scenarios_that_are_not_there_are_named(source, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(source)
    assert words in str(caught.value)


def test_reading_scenarios_does_not_import_jax():
    import subprocess

    code = "import sys; from saltus import scenarios; scenarios.load('bowl'); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
