"""What arrived at a barrier, and the maps of stones, were interpolated between the samples of a run.

With few of them energies and heights were off by tens of per cent, and nobody was told. They follow the run itself now.
Of an ensemble, samples that could not be built were left out without a word.
"""

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

from saltus import simulate
from saltus.cli import app
from saltus.io.hazard import Hazard
from saltus.io.rockfall import KEPT, Barrier, RockfallMaps
from saltus.io.stone_path import MOST, n_pieces
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Soil
from saltus.shapes import Ellipsoid, Solid
from saltus.surfaces import Terrain
from saltus.surfaces.grid import Grid
from saltus.systems import BodyOnGround

LINES = (13.7, 31.2, 44.4, 52.1)  # x of barriers across the slope [m]


@pytest.fixture(scope="module")
def run():
    """A stone that turns and bounces down a wavy slope."""
    x, y = np.meshgrid(5.0 * np.arange(25), 5.0 * np.arange(9))
    ground = Terrain(-0.5 * x + 0.4 * np.sin(x / 9.0) * np.cos(y / 11.0), 5.0)
    solid = Solid(Ellipsoid([0.7, 0.5, 0.35]), density=2700.0)
    law, impact = Coulomb(0.5), Soil(0.5, 0.5)
    system = BodyOnGround(ground, solid, law, impact, rolling_friction=0.1, settle_height=1e-3)
    start = system.start([6.0, 20.0], [6.0, 0.3, 0.0], angular_velocity=[0.5, 4.0, 1.0], height=1.5)
    return simulate(system, start, until=6.0, rtol=1e-7, atol=1e-9)


def at_the_line(run, x):
    """Energy, height and speed where the run itself crosses x = const for the first time."""
    knots = run.trajectory.knots
    k = np.flatnonzero(np.asarray(knots.q.centre)[:, 0] > x)[0]
    first, last = np.asarray(knots.t)[k - 1 : k + 1]
    t = scipy.optimize.brentq(lambda t: float(run.at(t).q.centre[0]) - x, first, last, xtol=1e-13)
    seen = run.system.observe(run.at(t))
    return np.array([seen["kinetic_energy"], seen["jump_height"], np.linalg.norm(seen["velocity"])])


def test_what_arrives_at_a_barrier_is_what_the_run_has_there_whatever_its_samples(run):
    assert len(run.events) > 3 and float(run.end.q.centre[0]) > LINES[-1]
    for times in (3, 31, 400):
        dataset = run.to_dataset(times=times)
        for x in LINES:
            barrier = Barrier([np.array([[x, 0.0], [x, 40.0]])])
            barrier.add_run(dataset)
            energy, height, speed = at_the_line(run, x)
            (found,) = barrier.crossings
            np.testing.assert_allclose(found[[2, 4]], [energy, speed], rtol=1e-4)
            assert found[3] == pytest.approx(height, abs=2e-3)


def test_maps_of_stones_are_the_same_whatever_the_samples_of_the_run(run):
    made = []
    for times in (3, 31, 400):
        maps = RockfallMaps(run.system.surface.grid)
        maps.add_run(run.to_dataset(times=times))
        assert maps.interpolated() == ""
        made.append(maps.maps())
    for name, layer in made[0].items():
        for other in made[1:]:
            np.testing.assert_array_equal(layer, other[name])
    # Nothing of the run is larger than the maps say.
    seen = run.to_dataset(times=20001)
    for name in KEPT:
        largest = np.linalg.norm(seen["velocity"], axis=-1) if name == "speed" else seen[name].values
        assert np.nanmax(made[0][f"{name}_largest"]) == pytest.approx(largest.max(), rel=5e-4)


@pytest.mark.parametrize("up", [1e3, 1e12])
def test_a_stone_thrown_straight_up_is_looked_at_no_more_often_the_faster_it_is(run, up):
    # It goes over no pixels: by the way it rises, 1e12 m/s would be 1e13 looks, more than any memory holds.
    start = run.system.start([6.0, 20.0], [0.0, 0.0, up], angular_velocity=[0.5, 0.5, 0.0], height=1.5)
    thrown = simulate(run.system, start, until=6.0, rtol=1e-7, atol=1e-9, max_steps=2000)
    dataset = thrown.to_dataset(times=7)
    assert thrown.outcome.name == "finished" and dataset.sizes["piece"] < 500
    assert dataset["path_time"].values[-1, -1] == 6.0
    height, above = dataset["path_position"].values[..., 2], float(start.q.centre[2]) + 6.0 * up - 0.5 * 9.81 * 36.0
    assert (np.diff(height.ravel()) >= 0.0).all() and height[-1, -1] == pytest.approx(above, rel=1e-9)


@pytest.mark.parametrize("speed", [1e9, 1e300, np.inf])
def test_no_speed_parts_a_step_without_bound(run, speed):
    state = run.trajectory.knots
    for name in ("velocity", "turning"):
        fast = state.replace(v=state.v.replace(**{name: np.full((len(state.t), 3), speed)}))
        count = n_pieces(fast, fast.replace(t=state.t + 1.0), 5.0)
        assert count.min() >= 1 and count.max() <= MOST


def test_maps_of_runs_that_are_known_at_their_samples_only_say_so(run):
    dataset = run.to_dataset(times=11)
    bare = dataset.drop_vars([name for name in dataset if str(name).startswith("path_")])
    maps = RockfallMaps(run.system.surface.grid)
    maps.add_run(dataset)
    maps.add_run(bare)
    assert maps.interpolated().startswith("Interpolated: 1 of 2 runs is known at samples only, up to ")


def test_maps_of_masses_say_so_where_samples_are_farther_apart_than_pixels():
    grid = Grid((4, 6), 5.0, 5.0, 10.0, 10.0)
    for count, told in ((21, False), (3, True)):
        position = np.zeros((count, 1, 3))
        position[:, 0, 0], position[:, 0, 1] = np.linspace(5.0, 55.0, count), 15.0
        variables = {"position": (("time", "mass", "axis"), position), "mode": (("time", "mass"), np.ones((count, 1)))}
        variables["velocity"] = (("time", "mass", "axis"), 0.0 * position)
        hazard = Hazard(grid)
        hazard.add_run(xr.Dataset(variables, attrs={"mode_names": "slip, stick"}))
        assert ("up to 25 m apart" in hazard.interpolated()) == told


STONES = """
kind = "ground_body"
friction = { mu = 0.5, model = "coulomb", rolling_friction = 0.1 }
impact = { law = "soil", restitution = 0.4, settle_height = 1e-3 }
solve = { until = 3.0, rtol = 1e-6, atol = 1e-8, samples = 9 }
[surface]
type = "terrain"
file = "dem.asc"
crs = "local"
[body]
shape = { axes = [0.6, 0.5, 0.35] }
density = 2700.0
position = [10.0, 20.0]
velocity = [6.0, 0.0, 0.0]
height = 1.0
[ensemble]
design = "grid"
"body.position.0" = { values = [10.0, 12.0, -30.0, 14.0] }
"""


@pytest.mark.slow
def test_maps_of_an_ensemble_follow_its_runs_and_count_samples_that_could_not_be_built(tmp_path, monkeypatch, capsys):
    rasterio = pytest.importorskip("rasterio")
    monkeypatch.chdir(tmp_path)
    heights = "\n".join(" ".join(f"{-2.5 * column:.2f}" for column in range(25)) for _ in range(9))
    (tmp_path / "dem.asc").write_text(f"ncols 25\nnrows 9\nxllcenter 0\nyllcenter 0\ncellsize 5\n{heights}\n")
    (tmp_path / "stones.toml").write_text(STONES)
    assert app.call(["ensemble", "stones.toml", "--out", "a.zarr", "--series", "4", "--workers", "1", "--quiet"]) == 0
    capsys.readouterr()
    command = ["hazard", "a.zarr", "--out", "maps.tif", "--barrier", "LINESTRING (20 0, 20 40)", "--profile", "net.csv"]
    assert app.call(command) == 0
    told, warned = capsys.readouterr()
    assert "1 samples that could not be built" in told and "3 of 3 stones" in told and "Interpolated" not in warned
    assert "1 of 4 samples could not be built" in warned
    kept = xr.open_zarr("a.zarr").load()
    with rasterio.open("maps.tif") as file:
        tags, layers = file.tags(), dict(zip(file.descriptions, file.read(), strict=True))
    assert (tags["runs"], tags["failed"], tags["cut_off"], tags["moving"]) == ("3", "1", "0", "3")
    for name in ("kinetic_energy", "jump_height", "speed"):
        largest = np.nanmax(kept[f"largest_{name}"].values)
        assert np.nanmax(layers[f"{name}_largest"]) == pytest.approx(largest, rel=1e-3)
