"""Terrain from arrays and files: where it is defined, what it keeps, what it refuses."""

import builtins

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.errors import MissingExtraError, ScenarioError
from saltus.surfaces import Terrain, raster, synthetic
from saltus.surfaces.grid import average_blocks, fill_gaps, smooth_heights
from saltus.surfaces.known import KnownSurface

rasterio = pytest.importorskip("rasterio")


def write(path, values, *, west=1000.0, north=2000.0, pixel=(10.0, 10.0), crs="EPSG:32632", nodata=None, **options):
    """A raster with its first row in the north, as files have it."""
    transform = rasterio.transform.from_origin(west, north, *pixel)
    profile = {"driver": "GTiff", "dtype": "float64", "count": 1, "crs": crs, "nodata": nodata, **options}
    height, width = values.shape
    with rasterio.open(path, "w", height=height, width=width, transform=transform, **profile) as file:
        file.write(values, 1)
    return path


def hills(x, y):
    return np.sin(1.3 * x) * np.cos(0.9 * y) + 0.1 * x


def sampled(n):
    x = np.linspace(-2.0, 2.0, n)
    return Terrain(hills(*np.meshgrid(x, x)), x[1] - x[0], -2.0, -2.0)


def test_the_spline_goes_through_every_height():
    terrain = sampled(23)
    x, y = np.meshgrid(terrain.grid.x, terrain.grid.y)
    np.testing.assert_allclose(terrain.height(x, y), hills(x, y), atol=1e-14)  # rounding of numbers of order one


def test_errors_fall_with_the_fourth_third_and_second_power_of_the_spacing():
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (2, 2000))
    exact = sl.surfaces.Graph(lambda x, y: jnp.sin(1.3 * x) * jnp.cos(0.9 * y) + 0.1 * x)

    def errors(n):
        terrain = sampled(n)
        pairs = [(getattr(terrain, name)(*points), getattr(exact, name)(*points)) for name in
                 ("height", "gradient", "curvature")]  # fmt: skip
        return np.array([np.abs(np.asarray(ours) - np.asarray(true)).max() for ours, true in pairs])

    orders = np.log2(errors(41) / errors(81))
    # Up to the border: the ends are not-a-knot. 0.1 for the next term of the expansion.
    assert (orders > np.array([3.9, 2.9, 1.9])).all()


def test_cubics_are_met_exactly():
    x = np.arange(9.0)
    terrain = Terrain(np.add.outer(x**3 - x, 2 * x**2), 1.0)
    assert float(terrain.height(2.7, 6.1)) == pytest.approx(6.1**3 - 6.1 + 2 * 2.7**2, rel=1e-13)
    np.testing.assert_allclose(terrain.curvature(0.3, 0.2), (4.0, 0.0, 1.2), atol=1e-11)


def test_slopes_and_curvatures_do_not_jump_between_pixels():
    terrain = sampled(12)
    edge, hair = float(terrain.grid.x[5]), 1e-9
    for name in ("height", "gradient", "curvature"):
        left, right = (np.asarray(getattr(terrain, name)(edge + side * hair, 0.31)) for side in (-1, 1))
        np.testing.assert_allclose(left, right, atol=1e-7)  # third derivatives of order ten, times the hair


def test_the_margin_falls_through_zero_at_the_border_of_the_map():
    terrain = Terrain(np.zeros((5, 7)), 2.0, x0=10.0, y0=-4.0)
    assert float(terrain.margin(16.0, 0.0)) == 1.0
    for x, y in ((10.0, 0.0), (22.0, 0.0), (16.0, -4.0), (16.0, 4.0)):
        assert float(terrain.margin(x, y)) == 0.0
    assert float(terrain.margin(9.0, 0.0)) < 0 > float(terrain.margin(16.0, 4.1))
    assert np.isfinite(terrain.height(9.0, 0.0))  # a step that tries a place beyond does not break


def test_missing_heights_end_the_ground_half_way_to_the_last_known_one():
    heights = np.add.outer(np.zeros(9), 0.5 * np.arange(12.0))
    heights[:, 8:] = np.nan
    terrain = Terrain(heights, 1.0)
    assert float(terrain.margin(7.4, 4.0)) > 0.0
    assert float(terrain.margin(7.5, 4.0)) == pytest.approx(0.0, abs=1e-15)
    assert float(terrain.margin(7.6, 4.0)) < 0.0
    # What is beyond does not ring into the known part: a slope stays a slope.
    np.testing.assert_allclose(terrain.gradient(7.4, 4.0), (0.5, 0.0), atol=1e-12)


def test_rows_and_columns_may_have_different_spacings():
    x, y = np.meshgrid(np.arange(8) * 2.0, np.arange(9) * 0.5)
    terrain = Terrain(x + y**2, (2.0, 0.5))
    np.testing.assert_allclose(terrain.gradient(5.0, 1.2), (1.0, 2.4), rtol=1e-12)
    np.testing.assert_allclose(terrain.curvature(5.0, 1.2), (0.0, 0.0, 2.0), atol=1e-11)


def test_coarse_pixels_lie_at_the_middle_of_the_fine_ones():
    fine = np.add.outer(np.arange(12.0), 10 * np.arange(16.0))
    heights, place = average_blocks(fine, 3, (100.0, 50.0, 2.0, 2.0))
    assert heights.shape == (4, 5) and place == (102.0, 52.0, 6.0, 6.0)
    assert heights[0, 0] == 11.0
    coarse = Terrain(fine, 2.0, 100.0, 50.0, coarsen=3)
    assert float(coarse.height(110.0, 60.0)) == pytest.approx(
        float(Terrain(fine, 2.0, 100.0, 50.0).height(110.0, 60.0))
    )


def test_smoothing_keeps_slopes_and_takes_away_waves():
    x, y = np.meshgrid(np.arange(60.0), np.arange(50.0))
    slope, waves = 0.3 * x - 0.2 * y, np.sin(2 * np.pi * x / 6.0)
    result = smooth_heights(slope + waves, 3.0, 1.0, 1.0)
    # exp(-(2 pi 3 / 6)² / 2) = 0.0072 is left of waves of length 6; at the border they end and a little more stays.
    assert np.abs(result - slope)[12:-12, 12:-12].max() < 0.0075
    assert np.abs(smooth_heights(slope, 3.0, 1.0, 1.0) - slope).max() < 1e-12


def test_gaps_are_filled_by_going_on_straight():
    slope = np.add.outer(-0.2 * np.arange(20.0), 0.7 * np.arange(20.0))
    holed = slope.copy()
    holed[5:9, 7:12] = np.nan
    np.testing.assert_allclose(fill_gaps(holed), slope, atol=1e-4)  # lone neighbours weigh 1e-6


def test_a_geotiff_lies_where_its_transform_says(tmp_path):
    rows, columns = np.meshgrid(np.arange(6.0), np.arange(8.0), indexing="ij")
    path = write(tmp_path / "dem.tif", 100 * rows + columns)
    terrain = Terrain.read(path)
    # The first pixel of the file is in the north-west; its centre is half a pixel inside.
    assert float(terrain.height(1005.0, 1995.0)) == pytest.approx(0.0, abs=1e-11)
    assert float(terrain.height(1075.0, 1945.0)) == pytest.approx(507.0)
    assert terrain.grid.bounds == (1005.0, 1945.0, 1075.0, 1995.0)
    assert terrain.grid.crs == "EPSG:32632"
    near = Terrain.read(path, origin=(1000.0, 1900.0))
    assert float(near.height(5.0, 95.0)) == pytest.approx(0.0, abs=1e-11)
    assert near.grid.origin == (1000.0, 1900.0)


def test_missing_pixels_of_a_file_are_missing(tmp_path):
    values = np.ones((6, 8))
    values[0, 0] = -9999.0
    terrain = Terrain.read(write(tmp_path / "dem.tif", values, nodata=-9999.0))
    assert float(terrain.margin(1005.0, 1995.0)) == -1.0 and float(terrain.margin(1045.0, 1965.0)) == 1.0


def test_an_ascii_grid_is_read_alike(tmp_path):
    path = tmp_path / "dem.asc"
    rows = "\n".join(" ".join(str(100 * j + i) for i in range(5)) for j in range(4))
    path.write_text(f"ncols 5\nnrows 4\nxllcorner 30\nyllcorner 70\ncellsize 2\nNODATA_value -9999\n{rows}\n")
    terrain = Terrain.read(path)
    assert terrain.grid.crs == ""
    assert float(terrain.height(31.0, 77.0)) == pytest.approx(0.0, abs=1e-11)
    assert float(terrain.height(39.0, 71.0)) == pytest.approx(304.0)


def test_heights_of_an_ascii_grid_keep_their_digits(tmp_path):
    """They were read in single precision: off by 1e-4 m at an altitude of 2000 m."""
    pytest.importorskip("rasterio")
    from saltus.surfaces.raster import read_raster

    head = "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -3.4028234663852886e+38\n"
    (tmp_path / "dem.asc").write_text(head + "2000.12345678 2000.5\n-3.40282346639e+38 1999\n")
    np.testing.assert_array_equal(read_raster(tmp_path / "dem.asc").values, [[np.nan, 1999.0], [2000.12345678, 2000.5]])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"crs": None}, "names no coordinate reference system"),
        ({"crs": "EPSG:4326"}, "is in degrees"),
        ({"nodata": 1.0}, "no height at all"),
    ],
)
def test_files_that_cannot_be_ground_are_refused_in_one_sentence(tmp_path, change, words):
    path = write(tmp_path / "dem.tif", np.ones((6, 8)), **change)
    with pytest.raises(ValueError, match=words) as caught:
        Terrain.read(path)
    assert "\n" not in str(caught.value)


def test_a_reference_system_can_be_given_where_the_file_has_none(tmp_path):
    path = write(tmp_path / "dem.tif", np.ones((6, 8)), crs=None)
    assert Terrain.read(path, crs="EPSG:31287").grid.crs == "EPSG:31287"
    assert Terrain.read(path, crs="local").grid.crs == ""
    with pytest.raises(ScenarioError, match="Unknown coordinate reference system"):
        Terrain.read(path, crs="EPSG:none")
    other = write(tmp_path / "other.tif", np.ones((6, 8)), crs="EPSG:32632")
    assert Terrain.read(other, crs="EPSG:32632").grid.crs == "EPSG:32632"
    with pytest.raises(ScenarioError, match="is in EPSG:32632, not in 'EPSG:32633'"):
        Terrain.read(other, crs="EPSG:32633")


def test_unreadable_files_are_told(tmp_path):
    with pytest.raises(ScenarioError, match="There is no raster"):
        Terrain.read(tmp_path / "none.tif")
    (tmp_path / "dem.tif").write_text("no raster")
    with pytest.raises(ScenarioError, match="Cannot read .* as a raster"):
        Terrain.read(tmp_path / "dem.tif")


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("rasterio"):
            raise ImportError(name)
        return real(name, *rest, **more)

    path = write(tmp_path / "dem.tif", np.ones((6, 8)))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"saltus\[terrain\]"):
        Terrain.read(path)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Terrain(np.zeros(5), 1.0), "of shape (any, any)"),
        (lambda: Terrain(np.zeros((3, 9)), 1.0), "at least 4 rows and columns"),
        (lambda: Terrain(np.zeros((9, 9)), 0.0), "`spacing` must be > 0"),
        (lambda: Terrain(np.zeros((9, 9)), 1.0, coarsen=3), "Coarsen less"),
        (lambda: Terrain(np.zeros((9, 9)), 1.0, coarsen=0), "`coarsen` must be a whole number"),
        (lambda: Terrain(np.zeros((9, 9)), 1.0, smooth=-1.0), "`smooth` must be >= 0"),
        (lambda: Terrain(np.full((9, 9), np.nan), 1.0), "no height at all"),
        (lambda: synthetic.bowl(1.0, 0.1, rim=0.9), "`rim` must be in [0, 0.705]"),
    ],
)
def test_wrong_grids_are_refused_with_the_value(build, words):
    with pytest.raises(ValueError, match="^[^\n]+$") as caught:
        build()
    assert words in str(caught.value)


def test_gradients_with_respect_to_the_ground_reach_the_cell_under_the_point_only():
    terrain = sampled(12)
    slopes = np.asarray(jax.grad(lambda one: one.height(0.31, -0.2))(terrain).pieces)
    assert (slopes != 0).any(axis=1).sum() == 1 and slopes.max() == 1.0


def test_moving_the_map_is_moving_the_point_the_other_way():
    terrain = sampled(12)
    moved = jax.grad(lambda one: one.height(0.31, -0.2))(terrain)
    fx, fy = terrain.gradient(0.31, -0.2)
    assert float(moved.x0) == pytest.approx(-float(fx), rel=1e-12)
    assert float(moved.y0) == pytest.approx(-float(fy), rel=1e-12)


def test_a_map_that_a_start_was_looked_at_on_is_read_once(tmp_path, monkeypatch):
    file, read = tmp_path / "hill.asc", []
    heights = "\n".join(" ".join(f"{x * y:g}" for x in range(6)) for y in range(6))
    file.write_text(f"ncols 6\nnrows 6\nxllcorner 0\nyllcorner 0\ncellsize 1\n{heights}\n")
    monkeypatch.setattr(
        raster, "read_raster", lambda *of, original=raster.read_raster: read.append(of) or original(*of)
    )
    given = {"file": str(file), "crs": None, "coarsen": 1, "smooth": 0.0, "origin": [0.0, 0.0]}
    looked = KnownSurface({"type": "terrain", **given}).at(2.5, 2.5)
    built = Terrain.read(**given)
    assert len(read) == 1 and float(built.height(2.5, 2.5)) == pytest.approx(float(looked.height), rel=1e-15)
    Terrain.read(**given)
    assert len(read) == 2  # handed on once
    KnownSurface({"type": "terrain", **given}).at(2.5, 2.5)
    Terrain.read(**{**given, "smooth": 0.5})  # another surface
    assert len(read) == 4
