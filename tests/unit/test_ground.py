"""The surface under a motion as the dataset keeps it: its own heights, up to its border."""

import types

import numpy as np
import xarray as xr

from saltus import surfaces
from saltus.io.ground import ground_variables
from saltus.views.ground import Ground


def kept(surface, reach=0.5):
    """The ground under a circle of this radius."""
    turn = np.linspace(0.0, 6.0, 50)
    position = np.stack([reach * np.cos(turn), reach * np.sin(turn), 0 * turn], axis=-1)[:, None]
    found = ground_variables(
        types.SimpleNamespace(surface=surface), {"position": xr.Variable(("time", "mass", "axis"), position)}
    )
    return tuple(found[name].values for name in ("ground_x", "ground_y", "ground_height"))


def test_the_heights_are_those_of_the_surface():
    x, y, z = kept(surfaces.Sphere(radius=1.0))
    np.testing.assert_allclose(z, 1 - np.sqrt(1 - x**2 - y**2), atol=1e-15)
    assert x.min() < -0.6 and x.max() > 0.6


def test_a_surface_that_somebody_wrote_is_kept_too():
    x, y, z = kept(surfaces.Graph(lambda x, y: 0.1 * x**2 + 0.2 * y))
    np.testing.assert_allclose(z, 0.1 * x**2 + 0.2 * y, atol=1e-15)


def test_the_outermost_points_lie_on_the_border_of_the_surface():
    x, y, z = kept(surfaces.Sphere(radius=0.5))
    away, defined = np.hypot(x, y), np.isfinite(z)
    assert not defined.all()
    assert away[defined].max() <= 0.5
    # 40 halvings leave 1e-12 of a grid step; a circle of this size passes between some 450 points and their neighbours.
    assert (np.abs(away[defined] - 0.5) < 1e-10).sum() > 300


def test_a_system_without_a_surface_has_no_ground():
    variables = {"position": xr.Variable(("time", "axis"), np.zeros((4, 3)))}
    assert ground_variables(types.SimpleNamespace(), variables) == {}
    assert ground_variables(types.SimpleNamespace(surface="plane"), variables) == {}


def test_normals_of_the_drawn_ground_point_away_from_it():
    surface = Ground(*kept(surfaces.Sphere(radius=1.0)))
    place = np.array([[0.3, 0.2, 0.0]])
    np.testing.assert_allclose(surface.normals(place)[0], [-0.3, -0.2, np.sqrt(1 - 0.13)], atol=0.02)
