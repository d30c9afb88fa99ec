"""Scenarios that name code: refused unless the one who runs them says that they are trusted."""

import json

import numpy as np
import pytest

import saltus as sl
from saltus.cli import app
from saltus.errors import ScenarioError

MODULE = """
import saltus as sl
from saltus.hybrid import Guard

open("was_run", "w").close()

def rate(t, y, p):
    return {"height": y["speed"], "speed": -9.81}

def bounce(t, y, p):
    return {"height": y["height"], "speed": -p["e"] * y["speed"]}

def build(e=0.9, height=1.0):
    guards = [Guard("floor", lambda t, y, p: y["height"], jump=bounce)]
    return sl.hybrid.system(rate, {"height": height, "speed": 0.0}, guards, parameters={"e": e})

def wrong():
    return 3
"""
TEXT = """kind = "python"
system = "MODULE:build"
[parameters]
e = 0.8
[solve]
until = 2.0
samples = 11
[ensemble]
samples = 4
"parameters.e" = { uniform = [0.8, 0.9] }
"""


# Times of the first bounces from one metre with a restitution of 0.85.
FALL = float(np.sqrt(2.0 / 9.81))
SEEN = "what,at,value,sigma\n" + "".join(
    f"time,floor#{n},{FALL * (1 + 2 * sum(0.85**k for k in range(1, n + 1)))!r},1e-4\n" for n in range(3)
)


@pytest.fixture
def scenario(tmp_path, monkeypatch, request):
    name = f"own_{abs(hash(request.node.name)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "own.toml").write_text(TEXT.replace("MODULE", name))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "own.toml"


OPTIONS = {
    "run": [],
    "check": [],
    "ensemble": ["--out", "a.zarr"],
    "calibrate": ["--observed", "seen.csv", "--fit", "parameters.e"],
    "map": ["--over", "parameters.e=0.8:0.9:3", "--see", "speed"],
    "studio": [],
}


@pytest.mark.parametrize("verb", OPTIONS)
def test_without_the_users_word_no_code_runs(verb, scenario, capsys):
    (scenario.parent / "seen.csv").write_text(SEEN)
    assert app.call([verb, str(scenario), *OPTIONS[verb]]) == 2
    told = capsys.readouterr().err
    assert "--allow-python" in told and told.count("\n") == 1
    assert not (scenario.parent / "was_run").exists()


def test_a_word_for_one_function_is_none_for_another(scenario):
    sl.scenarios.load(scenario, allow_python=True)
    with pytest.raises(ScenarioError, match="runs Python code"):
        sl.scenarios.load(scenario, ['system="os:getcwd"'])


def test_with_the_users_word_it_runs_and_is_drawn(scenario, capsys):
    assert app.call(["run", str(scenario), "--allow-python", "--json", "--out", "a.nc", "--plot", "a.png"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["events"] == {"floor": 3} and facts["energy"] is None
    assert (scenario.parent / "a.png").stat().st_size > 5000
    assert app.call(["run", str(scenario), "--allow-python"]) == 0
    assert "energy balance" not in capsys.readouterr().out


def test_an_ensemble_of_it_gives_what_single_runs_give(scenario):
    found = sl.ensemble(scenario, scenario.parent / "a.zarr", workers=1, allow_python=True)
    assert found.sizes["sample"] == 4
    loaded = sl.scenarios.load(scenario, [f"parameters.e={float(found.parameter[2, 0])!r}"], allow_python=True)
    end = loaded.scenario.simulate().end
    np.testing.assert_allclose(found.final_height[2], end.q[0], rtol=1e-12)
    assert (found.stopped == 0).all() and (found.stop_time == 2.0).all()  # it still bounces


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_run_what_the_user_trusts(scenario, workers, capsys):
    ensemble = ["ensemble", str(scenario), "--allow-python", "--workers", str(workers), "--json"]
    assert app.call([*ensemble, "--out", f"{workers}.zarr", "--set", "ensemble.samples=2"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2


def test_its_parameters_are_fitted_with_derivatives_through_events(scenario, capsys):
    (scenario.parent / "seen.csv").write_text(SEEN)
    told = ["calibrate", str(scenario), "--allow-python", *OPTIONS["calibrate"], "--json"]
    assert app.call(told) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["values"]["parameters.e"] == pytest.approx(0.85, rel=1e-9) and facts["derivatives"] == "replay"
    with pytest.raises(ScenarioError, match="runs Python code"):
        sl.calibrate(scenario.read_text().replace(":build", ":other"), "seen.csv", ["parameters.e"])


@pytest.mark.parametrize(
    ("system", "told"),
    [("nowhere", "must be module:function"), ("no_such_module:build", "Cannot import"), ("json:lods", "no function")],
)
def test_what_cannot_be_called_is_told(scenario, system, told):
    loaded = sl.scenarios.load(scenario, [f'system="{system}"'], allow_python=True)
    with pytest.raises(ScenarioError, match=told):
        loaded.scenario.assemble()


def test_what_returns_no_system_is_told(scenario):
    name = scenario.read_text().split('"')[3].split(":")[0]
    text = f'kind = "python"\nsystem = "{name}:wrong"\n[solve]\nuntil = 1.0\n'
    scenario.write_text(text)
    with pytest.raises(ScenarioError, match="must return a system and its start"):
        sl.scenarios.load(scenario, allow_python=True).scenario.assemble()
