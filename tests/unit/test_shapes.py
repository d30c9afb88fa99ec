"""Shapes given by a function are what the closed forms say, for an ellipsoid that is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import contacts
from saltus.scenarios.shape import ShapeTable
from saltus.shapes import Ball, Block, Body, Ellipsoid, Implicit, Superellipsoid, SupportShape

AXES = np.array([1.0, 0.8, 0.6])
KNOWN = Ellipsoid(AXES)
GIVEN = {
    "implicit": lambda: Implicit(lambda x: jnp.sum((x / AXES) ** 2) - 1.0),
    "support": lambda: SupportShape(lambda n: jnp.sqrt(jnp.sum((AXES * n) ** 2))),
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


@pytest.mark.parametrize(
    ("axes", "exponents"),
    [((1.0, 1.0, 1.0), (2.0, 2.0, 2.0)), ((1.0, 2.0, 0.5), (2.0, 4.0, 12.0)), ((0.7, 0.6, 0.9), (2.1, 3.0, 1000.0))],
)
def test_the_hull_of_a_superellipsoid_holds_it(axes, exponents):
    shape = Superellipsoid(axes, exponents)
    random = np.random.default_rng(0)
    # Points of the surface: shares t of the sum, |x/a| = t^(1/p).
    shares = random.dirichlet([0.5, 0.5, 0.5], 20_000)
    points = np.asarray(axes) * shares ** (1.0 / np.asarray(exponents))
    inside = np.linalg.norm(points / np.asarray(shape.hull_axes()), axis=1).max()
    # It is not much larger than it must be either.
    assert 0.99 < inside <= 1.0


def test_the_volume_of_a_table_is_that_of_its_shape():
    for exponents in (2.0, 4.0, [2.0, 3.0, 8.0]):
        table = ShapeTable(axes=[0.5, 0.7, 1.1], exponents=exponents)
        assert table.volume() == pytest.approx(float(table.build().volume()), rel=1e-13)


def test_a_block_curves_everywhere_and_is_an_ellipsoid_for_exponents_of_two():
    directions = np.random.default_rng(1).normal(size=(200, 3))
    directions[:40, 0] = 0.0  # where a superellipsoid is flat
    directions /= np.linalg.norm(directions, axis=1)[:, None]

    @eqx.filter_jit
    def seen(shape):
        points = jax.vmap(shape.support_point)(directions)
        return (
            points,
            jax.vmap(jax.grad(shape.support))(directions),
            jax.vmap(jax.jacfwd(shape.support_point))(directions),
        )

    points, slopes, radii = seen(Block(AXES, 4.0))
    np.testing.assert_allclose(points, slopes, atol=1e-14)  # as those of every support function
    across = np.linalg.eigvalsh(radii)[:, 1:]  # one is along the normal, and zero
    assert across.min() > 0.05 and across.max() < 30.0
    flat = seen(Superellipsoid(AXES, 4.0))[0]
    np.testing.assert_allclose(np.sum(points * directions, axis=1) / np.sum(flat * directions, axis=1), 1.0, atol=8e-3)
    np.testing.assert_allclose(seen(Block(AXES, 2.0))[0], seen(KNOWN)[0], atol=1e-14)
