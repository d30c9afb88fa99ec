"""What happens when two bodies, or a body and a wall, touch."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.classify import LABELS, Tolerances, code_of, tolerances_of
from saltus.contacts.gap import Separation, gap
from saltus.contacts.impact import body_mobility, velocity_at
from saltus.contacts.local import LocalMotion, body_side, fixed_side, local_motion, meet
from saltus.contacts.wall import Wall, wall_gap
from saltus.laws.impact import AbstractImpactLaw
from saltus.numerics import rotation
from saltus.shapes.body import Body

LENGTH_ERROR = 2e-15  # of a position, relative to the size, after free motion
PARADOXES = tuple(LABELS.index(f"paradox-{name}") for name in ("2b*", "2b", "2c"))
NORMAL = LABELS.index("normal")


class Meeting(eqx.Module):
    """Two partners at their closest points; the first may be a wall.

    Args:
        separation: Gap, normal (of the first) and closest points.
        motion: Derivatives of the gap in free motion.
        mobility: Change of relative velocity per impulse [kg-1].
        tolerances: What counts as zero.
    """

    separation: Separation
    motion: LocalMotion
    mobility: Array
    tolerances: Tolerances


def meeting(first: Body | Wall, second: Body, gravity: Array) -> Meeting:
    """How two partners face each other now."""
    if isinstance(first, Wall):
        separation = wall_gap(first, second)
        n = separation.normal
        side = body_side(second, separation.point2, -n, jnp.zeros(()), gravity)
        motion = meet(fixed_side(), side, n, separation.gap)
        mobility = body_mobility(second, separation.point2)
        size, turning = second.shape.radius(), _length(second.angular_velocity)
    else:
        separation = gap(first, second)
        motion = local_motion(first, second, separation)
        mobility = body_mobility(first, separation.point1) + body_mobility(second, separation.point2)
        size = first.shape.radius() + second.shape.radius()
        turning = jnp.maximum(_length(first.angular_velocity), _length(second.angular_velocity))
    return Meeting(separation, motion, mobility, tolerances_of(motion, turning, size, LENGTH_ERROR * size))


def _length(vector: Array) -> Array:
    return jnp.sqrt(jnp.sum(vector * vector))


def contact_force(met: Meeting) -> Array:
    """Force that keeps the gap closed, > 0 while the partners press on each other [N]."""
    n = met.separation.normal
    return -met.motion.a_eff / (n @ met.mobility @ n)


def push(first: Body | Wall, second: Body, met: Meeting, impulse: Array) -> tuple[Body | Wall, Body]:
    """Both partners after an impulse on the second and its opposite on the first."""
    points = met.separation
    if not isinstance(first, Wall):
        first = first.kicked(-impulse, points.point1 - first.center)
    return first, second.kicked(impulse, points.point2 - second.center)


def relative_velocity(first: Body | Wall, second: Body, met: Meeting) -> Array:
    """Velocity of the second's contact point relative to the first's."""
    velocity = velocity_at(second, met.separation.point2)
    return velocity if isinstance(first, Wall) else velocity - velocity_at(first, met.separation.point1)


class Resolved(eqx.Module):
    """A touch and what came of it.

    Args:
        first: First partner after.
        second: Second partner after.
        code: Kind of the touch, an index into `contacts.LABELS`.
        impulse: Impulse on the second [N s].
        stays: Whether the partners stay in contact.
        force_rate: Initial rate of the contact force if they stay [N s-1].
        escape: Time after which the gap is surely open, if they do not stay [s].
        before: The meeting before.
        after: The meeting after.
    """

    first: Body | Wall
    second: Body
    code: Array
    impulse: Array
    stays: Array
    force_rate: Array
    escape: Array
    before: Meeting
    after: Meeting


def resolve(
    first: Body | Wall, second: Body, law: AbstractImpactLaw, gravity: Array, settle_speed: Array, sustain: bool
) -> Resolved:
    """Classify a touch, apply the law of impact if the partners approach, decide whether they stay.

    They stay in contact if free motion would drive them into each other at once: in a paradox
    (with `sustain`), or after a bounce slower than `settle_speed` that the next one would follow.
    """
    met = meeting(first, second, gravity)
    code = code_of(met.motion, met.tolerances)
    n = met.separation.normal
    velocity = relative_velocity(first, second, met)
    impulse = jnp.where(code == NORMAL, law.impulse(velocity, n, met.mobility), 0.0)
    hit = push(first, second, met, impulse)
    then = meeting(*hit, gravity)
    paradox = jnp.any(code == jnp.asarray(PARADOXES))
    slow = (then.motion.v <= settle_speed) & (then.motion.v >= -jnp.maximum(settle_speed, then.tolerances.v))
    presses = then.motion.a_eff < -then.tolerances.a_eff
    stays = slow & (presses | paradox)
    if not sustain:
        stays = stays & ~paradox
    # What is left of the normal velocity is taken out; its energy is below settle_speed^2 / (2 n.M n).
    calm = jnp.where(stays, -(n @ relative_velocity(*hit, then)) / (n @ then.mobility @ n), 0.0) * n
    ended = push(*hit, then, calm)
    return Resolved(
        *ended,
        code,
        impulse + calm,
        stays,
        -met.motion.gap3 / (n @ met.mobility @ n),
        escape_time(then.motion, met.tolerances),
        met,
        then,
    )


def escape_time(motion: LocalMotion, tolerances: Tolerances) -> Array:
    """When a gap that opens with these derivatives has surely left the level of rounding.

    The gap is to exceed a thousand times the tolerance that `tolerances` was made with, by the
    terms of third order; what comes after is left to the search for the next contact.
    """
    speed = jnp.maximum(_length(motion.u), 1e-300)
    unit = jnp.exp2(-30.0 + jnp.arange(24.0)) / jnp.maximum(_length(motion.w) + speed, 1.0)
    opened = unit * (motion.v + unit * (motion.a_eff / 2.0 + unit * motion.gap3 / 6.0))
    enough = opened > 1e-12
    return jnp.where(jnp.any(enough), unit[jnp.argmax(enough)], 0.0)


@eqx.filter_jit
def resolve_compiled(first, second, law, gravity, settle_speed, sustain: bool) -> Resolved:
    """`resolve`, compiled once per kind of shape and law."""
    return resolve(first, second, law, gravity, settle_speed, sustain)


def free_rates(body: Body, gravity: Array) -> tuple[Array, Array, Array]:
    """Rates of velocity, quaternion and angular velocity in free motion."""
    torque = jnp.cross(body.angular_velocity, body.angular_momentum())
    turning = rotation.rate_of_quaternion(body.quaternion, body.angular_velocity)
    return gravity, turning, -body.inverse_inertia() @ torque


def pushed_rates(body: Body, force: Array, point: Array) -> tuple[Array, Array]:
    """Accelerations that a force at a point adds."""
    return force / body.mass, body.inverse_inertia() @ jnp.cross(point - body.center, force)


def stacked_row(tree, index: Array):
    """One row of a stacked tree."""
    return jax.tree.map(lambda leaf: leaf[index], tree)
