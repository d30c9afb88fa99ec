"""`saltus map` and the figures of long-time dynamics."""

import json

import numpy as np
import pytest
import xarray as xr
from tests import own

import saltus as sl
from saltus.cli import app
from saltus.dynamics import Diagram, Orbit, Spectrum, section
from saltus.views import dynamics as pictures

MODULE = """
import jax.numpy as jnp
import saltus as sl
from saltus.hybrid import Guard

def rate(t, y, p):
    return {"h": y["v"], "v": -9.81}

def thrown(t, y, p):
    w = p["A"] * 33.0 * jnp.cos(33.0 * t)
    return {"h": y["h"], "v": w - 0.8 * (y["v"] - w)}

def build(A=0.008):
    table = Guard("table", lambda t, y, p: (y["h"] - p["A"] * jnp.sin(33.0 * t)) / 0.01, jump=thrown)
    return sl.hybrid.system(rate, {"h": 0.034, "v": -0.58}, [table], parameters={"A": A})
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    (tmp_path / "own_shaken_table.py").write_text(MODULE)
    (tmp_path / "table.toml").write_text('kind = "python"\nsystem = "own_shaken_table:build"\n[solve]\nuntil = 1.0\n')
    monkeypatch.chdir(tmp_path)
    return "table.toml"


def test_a_map_shows_one_branch_then_two(table, capsys):
    options = ["--over", "parameters.A=0.0085:0.0101:2", "--see", "v", "--skip", "200", "--keep", "6"]
    assert app.call(["map", table, *options]) == 2
    assert "--allow-python" in capsys.readouterr().err
    assert app.call(["map", table, *options, "--allow-python", "--json", "--out", "a.nc", "--plot", "a.png"]) == 0
    assert json.loads(capsys.readouterr().out)["branches"] == {"1": 1, "2": 1}
    assert xr.load_dataset("a.nc").sizes == {"value": 2, "event": 6}


@pytest.mark.parametrize("over", ["parameters.A", "parameters.A=1:2", "A=1:2:3", "parameters.B=1:2:3"])
def test_a_range_that_makes_no_sense_is_told(table, over, capsys):
    assert app.call(["map", table, "--allow-python", "--over", over, "--see", "v"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_figures_are_drawn(tmp_path):
    ball = own.ball()
    states = section(sl.simulate(ball, ball.start(), until=3.0), "floor")
    growth = np.random.default_rng(1).normal(size=(50, 2))
    found = Spectrum(growth.mean(0), growth.std(0), growth, 1.0, states, True)
    seen = np.linspace(0, 1, 40).reshape(10, 4)
    drawn = {
        "diagram": pictures.diagram(Diagram("A", np.arange(10.0), seen, seen, np.ones(10, bool))),
        "section": pictures.section(states, ("height", "speed")),
        "orbit": pictures.orbit(Orbit(states, 0.5, np.array([2.0 + 0j, 0.3j]), 0.0, 1), states, ("height", "speed")),
        "spectrum": pictures.spectrum(found),
        "basins": pictures.basins(np.array([[0, 1], [1, 2]]), {"x": [0, 1], "v": [0, 1]}),
    }
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 3000
