"""Ensembles of a body on the ground are built for one program, whatever varies."""

import numpy as np
import pytest

from saltus.ensembles.compute.building import Builder
from saltus.scenarios import loads
from saltus.systems.ground_body import begin

TEXT = """
kind = "ground_body"
surface = { type = "plane", slope_x = -0.2 }
friction = { mu = 0.4, model = "coulomb", rolling_friction = 0.05 }
impact = { law = "soil", restitution = 0.4, settle_height = 1e-3 }
solve = { until = "rest", rtol = 1e-6, atol = 1e-8 }
[body]
shape = { axes = [0.3, 0.25, 0.2] }
density = 2700.0
height = 0.3
"""


def test_stones_of_many_shapes_and_poses_are_built_for_one_program():
    keys = ("body.shape.axes.0", "body.quaternion.1", "friction.mu", "friction.rolling_friction")
    assert Builder(loads(TEXT), keys).works()


def test_stones_that_start_above_the_ground_are_built_without_any_contact(monkeypatch):
    """Whether a sample flies is known although its numbers are traced: contact and impact need not be compiled."""

    def refuse(*given):
        raise AssertionError("A stone above the ground asked for its contact.")

    for name in ("_begin_with_impact", "_begin_sliding", "_begin_standing"):
        monkeypatch.setattr(begin, name, refuse)
    assert Builder(loads(TEXT), ("body.shape.axes.0", "body.quaternion.1")).works()


def test_stones_that_start_off_the_map_are_no_samples(tmp_path):
    """They were told as stones that had left it, with a run-out of zero and an invented height."""
    pytest.importorskip("rasterio")
    heights = "\n".join(" ".join(["5.0"] * 8) for _ in range(8))
    (tmp_path / "dem.asc").write_text(f"ncols 8\nnrows 8\nxllcorner 0\nyllcorner 0\ncellsize 10\n{heights}\n")
    surface = f'surface = {{ type = "terrain", file = "{tmp_path / "dem.asc"}", crs = "local" }}'
    text = TEXT.replace('surface = { type = "plane", slope_x = -0.2 }', surface) + "position = [40.0, 40.0]\n"
    builder = Builder(loads(text), ("body.position.0", "body.position.1"))
    places = np.array([[40.0, 40.0], [-30.0, 40.0], [40.0, 200.0], [20.0, 40.0]])
    assert builder.build(places).good.tolist() == [True, False, False, True]
