"""One suite over every exported surface: add an example here and all of it applies."""

from importlib.resources import files

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

import saltus as sl
from saltus.surfaces.known import KnownSurface
from saltus.surfaces.named import NAMES, named_surface

EXAMPLES = {
    "Sphere": sl.surfaces.Sphere(radius=1.7),
    "Dome": sl.surfaces.Dome(radius=2.1),
    "Plane": sl.surfaces.Plane(slope_x=0.3, slope_y=-0.7),
    "Paraboloid": sl.surfaces.Paraboloid(a=0.4, b=0.7, c=-0.2),
    "Saddle": sl.surfaces.Saddle(a=0.5, b=0.3),
    "Gaussian": sl.surfaces.Gaussian(amplitude=0.8, width=0.6),
    "Cosine": sl.surfaces.Cosine(amplitude=0.4, wavenumber=2.1, slope=0.3),
    "Cone": sl.surfaces.Cone(slope=1.5, rounding=0.1),
    "Graph": sl.surfaces.Graph(lambda x, y, a: a * jnp.sin(x) * y**2, parameters={"a": 0.3}),
    "Terrain": sl.surfaces.Terrain(0.5 * np.sin(np.add.outer(np.arange(16.0), 0.4 * np.arange(14.0))), 0.2, -1.3, -1.5),
    "Expression": sl.surfaces.Expression("a*x**2*y + exp(-y**2)/(1 + x**2)", {"a": 0.2}),
}

surfaces = pytest.mark.parametrize("surface", EXAMPLES.values(), ids=EXAMPLES.keys())
inside = st.floats(-1.0, 1.0)  # every example is defined on this square


@jax.jit
def height_and_gradient(surface, x, y):
    return surface.height(x, y), surface.gradient(x, y)


@jax.jit
def gradient_by_differentiation(surface, x, y):
    return jax.grad(surface.height, (0, 1))(x, y)


@jax.jit
def curvature_and_second_derivatives(surface, x, y):
    return surface.curvature(x, y), jax.hessian(surface.height, (0, 1))(x, y)


def test_every_exported_surface_is_an_example():
    concrete = set(sl.surfaces.__all__) - {"AbstractSurface", "named_surface", "synthetic"}
    assert concrete == set(EXAMPLES)


@surfaces
@given(x=inside, y=inside)
def test_gradient_is_the_derivative_of_height(surface, x, y):
    wanted = gradient_by_differentiation(surface, x, y)
    # Closed forms and differentiation differ by rounding of values of order one.
    np.testing.assert_allclose(height_and_gradient(surface, x, y)[1], wanted, rtol=1e-12, atol=1e-13)


@surfaces
@given(x=inside, y=inside)
def test_curvature_is_the_second_derivative_of_height(surface, x, y):
    found, ((fxx, fxy), (_, fyy)) = curvature_and_second_derivatives(surface, x, y)
    # The cone's curvature is 15/m at its tip: a few roundings of that.
    np.testing.assert_allclose(found, (fxx, fxy, fyy), rtol=1e-11, atol=1e-12)


@surfaces
@given(x=inside, y=inside)
def test_gradient_agrees_with_finite_differences(surface, x, y):
    step = 1e-5

    def height(x, y):
        return height_and_gradient(surface, x, y)[0]

    fx = (height(x + step, y) - height(x - step, y)) / (2 * step)
    fy = (height(x, y + step) - height(x, y - step)) / (2 * step)
    # Third derivatives up to 1e3 (cone tip) times step²/6, and rounding 1e-16/step.
    np.testing.assert_allclose(height_and_gradient(surface, x, y)[1], (fx, fy), atol=1e-7)


@surfaces
def test_nothing_is_nan_at_the_origin(surface):
    leaves = [surface.height(0.0, 0.0), *surface.gradient(0.0, 0.0), *surface.curvature(0.0, 0.0)]
    assert np.isfinite(leaves).all()
    assert np.isfinite(curvature_and_second_derivatives(surface, 0.0, 0.0)[1]).all()


@surfaces
def test_arrays_are_taken_element_by_element(surface):
    x, y = np.meshgrid(np.linspace(-0.9, 0.9, 4), np.linspace(-0.8, 0.8, 3))
    for name in ("height", "gradient", "curvature", "margin", "normal"):
        whole = np.asarray(getattr(surface, name)(x, y))
        single = np.asarray(getattr(surface, name)(x[2, 3], y[2, 3]))
        part = whole[2, 3] if name == "normal" else whole[..., 2, 3]
        # A spline sums 16 terms, of order 25 for curvatures, in whatever order the compiler likes.
        np.testing.assert_allclose(part, single, rtol=1e-15, atol=1e-13 if name == "curvature" else 1e-14)


@surfaces
def test_integers_give_floats(surface):
    assert surface.height(0, 0).dtype == jnp.float64
    assert all(part.dtype == jnp.float64 for part in surface.gradient(0, 1))


@surfaces
def test_normal_is_a_unit_vector_across_the_surface(surface):
    x, y = 0.4, -0.3
    fx, fy = surface.gradient(x, y)
    normal = surface.normal(x, y)
    assert float(jnp.linalg.norm(normal)) == pytest.approx(1.0, abs=1e-15)
    assert abs(float(normal @ jnp.array([1.0, 0.0, fx]))) < 1e-15
    assert abs(float(normal @ jnp.array([0.0, 1.0, fy]))) < 1e-15
    assert normal[2] > 0


@surfaces
def test_parameters_are_differentiable_leaves(surface):
    leaves = jax.tree.leaves(surface)
    assert leaves and all(isinstance(leaf, jax.Array) for leaf in leaves)
    slopes = jax.grad(lambda one: one.height(0.4, 0.3))(surface)
    assert any(np.abs(leaf).max() > 1e-3 for leaf in jax.tree.leaves(slopes))


@surfaces
def test_plain_jit_and_vmap_accept_the_surface(surface):
    x = jnp.linspace(-0.5, 0.5, 3)
    compiled = jax.jit(lambda one, x: jax.vmap(one.height, (0, None))(x, 0.2))(surface, x)
    np.testing.assert_allclose(compiled, surface.height(x, 0.2), rtol=1e-14, atol=1e-16)


@surfaces
def test_margin_is_positive_inside(surface):
    assert surface.margin(0.3, -0.2) > 0


@surfaces
def test_only_the_plane_is_flat(surface):
    assert surface.flat == isinstance(surface, sl.surfaces.Plane)


DESCRIPTIONS = {
    "sphere": {"radius": 1.7},
    "dome": {"radius": 2.1},
    "plane": {"slope_x": 0.3, "slope_y": -0.7},
    "paraboloid": {"a": 0.4, "b": 0.7, "c": -0.2},
    "saddle": {"a": 0.5, "b": 0.3},
    "gaussian": {"amplitude": 0.8, "width": 0.6},
    "cosine": {"amplitude": 0.4, "wavenumber": 2.1, "slope": 0.3},
    "cone": {"slope": 1.5, "rounding": 0.1},
    "expression": {"z": "a*x**2*y + sqrt(2 - x)*exp(-y**2)/(1 + x**2)", "parameters": {"a": 0.2}},
    "terrain": {"file": None, "crs": None, "coarsen": 1, "smooth": 0.0, "origin": (640000.0, 5190000.0)},
}


def test_every_surface_of_scenarios_has_a_description_here():
    assert set(DESCRIPTIONS) == set(NAMES)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_surface_is_known_without_jax_as_it_is_with_it(name):
    description = {"type": name, **DESCRIPTIONS[name]}
    reach = 3.0
    if name == "terrain":
        description["file"] = str(files("saltus.scenarios.catalogue") / "alpine-valley.tif")
        reach = 4000.0
    x, y = np.random.default_rng(1).uniform(-reach, reach, (2, 400))
    known, built = KnownSurface(description).at(x, y), named_surface(description)
    wanted, margin = built.local(x, y), np.asarray(built.margin(x, y))
    on = margin > 0.0
    assert on.sum() > 20 and ((known.margin > 0.0) == on).all()
    parts = (known.height, *known.gradient, *known.curvature), (wanted.height, *wanted.gradient, *wanted.curvature)
    for found, want in zip(*parts, strict=True):
        # Cancellation within the formulas; the terrain is a hundred metres high.
        np.testing.assert_allclose(found[on], np.asarray(want)[on], rtol=1e-11, atol=1e-12 * np.abs(want[on]).max())
    np.testing.assert_allclose(known.normal[on], np.asarray(built.normal(x, y))[on], rtol=1e-11, atol=1e-12)
