import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl

surfaces = sl.surfaces


@pytest.mark.parametrize(
    ("surface", "formula"),
    [
        (surfaces.Sphere(1.3), lambda x, y: 1.3 - np.sqrt(1.3**2 - x**2 - y**2)),
        (surfaces.Dome(1.3), lambda x, y: np.sqrt(1.3**2 - x**2 - y**2) - 1.3),
        (surfaces.Plane(0.2, -0.4), lambda x, y: 0.2 * x - 0.4 * y),
        (surfaces.Paraboloid(0.2, 0.4, 0.1), lambda x, y: 0.2 * x**2 + 0.4 * y**2 + 0.1 * x),
        (surfaces.Saddle(0.2, 0.4), lambda x, y: 0.2 * x**2 - 0.4 * y**2),
        (surfaces.Gaussian(0.5, 0.7), lambda x, y: 0.5 * np.exp(-(x**2 + y**2) / (2 * 0.7**2))),
        (surfaces.Cosine(0.4, 2.1, 0.3), lambda x, y: 0.4 * (1 - np.cos(2.1 * x)) - 0.3 * y),
        (surfaces.Cone(1.5, 0.1), lambda x, y: 1.5 * (np.sqrt(x**2 + y**2 + 0.01) - 0.1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_heights_follow_the_formula_of_the_documentation(surface, formula):
    assert float(surface.height(0.3, -0.5)) == pytest.approx(formula(0.3, -0.5), rel=1e-14)


def test_the_bottom_of_the_bowl_keeps_its_digits():
    # R - sqrt(R² - r²) written out loses everything at r = 1e-9; the exact value is r²/2 up to r⁴/8.
    assert float(surfaces.Sphere(1.0).height(1e-9, 0.0)) == pytest.approx(5e-19, rel=1e-14)
    assert float(surfaces.Cosine(1.0, 1.0).height(1e-9, 0.0)) == pytest.approx(5e-19, rel=1e-14)
    assert float(surfaces.Cone(1.0, 1.0).height(1e-9, 0.0)) == pytest.approx(5e-19, rel=1e-14)


def test_the_margin_of_the_bowl_falls_through_zero_at_its_rim():
    bowl = surfaces.Sphere(2.0)
    assert float(bowl.margin(2.0, 0.0)) == 0.0
    assert float(bowl.margin(1.9, 0.0)) > 0 > float(bowl.margin(2.1, 0.0))
    assert np.isnan(bowl.height(2.1, 0.0))


def test_a_graph_takes_functions_of_single_numbers():
    step = surfaces.Graph(lambda x, y: jax.lax.cond(x > 0, lambda: x**3, lambda: 0.0 * x))
    np.testing.assert_array_equal(step.height(jnp.array([-1.0, 2.0]), 0.0), [0.0, 8.0])


def test_a_graph_has_the_margin_it_is_given():
    strip = surfaces.Graph(lambda x, y: x, margin_function=lambda x, y: 1 - y**2)
    assert float(strip.margin(0.0, 2.0)) == -3.0
    assert float(surfaces.Graph(lambda x, y: x).margin(0.0, 2.0)) == 1.0


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: surfaces.Sphere(0.0), "`radius` must be > 0, got 0.0"),
        (lambda: surfaces.Dome(-1.0), "`radius` must be > 0, got -1.0"),
        (lambda: surfaces.Sphere(float("nan")), "`radius` must be > 0, got nan"),
        (lambda: surfaces.Plane(float("inf"), 0.0), "`slope_x` must be finite"),
        (lambda: surfaces.Gaussian(1.0, 0.0), "`width` must be > 0"),
        (lambda: surfaces.Cone(1.0, 0.0), "A sharp tip has no normal"),
        (lambda: surfaces.Cosine(1.0, float("nan")), "`wavenumber` must be finite"),
        (lambda: surfaces.Graph(3.0), "must be a function of x and y"),
        (lambda: surfaces.Graph(lambda x, y, a: a, parameters={"a": float("nan")}), "`a` must be finite"),
    ],
)
def test_wrong_parameters_are_refused_with_the_value(build, words):
    with pytest.raises(ValueError, match="^[^\n]+$") as caught:
        build()
    assert words in str(caught.value)


def test_a_traced_parameter_passes_the_checks():
    slope = jax.grad(lambda radius: surfaces.Sphere(radius).height(0.3, 0.0))(1.0)
    exact = 1 - 1 / np.sqrt(1 - 0.09)
    assert float(slope) == pytest.approx(exact, rel=1e-13)
