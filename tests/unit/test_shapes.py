"""Shapes given by a function are what the closed forms say, for an ellipsoid that is known."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import contacts
from saltus.shapes import Ball, Body, Ellipsoid, Implicit, Supported

AXES = np.array([1.0, 0.8, 0.6])
KNOWN = Ellipsoid(AXES)
GIVEN = {
    "implicit": lambda: Implicit(lambda x: jnp.sum((x / AXES) ** 2) - 1.0),
    "support": lambda: Supported(lambda n: jnp.sqrt(jnp.sum((AXES * n) ** 2))),
}


@eqx.filter_jit
def bending(shape, point):
    return shape.bending(point)


@pytest.fixture(scope="module", params=sorted(GIVEN))
def shape(request):
    return GIVEN[request.param]()


def test_mass_properties_come_from_quadrature(shape):
    # The quadrature over 4608 directions is good to about 1e-10 for smooth bodies.
    assert float(shape.volume()) == pytest.approx(float(KNOWN.volume()), rel=1e-9)
    np.testing.assert_allclose(shape.second_moments(), KNOWN.second_moments(), rtol=1e-9)


def test_normal_curvature_and_third_derivatives_are_those_of_the_closed_form(shape):
    direction = np.array([0.3, -0.5, 0.8])
    point = jnp.asarray(direction / np.sqrt(np.sum((direction / AXES) ** 2)))
    for found, wanted in zip(bending(shape, point), bending(KNOWN, point), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_gap_to_a_ball_is_that_of_the_closed_form(shape):
    ball = Body(Ball(0.5), center=[1.2, 0.9, -1.1])
    found, wanted = (contacts.gap(Body(one, mass=1.0), ball) for one in (shape, KNOWN))
    assert float(found.gap) == pytest.approx(float(wanted.gap), abs=1e-12)
    np.testing.assert_allclose(found.normal, wanted.normal, atol=1e-10)
