"""Release areas: masses laid out on a surface, and the scenarios that ask for them."""

import json

import numpy as np
import pytest

import saltus as sl
from saltus import scenarios
from saltus.cli.app import call
from saltus.errors import ScenarioError
from saltus.io import release
from saltus.surfaces import Terrain

rasterio = pytest.importorskip("rasterio")

LEVEL = sl.surfaces.Plane(0.0, 0.0)
SQUARE = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]]

POINTS = "points = [[1040.0, 1960.0], [1050.0, 1960.0]]"

MAP = """
kind = "sliding"
[surface]
type = "terrain"
file = "dem.tif"
[release]
points = [[1040.0, 1960.0], [1050.0, 1960.0]]
mass = 2.0
mu = 0.1
[solve]
until = 1.0
"""


def write(path, values, west=1000.0, north=2000.0, crs="EPSG:32632"):
    transform = rasterio.transform.from_origin(west, north, 10.0, 10.0)
    height, width = values.shape
    with rasterio.open(path, "w", driver="GTiff", height=height, width=width, count=1, dtype="float64", crs=crs,
                       transform=transform) as file:  # fmt: skip
        file.write(values, 1)
    return path


def feature(ring, crs=None):
    content = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    return content | ({"crs": {"type": "name", "properties": {"name": crs}}} if crs else {})


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "dem.tif", np.add.outer(np.zeros(9), -2.0 * np.arange(12.0)))
    (tmp_path / "map.toml").write_text(MAP)
    return tmp_path


def test_a_square_grid_fills_a_square():
    laid = release.in_polygon(LEVEL, SQUARE, 2.5, "square")
    assert len(laid) == 16  # one in the middle of each cell
    assert ((laid >= 0) & (laid <= 10)).all()
    pairs = release.neighbours(laid, release.REACH["square"] * 2.5)
    lengths = {round(float(np.linalg.norm(laid[i] - laid[j])), 9) for i, j in pairs}
    assert lengths == {2.5, round(2.5 * np.sqrt(2), 9)}


def test_masses_inside_a_triangular_raft_have_six_neighbours():
    laid = release.in_polygon(LEVEL, SQUARE, 1.0, "triangular")
    pairs = np.array(release.neighbours(laid, release.REACH["triangular"]))
    counts = np.bincount(pairs.ravel())
    assert counts.max() == 6 and (counts == 6).sum() > 0.5 * len(laid)
    np.testing.assert_allclose(np.linalg.norm(laid[pairs[:, 0]] - laid[pairs[:, 1]], axis=1), 1.0, rtol=1e-12)


def test_holes_and_several_polygons_are_minded(tmp_path):
    hole = [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]
    outer = [*SQUARE, SQUARE[0]]
    far = [[x + 20, y] for x, y in outer]
    content = {"type": "MultiPolygon", "coordinates": [[outer, hole], [far]]}
    (tmp_path / "area.geojson").write_text(json.dumps(content))
    laid = release.in_polygon(LEVEL, str(tmp_path / "area.geojson"), 0.5, "square")
    x, y = laid.T
    assert not ((x > 4.01) & (x < 5.99) & (y > 4.01) & (y < 5.99)).any()
    assert not ((x > 10.01) & (x < 19.99)).any() and (x > 20).sum() > 300


def test_a_raster_marks_where_masses_lie(folder):
    marks = np.zeros((9, 12))
    marks[2:4, 3:6] = 1.0  # north to south, west to east
    write(folder / "release.tif", marks)
    terrain = Terrain.read(folder / "dem.tif")
    laid = release.in_raster(terrain, folder / "release.tif", 5.0, "square")
    assert laid[:, 0].min() >= 1030 and laid[:, 0].max() <= 1060
    assert laid[:, 1].min() >= 1960 and laid[:, 1].max() <= 1980
    near = Terrain.read(folder / "dem.tif", origin=(1000.0, 1900.0))
    np.testing.assert_allclose(
        release.in_raster(near, folder / "release.tif", 5.0, "square"), laid - np.array([1000, 1900])
    )


def test_polygons_in_degrees_are_brought_to_the_map(folder):
    from rasterio.warp import transform

    ring = np.array([[1030.0, 1950.0], [1060.0, 1950.0], [1060.0, 1980.0], [1030.0, 1980.0], [1030.0, 1950.0]])
    terrain = Terrain.read(folder / "dem.tif")
    wanted = release.in_polygon(terrain, ring[:-1].tolist(), 5.0, "square")
    degrees = np.stack(transform("EPSG:32632", "EPSG:4326", *ring.T.tolist()), axis=-1)
    for name in (None, "urn:ogc:def:crs:OGC:1.3:CRS84"):
        (folder / "area.geojson").write_text(json.dumps(feature(degrees.tolist(), name)))
        found = release.in_polygon(terrain, str(folder / "area.geojson"), 5.0, "square")
        np.testing.assert_allclose(found, wanted, atol=1e-5)  # degrees keep nine digits of a metre


def test_a_scenario_finds_its_map_beside_itself_from_anywhere(folder, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    loaded = scenarios.load(folder / "map.toml")
    system, start = loaded.scenario.assemble()
    assert isinstance(system.surface, Terrain) and np.asarray(start.q).shape == (
        2,
        3,
    )  # masses can leave a terrain: x, y and z
    assert scenarios.loads(loaded.text) == loaded.scenario  # also as a dataset keeps it


def test_rods_of_a_release_make_a_raft(folder):
    text = MAP.replace("mu = 0.1", "mu = 0.1\nreach = 11.0\n[release.rods]\nstiffness = 1e5\nstrength = 1e3")
    (folder / "raft.toml").write_text(text)
    system, _ = scenarios.load(folder / "raft.toml").scenario.assemble()
    assert isinstance(system, sl.systems.Raft) and system.rods.pairs == [(0, 1)]
    assert float(system.rods.strength[0]) == 1e3 and float(system.rods.damping[0]) == 0.0


def test_elastic_rods_between_single_masses_make_a_raft():
    text = """
kind = "sliding"
friction = { mu = 0.0 }
surface = { type = "plane" }
masses = [{ mass = 1.0, position = [0.0, 0.0] }, { mass = 1.0, position = [1.0, 0.0] }]
rods = [{ between = [0, 1], stiffness = 5.0, damping = 0.5 }]
solve = { until = 1.0, step = 0.01 }
"""
    system, _ = scenarios.loads(text).assemble()
    assert isinstance(system, sl.systems.Raft) and float(system.rods.stiffness[0]) == 5.0


def bad(change, words):
    return pytest.param(change, words, id=words[:40])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        bad((POINTS, "points = [[0.0, 0.0]]"), "outside the map"),
        bad(('file = "dem.tif"', 'file = "none.tif"'), "There is no raster"),
        bad(('file = "dem.tif"', 'file = "map.toml"'), "as a raster"),
        bad(('file = "dem.tif"', 'file = "bare.tif"'), "names no coordinate reference system"),
        bad((POINTS, 'polygon = "far.geojson"\nspacing = 5.0'), "outside the map"),
        bad((POINTS, 'polygon = "map.toml"\nspacing = 5.0'), "as GeoJSON"),
        bad((POINTS, 'polygon = "no.geojson"\nspacing = 5.0'), "no release area"),
        bad((POINTS, 'raster = "wgs.tif"\nspacing = 5.0'), "is in degrees"),
        bad((POINTS, "spacing = 5.0"), "needs one of"),
        bad(("mu = 0.1", "mu = 0.1\n[release.rods]\nstiffness = 1.0"), "`release.reach` is missing"),
        bad(("mu = 0.1", ""), "`release.mu` is missing"),
        bad(("mass = 2.0", "mass = 2.0\nspaceing = 3.0"), "Did you mean 'spacing'?"),
        bad(("[solve]", "[[rods]]\nbetween = [0, 1]\nstrength = 4.0\n[solve]"), "needs a `stiffness`"),
    ],
)  # fmt: skip
def test_wrong_maps_and_areas_are_told_in_one_sentence_with_exit_2(folder, change, words, capsys):
    write(folder / "bare.tif", np.ones((9, 12)), crs=None)
    write(folder / "wgs.tif", np.ones((9, 12)), west=10.0, north=50.0, crs="EPSG:4326")
    (folder / "far.geojson").write_text(json.dumps(feature([[0, 0], [500, 0], [500, 500], [0, 0]])))
    (folder / "bad.toml").write_text(MAP.replace(*change))
    assert call(["run", str(folder / "bad.toml"), "--quiet"]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1


def test_too_many_masses_are_refused_before_they_are_laid():
    with pytest.raises(ScenarioError, match="at most 1000000"):
        release.in_polygon(LEVEL, SQUARE, 1e-4, "square")
