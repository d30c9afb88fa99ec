"""What happens when two bodies, or a body and a wall, touch."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from saltus.contacts.classify import LABELS, Tolerances, code_of, tolerances_of
from saltus.contacts.gap import Separation, separation
from saltus.contacts.impact import body_mobility, velocity_at
from saltus.contacts.local import LocalMotion, body_side, fixed_side, local_motion, meet
from saltus.contacts.wall import Wall, wall_gap
from saltus.laws.impact import AbstractImpactLaw
from saltus.programs import brief_program
from saltus.shapes.body import Body

LENGTH_ERROR = 2e-15  # of a position, relative to the size, after free motion
PARADOXES = tuple(LABELS.index(f"paradox-{name}") for name in ("2b*", "2b", "2c"))
NORMAL, DEGENERATE = LABELS.index("normal"), LABELS.index("degenerate")


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

    def inertness(self) -> Array:
        """Change of the normal velocity per normal impulse, n . M n [kg-1]."""
        return self.separation.normal @ self.mobility @ self.separation.normal


def meeting(first: Body | Wall, second: Body, separation: Separation, gravity: Array) -> Meeting:
    """How two partners face each other at these closest points."""
    if isinstance(first, Wall):
        n = separation.normal
        side = body_side(second, separation.point2, -n, jnp.zeros(()), gravity)
        motion = meet(fixed_side(), side, n, separation.gap)
        mobility = body_mobility(second, separation.point2)
        size, turning = second.shape.radius(), jnp.linalg.norm(second.angular_velocity)
    else:
        motion = local_motion(first, second, separation)
        mobility = body_mobility(first, separation.point1) + body_mobility(second, separation.point2)
        size = first.shape.radius() + second.shape.radius()
        turning = jnp.maximum(jnp.linalg.norm(first.angular_velocity), jnp.linalg.norm(second.angular_velocity))
    return Meeting(separation, motion, mobility, tolerances_of(motion, turning, size, LENGTH_ERROR * size))


_meeting = brief_program(meeting)
wall_gap_of = brief_program(wall_gap)


def face(first: Body | Wall, second: Body, gravity: Array) -> Meeting:
    """How two partners face each other; compiled once per kind of shape."""
    apart = wall_gap_of(first, second) if isinstance(first, Wall) else separation(first, second)
    return _meeting(first, second, apart, gravity)


def push(first: Body | Wall, second: Body, at: Separation, impulse: Array) -> tuple[Body | Wall, Body]:
    """Both partners after an impulse on the second and its opposite on the first."""
    if not isinstance(first, Wall):
        first = first.with_impulse(-impulse, at.point1 - first.center)
    return first, second.with_impulse(impulse, at.point2 - second.center)


def relative_velocity(first: Body | Wall, second: Body, at: Separation) -> Array:
    """Velocity of the second's contact point relative to the first's."""
    velocity = velocity_at(second, at.point2)
    return velocity if isinstance(first, Wall) else velocity - velocity_at(first, at.point1)


class TouchResult(eqx.Module):
    """A touch and what came of it.

    Args:
        first: First partner after.
        second: Second partner after.
        code: Kind of the touch, an index into `contacts.LABELS`.
        impulse: Impulse on the second [N s].
        energy_loss: Energy that the impulse took away [J].
        stays: Whether the partners stay in contact.
        force_rate: Initial rate of the contact force if they stay [N s-1].
        escape: Time after which the gap is surely open, where its rate does not tell that it opens [s].
        before: The meeting before.
    """

    first: Body | Wall
    second: Body
    code: Array
    impulse: Array
    energy_loss: Array
    stays: Array
    force_rate: Array
    escape: Array
    before: Meeting


def resolve(
    first: Body | Wall, second: Body, law: AbstractImpactLaw, gravity: Array, settle_speed: Array, sustain: bool
) -> TouchResult:
    """Classify a touch, apply the law of impact if the partners approach, decide whether they stay.

    They stay in contact if free motion would drive them into each other at once: in a paradox
    (with `sustain`), or after a bounce slower than `settle_speed` that the next one would follow; and
    if they move along together.
    """
    before = face(first, second, gravity)
    hit, code, impulse = _strike(first, second, before, law)
    after = _meeting(*hit, before.separation, gravity)
    return _conclude((first, second), hit, code, impulse, before, after, settle_speed, sustain)


@brief_program
def _strike(first, second, before: Meeting, law: AbstractImpactLaw):
    """Both partners after the impulse of the law, if they approach; the kind of the touch; the impulse."""
    code = code_of(before.motion, before.tolerances)
    velocity = relative_velocity(first, second, before.separation)
    impulse = law.impulse(velocity, before.separation.normal, before.mobility)
    impulse = jnp.where(code == NORMAL, impulse, 0.0)
    return push(first, second, before.separation, impulse), code, impulse


@brief_program
def _conclude(
    partners, hit, code, impulse, before: Meeting, after: Meeting, settle_speed, sustain: bool
) -> TouchResult:
    """What comes of a touch after its impulse: do the partners part, or stay in contact?

    They stay where they hardly move apart and are pressed together, in a paradox, or move along together.
    """
    n, motion = before.separation.normal, after.motion
    paradox = jnp.any(code == jnp.asarray(PARADOXES))
    slow = jnp.abs(motion.v) <= jnp.maximum(settle_speed, after.tolerances.v)
    presses = motion.a_eff < -after.tolerances.a_eff
    # Bodies that move along together touch on: were they let go, they would be found touching at once, and so forth.
    together = (jnp.abs(motion.v) <= after.tolerances.v) & (code == DEGENERATE)
    stays = slow & (presses | paradox | together)
    if not sustain:
        stays = stays & ~paradox
    # What is left of the normal velocity is taken out; its energy is below settle_speed^2 / (2 n.M n).
    (one, two), (first, second) = partners, hit
    calm = jnp.where(stays, -(n @ relative_velocity(first, second, before.separation)) / before.inertness(), 0.0) * n
    first, second = push(first, second, before.separation, calm)
    impulse = impulse + calm
    escape = escape_time(motion, jnp.maximum(before.separation.gap, 0.0))
    # The work of an impulse is that at the mean of the velocities before and after.
    mean = relative_velocity(one, two, before.separation) + relative_velocity(first, second, before.separation)
    return TouchResult(
        first,
        second,
        code,
        impulse,
        jnp.maximum(-0.5 * impulse @ mean, 0.0),
        stays,
        -before.motion.gap3 / before.inertness(),
        # After an impact the search sees the gap open; bodies that part as they touch come from one that did not.
        jnp.where((motion.v > after.tolerances.v) & (code == NORMAL), 0.0, escape),
        before,
    )


def escape_time(motion: LocalMotion, gap_now: Array) -> Array:
    """When a gap that opens with these derivatives has surely left the level of rounding; 0 if it does not open.

    What comes after is left to the search for the next contact.
    """
    scale = jnp.maximum(jnp.linalg.norm(motion.w) + jnp.linalg.norm(motion.u), 1.0)
    unit = jnp.exp2(-30.0 + jnp.arange(24.0)) / scale
    opened = gap_now + unit * (motion.v + unit * (motion.a_eff / 2.0 + unit * motion.gap3 / 6.0))
    enough = opened > 1e-12
    return jnp.where(jnp.any(enough), unit[jnp.argmax(enough)], 0.0)
