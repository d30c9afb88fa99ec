"""Rockfall maps and barriers: sums over runs of stones."""

import dataclasses
import json
import re

import numpy as np
import pytest
import xarray as xr

from saltus.cli.app import call
from saltus.errors import ScenarioError
from saltus.io.hazard import write_raster
from saltus.io.rockfall import MAPS, Barrier, RockfallMaps, read_lines, write_profile
from saltus.surfaces.grid import Grid

GRID = Grid((4, 6), 5.0, 5.0, 10.0, 10.0)


def stone(y, x_end, energy, rests=True, n=3):
    """A stone that goes east along y with a constant energy, looked at a few times only."""
    x = np.linspace(5.0, x_end, n)
    return xr.Dataset(
        {
            "position": (("time", "axis"), np.column_stack([x, np.full(n, y), np.zeros(n)])),
            "velocity": (("time", "axis"), np.full((n, 3), 1.0)),
            "kinetic_energy": ("time", np.full(n, energy)),
            "jump_height": ("time", np.linspace(0.0, 2.0, n)),
            "mode": ("time", np.full(n, 4 if rests else 0)),
        },
        attrs={"mode_names": "flight, slide, skid, roll, rest"},
    )


def test_passages_deposits_and_largest_values_fall_into_their_pixels():
    maps = RockfallMaps(GRID)
    for energy, end in ((10.0, 55.0), (20.0, 55.0), (40.0, 25.0), (5.0, 55.0)):
        maps.add_run(stone(15.0, end, energy, rests=energy != 5.0))
    found = maps.maps()
    assert list(found) == list(MAPS)
    np.testing.assert_allclose(found["passage_probability"][1], [1, 1, 1, 0.75, 0.75, 0.75])
    assert found["passage_probability"][[0, 2, 3]].sum() == 0.0
    np.testing.assert_allclose(found["deposit_probability"][1], [0, 0, 0.25, 0, 0, 0.5])
    assert found["kinetic_energy_largest"][1, 0] == 40.0 and found["kinetic_energy_largest"][1, 5] == 20.0
    assert found["kinetic_energy_p95"][1, 5] == pytest.approx(np.percentile([10.0, 20.0, 5.0], 95))
    assert np.isnan(found["speed_p95"][0, 0]) and found["speed_largest"][1, 1] == pytest.approx(np.sqrt(3.0))


def test_maps_of_stones_say_what_they_lack():
    from saltus.surfaces import Terrain
    from saltus.views.rockfall import figure

    maps = RockfallMaps(GRID)
    for outcome, rests in (("at_rest", True), ("left_domain", False), ("finished", False), ("stalled", False)):
        maps.add_run(stone(15.0, 55.0, 10.0, rests).assign_attrs(outcome=outcome))
        if outcome == "at_rest":
            assert maps.incomplete() == ""
    lacks = "Incomplete: 1 of 4 runs were cut off (stalled), 1 stone left the map, 1 stone still moved at the end."
    assert maps.incomplete() == lacks
    assert figure(maps, Terrain(np.zeros(GRID.shape), 10.0, 5.0, 5.0)).get_suptitle() == lacks


def test_a_barrier_sees_each_stone_once_with_what_it_has_there():
    barrier = Barrier([np.array([[30.0, 0.0], [30.0, 40.0]])])
    for energy, end in ((10.0, 55.0), (20.0, 55.0), (40.0, 25.0)):
        barrier.add_run(stone(15.0, end, energy))
    values, share = barrier.exceedance("kinetic_energy")
    np.testing.assert_allclose(values, [10.0, 20.0])
    np.testing.assert_allclose(share, [2 / 3, 1 / 3])
    assert barrier.exceedance("jump_height")[0] == pytest.approx([1.0, 1.0])  # halfway from 5 to 55 m
    told = barrier.facts()
    assert (told["runs"], told["reached"], told["kinetic_energy_largest"]) == (3, 2, 20.0)


def test_the_profile_of_a_barrier_tells_where_stones_arrive_and_how_rare_they_are(tmp_path):
    barrier = Barrier([np.array([[30.0, 0.0], [30.0, 10.0], [30.0, 40.0]])])
    for y, energy, end in ((35.0, 10.0, 55.0), (15.0, 20.0, 55.0), (5.0, 20.0, 55.0), (15.0, 40.0, 25.0)):
        barrier.add_run(stone(y, end, energy))
    table = barrier.profile()
    np.testing.assert_allclose(table["along"], [5.0, 15.0, 35.0])
    np.testing.assert_allclose(table["kinetic_energy"], [20.0, 20.0, 10.0])
    np.testing.assert_allclose(table["kinetic_energy_exceedance"], [0.5, 0.5, 0.75])
    write_profile(tmp_path / "net.csv", barrier)
    head, *rows = (tmp_path / "net.csv").read_text().splitlines()
    assert head.startswith("along,kinetic_energy,jump_height,speed,") and len(rows) == 3
    assert Barrier([np.array([[0.0, 500.0], [1.0, 500.0]])]).profile()["along"].size == 0


def test_several_lines_are_one_barrier_which_a_stone_meets_once():
    barrier = Barrier([np.array([[40.0, 0.0], [40.0, 20.0]]), np.array([[30.0, 10.0], [30.0, 40.0]])])
    for y in (5.0, 15.0, 35.0):
        barrier.add_run(stone(y, 55.0, 10.0))
    np.testing.assert_allclose(barrier.profile()["along"], [5.0, 25.0, 45.0])
    assert barrier.facts()["reached"] == 3


def lines(*coordinates):
    """A collection of lines as GeoJSON."""
    shapes = [{"type": "LineString", "coordinates": one} for one in coordinates]
    return {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": shape} for shape in shapes]}


def test_lines_are_read_from_wkt_and_geojson(tmp_path):
    near = dataclasses.replace(GRID, origin=(1.0, 1.0))
    np.testing.assert_allclose(read_lines("LINESTRING (1 2, 13 14)", near)[0], [[0, 1], [12, 13]])
    file = tmp_path / "net.geojson"
    file.write_text(json.dumps(lines([[0, 0], [9, 9]], [[9, 9, 0], [20, 9, 0]])))
    np.testing.assert_allclose(read_lines(file, GRID), [[[0, 0], [9, 9]], [[9, 9], [20, 9]]])
    file.write_text(json.dumps({"type": "MultiLineString", "coordinates": [[[0, 0], [9, 9]], [[9, 9], [20, 9]]]}))
    assert len(read_lines(file, GRID)) == 2


def test_lines_in_degrees_are_brought_to_the_map(tmp_path):
    warp = pytest.importorskip("rasterio.warp")
    utm = dataclasses.replace(GRID, crs="EPSG:32632", origin=(600000.0, 5200000.0))
    degrees = np.stack(warp.transform(utm.crs, "EPSG:4326", [600030.0] * 2, [5200000.0, 5200040.0]), axis=-1)
    (tmp_path / "net.geojson").write_text(json.dumps(lines(degrees.tolist())))
    (line,) = read_lines(tmp_path / "net.geojson", utm)
    np.testing.assert_allclose(line, [[30.0, 0.0], [30.0, 40.0]], atol=1e-5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("LINESTRING (1 2)", "is no line"),
        ("LINESTRING (a b, c d)", "is no line"),
        ("LINESTRING (nan 0, 30 40)", "finite numbers"),
        ("LINESTRING (30 20, 30 20)", "no length"),
        ("LINESTRING (300 0, 300 40)", "outside the map"),
        ("LINESTRING (-100 30, 30 200)", "outside the map"),  # the rectangle around it is not
        ("none.json", "There is no file"),
        (lines([[30, 0], [30, None]]), "a finite number, got None"),
        (lines([[30, 0], ["30", 40]]), "a finite number, got '30'"),
        (lines([[30, 0]]), "at least 2 points"),
        ({"type": "Point", "coordinates": [30, 0]}, "holds no LineString"),
        ([1, 2], "as GeoJSON"),
    ],
)
def test_a_line_that_can_be_no_barrier_is_told_in_one_sentence(line, words, tmp_path):
    if not isinstance(line, str):
        (tmp_path / "net.geojson").write_text(json.dumps(line))
        line = str(tmp_path / "net.geojson")
    with pytest.raises(ScenarioError, match=words):
        read_lines(line, GRID)


def kept_stones(folder):
    """A store of an ensemble with two stones over time, of which the second leaves the map."""
    dem, store = folder / "dem.tif", folder / "stones.zarr"
    write_raster(dem, {"height": np.zeros(GRID.shape)}, GRID)
    surface = f'[surface]\ntype = "terrain"\nfile = "{dem}"\ncrs = "local"\n'
    ends = ("sample", [0, 1], {"flag_meanings": "at_rest left_domain"})
    kept = {"done": ("sample", [1, 1]), "outcome": ends}
    xr.Dataset(kept, attrs={"kind": "ground_body", "scenario": surface}).to_zarr(store)
    runs = xr.concat([stone(15.0, 55.0, 10.0), stone(25.0, 31.0, 20.0)], "sample")
    runs["position"][1, 2], runs["mode"][1, 2] = np.nan, -1  # the second has ended before
    runs["mode"].attrs["flag_meanings"] = "flight slide skid roll rest"
    runs.assign_coords(time=[0.0, 1.0, 2.0]).to_zarr(store, group="series", mode="a")
    return store


def test_the_command_maps_the_stones_that_an_ensemble_keeps_over_time(tmp_path, capsys):
    rasterio = pytest.importorskip("rasterio")
    store = kept_stones(tmp_path)
    command = ["hazard", str(store), "--barrier", "LINESTRING (30 0, 30 40)", "--profile", str(tmp_path / "net.csv")]
    command += ["--out", str(tmp_path / "maps.tif"), "--plot", str(tmp_path / "maps.png")]
    assert call(command) == 0
    told, warned = capsys.readouterr()
    assert "1 of 2 stones" in told and re.search(r"left the map +1 stones", told)
    lacks = "Incomplete: 1 stone left the map."
    assert lacks in warned
    with rasterio.open(tmp_path / "maps.tif") as file:
        assert file.descriptions == tuple(MAPS) and file.units[2] == "J"
        assert file.tags()["runs"] == "2" and file.tags()["incomplete"] == lacks
        passed = file.read(1)[::-1]
    np.testing.assert_allclose(passed[1], [0.5] * 6)
    np.testing.assert_allclose(passed[2], [0.5, 0.5, 0, 0, 0, 0])
    assert (tmp_path / "maps.png").stat().st_size > 10_000


def test_a_barrier_that_no_stone_reaches_is_told_so(tmp_path, capsys):
    pytest.importorskip("rasterio")
    out = str(tmp_path / "maps.tif")
    assert call(["hazard", str(kept_stones(tmp_path)), "--barrier", "LINESTRING (10 33, 50 33)", "--out", out]) == 0
    told = capsys.readouterr().out
    assert "no stone arrives" in told and "nan" not in told


def test_a_barrier_off_the_map_ends_with_2_and_writes_nothing(tmp_path, capsys):
    pytest.importorskip("rasterio")
    out = tmp_path / "maps.tif"
    barrier = "LINESTRING (300 0, 300 40)"
    assert call(["hazard", str(kept_stones(tmp_path)), "--barrier", barrier, "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert "outside the map" in told and told.count("\n") == 1 and not out.exists()
