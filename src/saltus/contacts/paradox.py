"""Search for the paradox: touches without approach from which free motion drives two bodies into each other."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.contacts.classify import Contact, classify
from saltus.contacts.first_contact import first_contact
from saltus.contacts.gap import Separation
from saltus.contacts.local import local_motion
from saltus.numerics import rotation
from saltus.numerics.trees import choose
from saltus.programs import program
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body

TYPES = ("2b*", "2b", "2c")
BATCH = 64


@dataclasses.dataclass(frozen=True)
class Paradox:
    """A configuration in paradox.

    Args:
        body1: First body at the touch.
        body2: Second body at the touch.
        contact: Its classification.
        n_draws: Random draws that were needed.
    """

    body1: Body
    body2: Body
    contact: Contact
    n_draws: int


def normal_form(gyration: Float[Array, " 3"], point: Float[Array, " 3"], normal: Float[Array, " 3"]) -> Array:
    """The matrix A for which a free body's surface point has the normal acceleration omega . A omega.

    In the body's principal frame. Never positive for homogeneous ellipsoids, which is why two of
    them have no paradox of type 2b*; it can be positive for superellipsoids.
    """
    a, b, c = gyration
    euler = jnp.stack([(b - c) / a, (c - a) / b, (a - b) / c]) * jnp.cross(point, normal) / 2.0
    zero = jnp.zeros_like(a)
    turning = jnp.array([[zero, euler[2], euler[1]], [euler[2], zero, euler[0]], [euler[1], euler[0], zero]])
    mixed = jnp.outer(normal, point)
    return turning + (mixed + mixed.T) / 2.0 - (normal @ point) * jnp.eye(3)


def reversed_motion(body: Body) -> Body:
    """The body with its motion turned round: its future is the past of the original."""
    return body.with_motion(body.center, -body.velocity, body.quaternion, -body.angular_velocity)


def free_past(body1: Body, body2: Body, duration: float = 3.0) -> bool:
    """Whether two bodies that touch in paradox did not touch for a while before, certified."""
    local = classify(body1, body2).local
    size = float(body1.shape.radius() + body2.shape.radius())
    # Going back, the gap opens as |gap3| s^3 / 6: leave out what rounding cannot tell from contact.
    begin = jnp.cbrt(6e-9 * size / jnp.maximum(-local.gap3, 1e-300))
    found = first_contact(reversed_motion(body1), reversed_motion(body2), duration, begin=begin)
    return bool(~found.happens & found.certified)


def find(shape1: AbstractShape, shape2: AbstractShape, key: Array, kind: str = "2c", *, past: float = 3.0,
         max_draws: int = 20_000) -> Paradox:  # fmt: skip
    """A configuration of two homogeneous bodies in paradox of the given type, with a free past.

    Every pair of shapes but two balls has paradoxes of type 2c (two conditions on a touch). Type 2b asks for four
    conditions and 2b* for six; the latter does not exist for two homogeneous ellipsoids.

    Args:
        shape1: First shape.
        shape2: Second shape.
        key: A JAX random key; the same key gives the same configuration.
        kind: "2c", "2b" or "2b*".
        past: For how long the past has to be free [s].
        max_draws: Draws after which the search is given up.
    """
    checks.one_of("kind of paradox", kind, TYPES)
    for batch in range(max_draws // BATCH):
        keys = jax.random.split(jax.random.fold_in(key, batch), BATCH)
        one, two, good = _draws(shape1, shape2, keys, kind)
        for k in np.flatnonzero(np.asarray(good)):
            body1, body2 = (jax.tree.map(lambda leaf, k=k: leaf[k], bodies) for bodies in (one, two))
            contact = classify(body1, body2)
            if contact.label == f"paradox-{kind}" and free_past(body1, body2, past):
                return Paradox(body1, body2, contact, batch * BATCH + int(k) + 1)
    raise ValueError(
        f"No paradox of type {kind} was found for {type(shape1).__name__} and {type(shape2).__name__} in {max_draws} "
        "draws. Try type 2c, which every pair but two balls has."
    )


@program
def _draws(shape1: AbstractShape, shape2: AbstractShape, keys: Array, kind: str) -> tuple[Body, Body, Array]:
    return jax.vmap(lambda key: _draw(shape1, shape2, key, kind))(keys)


def _draw(shape1: AbstractShape, shape2: AbstractShape, key: Array, kind: str) -> tuple[Body, Body, Array]:
    """One random touch without approach, on the line where the gap's second derivative vanishes."""
    parts = jax.random.split(key, 5)
    turns = rotation.random_quaternion(parts[0], (2,))
    normal = jax.random.normal(parts[1], (3,))
    normal = normal / jnp.sqrt(jnp.sum(normal * normal))
    base, along = jax.random.normal(parts[2], (2, 8)) * 2.0

    def at(place):
        return _configuration(shape1, shape2, turns, normal, base + place * along, kind)

    def second_derivative(place):
        one, two, separation = at(place)
        return local_motion(one, two, separation).a_eff

    # The second derivative of the gap is a quadratic form of the velocities.
    low, middle, high = (second_derivative(jnp.asarray(place)) for place in (-1.0, 0.0, 1.0))
    slope, bend = (high - low) / 2.0, (high + low) / 2.0 - middle
    discriminant = slope * slope - 4.0 * bend * middle
    root = jnp.sqrt(jnp.maximum(discriminant, 0.0))
    upper = -(slope + jnp.where(slope > 0.0, root, -root)) / 2.0
    place = jnp.where(jax.random.bernoulli(parts[3]), upper / bend, middle / upper)
    place = _refine(second_derivative, place)
    one, two, separation = at(place)
    local = local_motion(one, two, separation)
    turn_round = local.gap3 > 0.0
    one, two = (choose(turn_round, reversed_motion(body), body) for body in (one, two))
    good = (discriminant > 0.0) & jnp.isfinite(place) & (jnp.abs(place) < 10.0)
    return one, two, good


def _refine(function, place: Array) -> Array:
    """Two Newton steps against the rounding of the quadratic's coefficients."""
    for _ in range(2):
        value, slope = jax.jvp(function, (place,), (jnp.ones_like(place),))
        place = place - value / slope
    return place


def _configuration(shape1, shape2, turns, normal, motion, kind) -> tuple[Body, Body, Separation]:
    """Two touching bodies whose normal velocity is zero, from free parameters of their motion."""
    q1, q2 = turns
    arm1 = rotation.rotate(q1, shape1.support_point(rotation.rotate_back(q1, normal)))
    arm2 = rotation.rotate(q2, shape2.support_point(-rotation.rotate_back(q2, normal)))
    omega1, omega2, slip = motion[:3], motion[3:6], _tangential(_in_plane(normal, motion[6:]), normal)
    if kind == "2b*":
        omega2, slip = omega1 + motion[6] * normal, jnp.zeros(3)
    if kind == "2b":
        matrix = rotation.matrix(q1)
        bend = matrix @ shape1.curvature(rotation.rotate_back(q1, arm1)) @ matrix.T
        # The slopes part at the rate n x (omega2 - omega1) + H slip: choose the slip that stops it.
        parting = jnp.cross(normal, omega2 - omega1)
        slip = _tangential(-jnp.linalg.solve(bend + jnp.outer(normal, normal), parting), normal)
    velocity = slip + jnp.cross(omega1, arm1) - jnp.cross(omega2, arm2)
    one = Body(shape1, quaternion=q1, angular_velocity=omega1)
    two = Body(shape2, center=arm1 - arm2, velocity=velocity, quaternion=q2, angular_velocity=omega2)
    return one, two, Separation(jnp.zeros(()), normal, arm1, arm1, jnp.zeros(()))


def _tangential(vector: Array, normal: Array) -> Array:
    return vector - normal * (normal @ vector)


def _in_plane(normal: Array, parts: Array) -> Array:
    """A vector with two given parts, roughly across the normal."""
    helper = jnp.where(jnp.abs(normal[0]) < 0.7, jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0]))
    first = jnp.cross(normal, helper)
    return parts[0] * first + parts[1] * jnp.cross(normal, first)
