"""Places and rotations in ensembles: evenly over polygons with holes, pixels and points."""

import json

import numpy as np
import pytest

from saltus.ensembles.design import Design
from saltus.ensembles.design.vectors import in_rings, rotations
from saltus.errors import ScenarioError
from saltus.io.release import inside
from saltus.scenarios import loads
from saltus.scenarios.ensemble import EnsembleModel
from saltus.surfaces.grid import Grid

L_SHAPE = [[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]
SCENARIO = """
kind = "ground_body"
surface = { type = "plane", slope_x = -0.2 }
friction = { mu = 0.4, model = "coulomb" }
[body]
shape = { axes = [0.3, 0.25, 0.2] }
density = 2700.0
[ensemble]
samples = 8
"""


def uniform(n, dims, seed=1):
    return np.random.default_rng(seed).uniform(size=(dims, n))


def drawn(samples=4000, grid=None, design="random", **table):
    model = EnsembleModel.model_validate({"samples": samples, "seed": 3, "design": design, "body.position": table})
    found = Design(model, grid=grid).draw(0, samples)
    assert list(found) == ["body.position.0", "body.position.1"]
    return np.column_stack(list(found.values()))


@pytest.mark.parametrize("design", ["random", "sobol", "latin"])
def test_places_lie_evenly_within_a_polygon_that_is_not_convex(design):
    places = drawn(4096, polygon=L_SHAPE, design=design)
    assert inside([np.array(L_SHAPE)], places).all()
    # Of an area of 6 the arm along x has 3 beyond x = 1, the one along y has 2 above y = 1.
    assert (places[:, 0] > 1.0).mean() == pytest.approx(3 / 6, abs=0.03)
    assert (places[:, 1] > 1.0).mean() == pytest.approx(2 / 6, abs=0.03)


def test_no_place_lies_in_a_hole_and_slanted_sides_are_followed():
    square = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 6.0], [0.0, 6.0]])
    diamond = np.array([[3.0, 1.0], [5.0, 3.0], [3.0, 5.0], [1.0, 3.0]])
    places = np.column_stack(in_rings([square, diamond])(*uniform(20_000, 2)))
    assert not inside([diamond], places).any() and inside([square], places).all()
    lower = (places[:, 1] < 1.0).mean()
    assert lower == pytest.approx(6.0 / (36.0 - 8.0), abs=0.02)
    # Between y = 2 and 2.1 the hole takes about 2.1 of 6.
    band = (places[:, 1] > 2.0) & (places[:, 1] < 2.1)
    assert band.mean() == pytest.approx(0.1 * (6.0 - 2.1) / 28.0, rel=0.15)


def test_places_come_from_points_and_from_files_in_coordinates_of_the_map(tmp_path):
    points = [[1.0, 2.0], [3.0, 4.0]]
    assert {tuple(place) for place in drawn(50, points=points)} == {(1.0, 2.0), (3.0, 4.0)}
    file = tmp_path / "area.geojson"
    ring = [[100.0 + x, 200.0 + y] for x, y in [*L_SHAPE, L_SHAPE[0]]]
    file.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    grid = Grid((10, 10), 0.0, 0.0, 1.0, 1.0, origin=(100.0, 200.0))
    np.testing.assert_allclose(drawn(20, polygon=str(file), grid=grid), drawn(20, polygon=L_SHAPE), atol=1e-9)


def test_places_come_from_the_marked_pixels_of_a_raster(tmp_path):
    file = tmp_path / "area.asc"
    file.write_text("ncols 3\nnrows 2\nxllcorner 100\nyllcorner 200\ncellsize 2\nNODATA_value -1\n0 0 5\n1 0 0\n")
    grid = Grid((10, 10), 0.0, 0.0, 1.0, 1.0, origin=(100.0, 200.0))
    places = drawn(2000, raster=str(file), grid=grid)
    low = (places[:, 0] < 2.0) & (places[:, 1] < 2.0)
    high = (places[:, 0] > 4.0) & (places[:, 1] > 2.0)
    assert (low | high).all() and low.mean() == pytest.approx(0.5, abs=0.04)
    assert places.min() > 0.0 and places[:, 0].max() < 6.0 and places[:, 1].max() < 4.0


def test_rotations_are_of_length_one_and_turn_an_axis_anywhere_alike():
    w, x, y, z = rotations(*uniform(40_000, 3))
    np.testing.assert_allclose(w * w + x * x + y * y + z * z, 1.0, atol=1e-14)
    height = 1.0 - 2.0 * (x * x + y * y)  # z of the turned z axis: even over -1 to 1
    np.testing.assert_allclose(np.quantile(height, [0.25, 0.5, 0.75]), [-0.5, 0.0, 0.5], atol=0.02)


def test_the_same_sample_is_drawn_whatever_is_drawn_with_it():
    model = EnsembleModel.model_validate(
        {"samples": 100, "body.position": {"polygon": L_SHAPE}, "body.quaternion": {"rotation": "random"}}
    )
    design = Design(model)
    whole, part = design.draw(0, 100), design.draw(40, 60)
    for key, values in part.items():
        np.testing.assert_array_equal(values, whole[key][40:60])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"body.position" = { polygon = [[0, 0], [1, 1]] }', "3 or more"),
        ('"body.mass" = { points = [[0.0, 1.0]] }', "body.mass"),
        ('"body.quaternion" = { rotation = "none" }', "random"),
        ('design = "grid"\n"body.position" = { points = [[0.0, 1.0]] }', "grid"),
        ('"body.position" = { points = [[0.0, 1.0]] }\n"body.position.0" = { uniform = [0, 1] }', "same value"),
    ],
)
def test_a_wrong_area_is_refused_in_one_sentence(line, words):
    with pytest.raises(ScenarioError, match=words):
        loads(SCENARIO + line)


def test_a_polygon_without_area_is_refused():
    with pytest.raises(ScenarioError, match="no area"):
        drawn(5, polygon=[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])


def test_places_wholly_off_the_map_are_refused():
    grid = Grid((4, 6), 5.0, 5.0, 10.0, 10.0)
    for table in ({"polygon": [[80.0, 0.0], [90.0, 0.0], [90.0, 20.0]]}, {"points": [[10.0, -20.0]]}):
        with pytest.raises(ScenarioError, match=r"The area of `ensemble.body.position`, x .* lies outside the map"):
            drawn(5, grid=grid, **table)
    assert len(drawn(5, grid=grid, polygon=[[40.0, 0.0], [90.0, 0.0], [90.0, 20.0]])) == 5
    model = {"samples": 5, "release.velocity": {"points": [[-3.0, 0.0]]}}  # no place on the map
    assert Design(EnsembleModel.model_validate(model), grid=grid).samples == 5
