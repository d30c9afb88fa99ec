"""One free mass at the border of the map ended the run for all, and hazard maps of such runs said nothing of it."""

import json

import numpy as np
import pytest
import rasterio
import xarray as xr

import saltus as sl
from saltus.cli import app
from saltus.ensembles.compute import run_samples
from saltus.io.hazard import Hazard, write_raster
from saltus.scenarios import load
from saltus.surfaces import Terrain, synthetic

STARTS = [[150.0, 0.0], [20.0, 10.0], [120.0, -20.0]]
MU = [0.1, 0.9, 0.1]


@pytest.fixture(scope="module")
def slope():
    return synthetic.inclined_plane(0.5, spacing=10.0, length=200.0)


@pytest.fixture(scope="module")
def slide(slope):
    """Three masses without rods: two slide over the border, one after the other, the middle one soon stops."""
    masses = sl.systems.SlidingMasses(slope, [1.0, 2.0, 3.0], mu=MU)
    return sl.simulate(masses, masses.start(STARTS, [[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), until=60.0)


def test_the_others_go_on_and_the_mass_stays_where_it_left(slide):
    assert [(event.name, event.index) for event in slide.events] == [
        ("stop", 1), ("left_domain", 0), ("left_domain", 2),
    ]  # fmt: skip
    assert slide.outcome.name == "finished" and float(slide.end.t) == 60.0
    data = slide.to_dataset(times=61)
    names = data.attrs["mode_names"].split(", ")
    assert [names[mode] for mode in data["mode"].values[-1]] == ["gone", "stick", "gone"]
    np.testing.assert_allclose(data["position"].values[-1, [0, 2], 0], 200.0, atol=1e-4)
    assert (data["velocity"].values[-1] == 0.0).all() and (data["normal_force"].values[-1, [0, 2]] == 0.0).all()
    # What a mass carries away counts as lost: kinetic + potential + dissipated stays.
    assert sl.diagnostics.energy_balance(data).relative < 1e-9
    lost = slide.events[1].data["energy_loss"]
    assert lost == pytest.approx(0.5 * float(np.sum(np.asarray(slide.events[1].before.v[0]) ** 2)), rel=1e-12)


@pytest.mark.slow
def test_each_mass_leaves_as_it_does_alone(slope, slide):
    alone = sl.systems.SlidingMasses(slope, [1.0], mu=MU[0])
    run = sl.simulate(alone, alone.start([STARTS[0]]), until=60.0)
    assert run.outcome.name == "left_domain"  # the last mass that is left ends the run
    assert slide.events[1].t == pytest.approx(run.events[-1].t, rel=1e-9)


@pytest.mark.slow
def test_masses_with_rods_end_the_run_as_before(slope):
    masses = sl.systems.SlidingMasses(slope, [1.0, 1.0, 1.0], [(0, 1)], mu=0.1)
    run = sl.simulate(masses, masses.start([[150.0, 0.0], [150.0, 5.0], [10.0, 0.0]]), until=60.0)
    assert run.outcome.name == "left_domain" and run.events[-1].index in (0, 1)


@pytest.mark.slow
def test_the_last_two_may_leave_at_the_same_instant(slope):
    masses = sl.systems.SlidingMasses(slope, [1.0, 1.0], mu=0.1)
    run = sl.simulate(masses, masses.start([[150.0, 0.0], [150.0, 5.0]]), until=60.0)
    assert run.outcome.name == "left_domain" and "mass 1" in run.outcome.message


def test_masses_can_leave_a_terrain_unless_adhesion_is_asked_for(slope, tmp_path):
    assert not sl.systems.SlidingMasses(slope, [1.0], mu=0.1).adhesion
    assert sl.systems.SlidingMasses(slope, [1.0], mu=0.1, adhesion=True).adhesion
    assert sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0], mu=0.1).adhesion
    assert not load("alpine-block").scenario.solve.adhesion
    assert load("alpine-block", ["solve.adhesion=true"]).scenario.solve.adhesion
    assert load("alpine-raft").scenario.solve.adhesion  # stepped on the ground
    assert load("bowl").scenario.solve.adhesion


SLIDE = """
kind = "sliding"
[surface]
type = "terrain"
file = "slope.tif"
[friction]
mu = 0.1
[[masses]]
mass = 1.0
position = [150.0, 0.0]
[[masses]]
mass = 2.0
position = [20.0, 10.0]
velocity = [2.0, 0.0]
mu = 0.9
[solve]
until = 20.0
samples = 41
[ensemble]
samples = 3
seed = 1
[ensemble.parameters]
"friction.mu" = { uniform = [0.1, 0.2] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, slope):
    monkeypatch.chdir(tmp_path)
    heights = np.asarray(slope.height(*np.meshgrid(slope.grid.x, slope.grid.y)))
    grid = Terrain(heights, slope.grid.dx, slope.grid.x0, slope.grid.y0, crs="EPSG:32632").grid
    write_raster("slope.tif", {"height": heights}, grid)
    (tmp_path / "slide.toml").write_text(SLIDE)
    return tmp_path


@pytest.mark.slow
def test_an_ensemble_takes_masses_out_as_a_single_run_does(folder):
    scenario = load("slide.toml").scenario
    found = run_samples.run(scenario, {"friction.mu": np.array([0.1, 0.15])})
    single = scenario.simulate()
    assert found["masses_left"].tolist() == [1, 1] and (found["outcome"] == 0).all()
    np.testing.assert_array_equal(found["final_mode"][0], np.asarray(single.end.mode))
    assert found["stop_time"][0] == pytest.approx(single.events[-1].t, rel=1e-9)


@pytest.mark.slow
def test_what_is_incomplete_is_said_in_the_summaries_and_on_the_map(folder, capsys):
    assert app.call(["ensemble", "slide.toml", "--out", "a.zarr", "--series", "2"]) == 0
    assert "incomplete  3 masses left the region of the surface" in capsys.readouterr().out
    assert app.call(["hazard", "a.zarr", "--out", "map.tif", "--plot", "map.png", "--json"]) == 0
    told = capsys.readouterr()
    facts = json.loads(told.out)
    assert facts["masses_left"] == 2 and facts["masses_moving"] == 0 and facts["runs_cut_off"] == {}
    assert "saltus: Incomplete: 2 masses left the map." in told.err
    with rasterio.open("map.tif") as file:
        assert file.tags()["incomplete"] == "Incomplete: 2 masses left the map."
        assert file.tags()["runs"] == "2"


def test_runs_that_were_cut_off_are_counted_by_their_outcome():
    hazard = Hazard(synthetic.inclined_plane(0.5, spacing=10.0, length=200.0).grid)
    variables = {
        "position": (("time", "mass", "axis"), np.zeros((2, 2, 3))),
        "velocity": (("time", "mass", "axis"), np.zeros((2, 2, 3))),
        "mode": (("time", "mass"), np.array([[0, 0], [0, 2]])),
    }
    for outcome in ("left_domain", "finished", "left_domain"):
        attributes = {"mode_names": "slip, pulled, stick, free, gone", "outcome": outcome}
        hazard.add_run(xr.Dataset(variables, {"time": [0.0, 1.0]}, attributes))
    assert hazard.incomplete() == (
        "Incomplete: 2 of 3 runs were cut off (left_domain), 3 masses still moved at the end."
    )
