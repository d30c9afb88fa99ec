"""How the gap of two moving bodies changes: its first three time derivatives in closed form."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from saltus.contacts.gap import Separation
from saltus.contacts.impact import spin_matrix
from saltus.numerics import rotation
from saltus.numerics.components import Vec, tangent_basis
from saltus.programs import program
from saltus.shapes.body import Body


class Side(eqx.Module):
    """One side of a contact: how its material moves there, and how its surface bends.

    Args:
        arm: From the centre of mass to the contact point [m].
        velocity: Of the material at the contact point [m s-1].
        acceleration: Of the material in free motion [m s-2].
        jerk: Of the material in free motion [m s-3].
        omega: Angular velocity [rad s-1].
        omega_rate: Its rate in free motion [rad s-2].
        curvature: Curvature tensor, zero along the normal [m-1].
        third: Third derivatives of the distance, in the tangent plane [m-2].
    """

    arm: Float[Array, " 3"]
    velocity: Float[Array, " 3"]
    acceleration: Float[Array, " 3"]
    jerk: Float[Array, " 3"]
    omega: Float[Array, " 3"]
    omega_rate: Float[Array, " 3"]
    curvature: Float[Array, "3 3"]
    third: Float[Array, "3 3 3"]


class LocalMotion(eqx.Module):
    """Derivatives of the gap, and what they are made of (the names are the paper's).

    Args:
        v: Rate of the gap, the normal velocity [m s-1].
        a_eff: Second derivative of the gap in free motion [m s-2].
        gap3: Third derivative of the gap in free motion [m s-3].
        a: Second derivative of the distance of the second body's contact point alone [m s-2].
        j: Third derivative of the same [m s-3].
        j_quadratic: `j` as it were without third derivatives of the surface [m s-3].
        u: Velocity of the second body's material relative to the first's [m s-1].
        w: How fast the slopes of the two surfaces part [s-1].
        normal: Outward normal of the first body.
        contact_velocity1: Velocity of the contact point over the first body [m s-1].
        contact_velocity2: Velocity of the contact point over the second body [m s-1].
        gap: The gap itself [m].
    """

    v: Array
    a_eff: Array
    gap3: Array
    a: Array
    j: Array
    j_quadratic: Array
    u: Float[Array, " 3"]
    w: Float[Array, " 3"]
    normal: Float[Array, " 3"]
    contact_velocity1: Float[Array, " 3"]
    contact_velocity2: Float[Array, " 3"]
    gap: Array


def body_side(body: Body, point: Array, normal: Array, lift: Array, force: Array | float = 0.0) -> Side:
    """The side of a freely moving body whose outward unit normal is `normal`.

    Args:
        body: The body.
        point: Contact point in the lab [m].
        normal: Outward normal there; only used to find the surface point below `point`.
        lift: Height of `point` above the surface; the parallel surface through it is taken [m].
        force: Acceleration that all of the body has (gravity) [m s-2].
    """
    q = body.quaternion
    foot = rotation.rotate_back(q, point - lift * normal - body.center)
    _, curvature, third = body.shape.bending(foot)
    matrix = rotation.matrix(q)
    shrink = jnp.linalg.inv(jnp.eye(3) + lift * curvature)
    curvature = matrix @ (curvature @ shrink) @ matrix.T
    shrink = matrix @ shrink
    third = jnp.einsum("abc,ia,jb,kc->ijk", third, shrink, shrink, shrink)
    arm, omega = point - body.center, body.angular_velocity
    momentum, inverse = body.angular_momentum(), body.inverse_inertia()
    torque = jnp.cross(omega, momentum)
    rate = -inverse @ torque
    turned = jnp.cross(omega, inverse @ torque) - inverse @ jnp.cross(omega, torque)
    bend = -turned - inverse @ jnp.cross(rate, momentum)
    velocity = jnp.cross(omega, arm)
    acceleration = jnp.cross(rate, arm) + jnp.cross(omega, velocity)
    jerk = jnp.cross(bend, arm) + 2.0 * jnp.cross(rate, velocity) + jnp.cross(omega, acceleration)
    return Side(arm, body.velocity + velocity, acceleration + force, jerk, omega, rate, curvature, third)


def fixed_side() -> Side:
    """The side of a fixed plane."""
    zero = jnp.zeros(3)
    return Side(zero, zero, zero, zero, zero, zero, jnp.zeros((3, 3)), jnp.zeros((3, 3, 3)))


@program
def local_motion(body1: Body, body2: Body, separation: Separation) -> LocalMotion:
    """Derivatives of the gap of two freely moving bodies at their closest points.

    Also right for bodies that do not touch: the first one is then replaced by its parallel body.
    """
    n, g = separation.normal, separation.gap
    side1 = body_side(body1, separation.point1 + g * n, n, g)
    side2 = body_side(body2, separation.point2, -n, jnp.zeros(()))
    return meet(side1, side2, n, g)


def meet(side1: Side, side2: Side, normal: Array, gap: Array) -> LocalMotion:
    """Derivatives of the gap from the two sides of a contact with the given normal of the first."""
    n, omega1, omega2 = normal, side1.omega, side2.omega
    u = side2.velocity - side1.velocity
    push, kick = side2.acceleration - side1.acceleration, side2.jerk - side1.jerk
    bend1 = side1.curvature
    n_rate = jnp.cross(omega1, n)
    n_bend = jnp.cross(side1.omega_rate, n) + jnp.cross(omega1, n_rate)
    bend1_rate = _commutator(omega1, bend1)
    v = n @ u
    a = n @ push + 2.0 * n_rate @ u + u @ bend1 @ u
    w = jnp.cross(n, omega2 - omega1) + bend1 @ u
    e = -_tangent_solve(bend1 + side2.curvature, n, w)
    cubic = _distance_third(side1, n)
    j_quadratic = n @ kick + 3.0 * (n_rate @ push + n_bend @ u + u @ bend1 @ push + u @ bend1_rate @ u)
    j = j_quadratic + jnp.einsum("abc,a,b,c", cubic, u, u, u)
    swept = jnp.cross(omega2, e)
    swept_rate = jnp.cross(side2.omega_rate, e) + jnp.cross(omega2, swept)
    linear = (
        n_bend @ e
        + 2.0 * n_rate @ swept
        + n @ swept_rate
        + push @ bend1 @ e
        + 2.0 * u @ bend1_rate @ e
        + 2.0 * u @ bend1 @ swept
        + jnp.einsum("abc,a,b,c", cubic, u, u, e)
    )
    quadratic = swept @ bend1 @ e + 0.5 * e @ bend1_rate @ e + 0.5 * jnp.einsum("abc,a,b,c", cubic, u, e, e)
    third = jnp.einsum("abc,a,b,c", side1.third + side2.third, e, e, e)
    return LocalMotion(
        v=v,
        a_eff=a + w @ e,
        gap3=j + 3.0 * linear + 6.0 * quadratic + third,
        a=a,
        j=j,
        j_quadratic=j_quadratic,
        u=u,
        w=w,
        normal=n,
        contact_velocity1=u - v * n + e,
        contact_velocity2=e,
        gap=gap,
    )


def _commutator(omega: Array, tensor: Array) -> Array:
    """Rate of a tensor that is carried along by the rotation."""
    spin = spin_matrix(omega)
    return spin @ tensor - tensor @ spin


def _distance_third(side: Side, n: Array) -> Array:
    """All third derivatives of the distance from the first surface, normal directions included."""
    squared = side.curvature @ side.curvature
    mixed = jnp.einsum("a,bc->abc", n, squared)
    return side.third - mixed - jnp.einsum("abc->bca", mixed) - jnp.einsum("abc->cab", mixed)


def _tangent_solve(tensor: Array, n: Array, right: Array) -> Array:
    """Solve in the tangent plane; along directions without any curvature the answer is zero."""
    s, t = (vector.array() for vector in tangent_basis(Vec.of(n)))
    basis = jnp.stack([s, t], axis=1)
    small, load = basis.T @ tensor @ basis, basis.T @ right
    determinant = small[0, 0] * small[1, 1] - small[0, 1] * small[1, 0]
    regular = determinant > 1e-14 * (small[0, 0] + small[1, 1]) ** 2
    adjugate = jnp.array([[small[1, 1], -small[0, 1]], [-small[1, 0], small[0, 0]]])
    exact = adjugate @ load / jnp.where(regular, determinant, 1.0)
    trace = small[0, 0] + small[1, 1]
    # One vanishing curvature: pseudo-inverse of a matrix of rank one is the matrix over its trace squared.
    partial = small @ load / jnp.where(trace > 0.0, trace * trace, 1.0)
    return basis @ jnp.where(regular, exact, partial)
