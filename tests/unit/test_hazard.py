"""Hazard maps: sums over runs, and GeoTIFFs that lie where they should."""

import errno

import numpy as np
import pytest
import xarray as xr

import saltus as sl
from saltus.errors import ScenarioError
from saltus.io.hazard import Hazard, write_hazard, write_raster
from saltus.surfaces import Terrain
from saltus.surfaces.grid import Grid
from saltus.views import hazard as view

rasterio = pytest.importorskip("rasterio")

GRID = Grid((6, 8), 5.0, 5.0, 10.0, 10.0, "EPSG:32632", (640000.0, 5190000.0))


def straight(y, x_end, n=3):
    """A mass that goes east along y, ever faster, looked at a few times only."""
    x = np.linspace(5.0, x_end, n)
    return np.stack([x, np.full(n, y)], axis=-1)[:, None], np.linspace(0.0, 10.0, n)[:, None]


def test_a_path_passes_every_pixel_between_its_samples():
    hazard = Hazard(GRID)
    hazard.add(*straight(25.0, 75.0))
    expected = np.zeros((6, 8))
    expected[2] = 1.0
    np.testing.assert_array_equal(hazard.maps()["passage_probability"], expected)


def test_probabilities_are_shares_of_runs_not_of_masses():
    hazard = Hazard(GRID)
    two, speeds = np.concatenate([straight(25.0, 75.0)[0]] * 2, axis=1), np.ones((3, 2))
    hazard.add(two, speeds)
    hazard.add(*straight(25.0, 35.0))
    passed = hazard.maps()["passage_probability"][2]
    np.testing.assert_array_equal(passed, [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5])


def test_speeds_stops_and_breaks_fall_into_their_pixels():
    hazard = Hazard(GRID)
    hazard.add(*straight(25.0, 75.0), stops=[[75.0, 25.0]], break_points=[[12.0, 7.0], [18.0, 3.0]],
               break_forces=[-4.0, 2.0])  # fmt: skip
    hazard.add(*straight(25.0, 35.0), stops=[[35.0, 25.0], [np.nan, 0.0]])
    maps = hazard.maps()
    assert maps["largest_speed"][2, 7] == 10.0 and maps["largest_speed"][2, 3] == 10.0
    assert np.isnan(maps["largest_speed"][0, 0])
    assert maps["stopping_density"].sum() * 100.0 == pytest.approx(1.0)  # one mass per run
    assert maps["breaking_force"][0, 1] == 3.0 and np.isnan(maps["breaking_force"][2, 2])


def test_places_off_the_map_and_missing_times_are_left_out():
    hazard = Hazard(GRID)
    position, speed = straight(25.0, 500.0)
    position[2] = np.nan
    hazard.add(position, speed, stops=[[500.0, 25.0]])
    assert hazard.maps()["stopping_density"].sum() == 0.0
    assert hazard.maps()["passage_probability"][2, 0] == 1.0


def test_partial_sums_merge_in_any_order():
    parts = []
    for end in (75.0, 35.0, 55.0):
        parts.append(Hazard(GRID))
        parts[-1].add(*straight(25.0, end), stops=[[end, 25.0]])
    whole = Hazard(GRID)
    for end in (75.0, 35.0, 55.0):
        whole.add(*straight(25.0, end), stops=[[end, 25.0]])
    merged = Hazard(GRID)
    for part in reversed(parts):
        merged.merge(part)
    for name, values in whole.maps().items():
        np.testing.assert_array_equal(merged.maps()[name], values)
    with pytest.raises(ValueError, match="same grid"):
        merged.merge(Hazard(Grid((6, 9), 5.0, 5.0, 10.0, 10.0)))


def test_the_geotiff_lies_where_the_terrain_lies(tmp_path):
    hazard = Hazard(GRID)
    hazard.add(*straight(25.0, 75.0), stops=[[75.0, 25.0]])
    write_hazard(tmp_path / "hazard.tif", hazard)
    with rasterio.open(tmp_path / "hazard.tif") as file:
        assert file.crs.to_epsg() == 32632
        assert file.bounds == (640000.0, 5190000.0, 640080.0, 5190060.0)
        assert file.descriptions == ("passage_probability", "largest_speed", "stopping_density", "breaking_force")
        assert file.units[1] == "m s-1"
        # The pixel under the stop, asked for by its map coordinates.
        (values,) = file.sample([(640075.0, 5190025.0)])
        (beside,) = file.sample([(640075.0, 5190015.0)])
    assert values[0] == 1.0 and values[1] == 10.0 and values[2] == pytest.approx(0.01)
    assert beside[0] == 0.0 and np.isnan(beside[1])


def test_a_full_disk_leaves_the_map_that_was_there(tmp_path, monkeypatch):
    path, layers = tmp_path / "map.tif", {"height": np.ones(GRID.shape)}
    write_raster(path, layers, GRID)
    before = path.read_bytes()

    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_raster(path, layers, GRID)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_heights_written_and_read_back_are_the_same_terrain(tmp_path):
    heights = np.random.default_rng(1).normal(size=GRID.shape)
    write_raster(tmp_path / "dem.tif", {"height": heights}, GRID)
    terrain = Terrain.read(tmp_path / "dem.tif", origin=GRID.origin)
    x, y = np.meshgrid(GRID.x, GRID.y)
    np.testing.assert_allclose(terrain.height(x, y), heights, atol=1e-13)
    assert terrain.grid.bounds == GRID.bounds and terrain.grid.crs == "EPSG:32632"
    with pytest.raises(ScenarioError, match=r"must end in \.tif"):
        write_raster(tmp_path / "dem.png", {"height": heights}, GRID)


def test_a_run_feeds_the_maps_and_the_picture(tmp_path):
    slope = sl.surfaces.Terrain(np.add.outer(np.zeros(6), 30 - 4.0 * np.minimum(np.arange(8), 4)), 10.0, 5.0, 5.0)
    raft = sl.systems.Raft(slope, [1.0, 1.0], [(0, 1)], mu=[0.1, 0.3], stiffness=1e3, strength=0.5)
    run = sl.simulate(raft, raft.start([[12.0, 25.0], [14.0, 25.0]]), until=30.0, step=0.05)
    hazard = Hazard(slope.grid)
    data = run.to_dataset(times=61)
    hazard.add_run(data)
    maps = hazard.maps()
    assert maps["passage_probability"][2, 1] == 1.0
    assert maps["breaking_force"][2, 1] > 0.5
    stopped = int((np.asarray(run.end.mode)[:2] == 2).sum())
    assert maps["stopping_density"].sum() * 100.0 == pytest.approx(stopped)
    view.save_figure(hazard, slope, tmp_path / "hazard.png")
    assert (tmp_path / "hazard.png").stat().st_size > 10_000
    sl.views.save_figure(data, tmp_path / "raft.png")
    assert (tmp_path / "raft.png").stat().st_size > 10_000
    moving = sl.views.animation(data)
    rods, dots, title = moving._func(len(data.time) - 1)
    assert (
        len(rods.get_segments()) == 0
        and len(dots.get_offsets()) == 2
        and f"{float(data.time[-1]):.2f} s" in title.get_text()
    )
    moving._draw_was_started = True  # it was only looked at, not played


def test_the_command_makes_maps_of_stored_runs(tmp_path, capsys):
    from saltus.cli.app import call

    terrain = tmp_path / "dem.tif"
    write_raster(terrain, {"height": np.zeros(GRID.shape)}, GRID)
    position, speed = straight(25.0, 75.0)
    for name, file in (("one", terrain), ("two", terrain), ("other", tmp_path / "other.tif")):
        surface = f'[surface]\ntype = "terrain"\nfile = "{file}"\norigin = [640000.0, 5190000.0]\n'
        velocity = np.stack([speed, 0 * speed, 0 * speed], axis=-1)
        variables = {
            "position": (("time", "mass", "axis"), np.concatenate([position, position[..., :1]], axis=-1)),
            "velocity": (("time", "mass", "axis"), velocity),
            "mode": (("time", "mass"), np.full(speed.shape, 2)),
        }
        attributes = {"kind": "sliding", "scenario": surface, "mode_names": "slip, pulled, stick, free"}
        run = xr.Dataset(variables, {"time": [0.0, 1.0, 2.0]}, attributes)
        sl.io.write(run, tmp_path / f"{name}.nc")
    paths = [str(tmp_path / f"{name}.nc") for name in ("one", "two", "other")]
    out = ["--out", str(tmp_path / "hazard.tif")]
    assert call(["hazard", *paths[:2], *out]) == 0
    assert "2 masses" in capsys.readouterr().out
    with rasterio.open(tmp_path / "hazard.tif") as file:
        assert file.crs.to_epsg() == 32632 and file.read(1).sum() == 8.0
    assert call(["hazard", *paths, *out, "--force"]) == 2
    assert "another terrain" in capsys.readouterr().err
    assert call(["hazard", paths[0], "--out", "hazard.png"]) == 2


def test_the_command_makes_maps_of_an_ensemble_that_keeps_runs_over_time(tmp_path, capsys):
    from saltus.cli.app import call

    write_raster(tmp_path / "dem.tif", {"height": np.zeros(GRID.shape)}, GRID)
    surface = f'[surface]\ntype = "terrain"\nfile = "{tmp_path / "dem.tif"}"\norigin = [640000.0, 5190000.0]\n'
    store = tmp_path / "slide.zarr"
    xr.Dataset({"done": ("sample", [1, 1])}, attrs={"kind": "sliding", "scenario": surface}).to_zarr(store)
    command = ["hazard", str(store), "--out", str(tmp_path / "hazard.tif")]
    assert call(command) == 2 and "keeps no runs over time" in capsys.readouterr().err
    position = np.stack([np.concatenate([straight(y, 75.0)[0], np.zeros((3, 1, 1))], axis=-1) for y in (5.0, 25.0)])
    position[1, 2] = np.nan  # the second run has ended before
    mode = np.where(np.isnan(position[..., 0]), -1, 2)
    dims = ("sample", "time", "mass")
    variables = {
        "position": ((*dims, "axis"), position),
        "velocity": ((*dims, "axis"), 0.0 * position),
        "mode": (dims, mode, {"flag_meanings": "slip pulled stick free"}),
    }
    xr.Dataset(variables, {"time": [0.0, 1.0, 2.0]}).to_zarr(store, group="series", mode="a")
    assert call(command) == 0
    told = capsys.readouterr().out
    assert "2 masses" in told and "series keep no events" in told
    with rasterio.open(tmp_path / "hazard.tif") as file:
        passed = file.read(1)[::-1]
    assert passed[0].sum() == 4.0 and passed[2].sum() == 2.5  # as far as x = 40 m, five pixels
    nothing = {**variables, "mode": (dims, 0 * mode - 1, {"flag_meanings": "slip pulled stick free"})}
    xr.Dataset(nothing, {"time": [0.0, 1.0, 2.0]}).to_zarr(store, group="series", mode="a")
    assert call([*command, "--force"]) == 2 and "nothing to map" in capsys.readouterr().err


def test_maps_without_runs_are_refused():
    with pytest.raises(ValueError, match="no runs yet"):
        Hazard(GRID).maps()
    with pytest.raises(ValueError, match=r"must be of shape \(time, mass, axis\)"):
        Hazard(GRID).add(np.zeros((3, 2)), np.zeros(3))
