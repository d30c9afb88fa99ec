"""When two freely moving bodies first touch."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.contacts.advance import Agility, safe_step, sphere_entry
from saltus.contacts.gap import Separation, ascend, gap, separation_of, start_direction
from saltus.contacts.local import local_motion
from saltus.contacts.pair import Facing, Pair, face, follow_contact
from saltus.numerics.components import Turn, Vec
from saltus.numerics.rotation import TurnSum, continue_turn
from saltus.programs import brief_program, prepare
from saltus.programs.arrays import numbers
from saltus.shapes.body import Body

# A gap below this fraction of the size counts as a touch (rounding of the gap itself is 3e-16).
TOUCH = 4e-15
MAX_STEPS = 20000
POLISH_ROUNDS = 4
NEWTON_ROUNDS = 8


class FirstContact(eqx.Module):
    """The first touch of two bodies, or the certificate that there is none.

    Args:
        happens: Whether they touch before the end of the search.
        time: When [s]; the end of the search if they do not touch, or how far it came if it is not certified.
        body1: First body at the contact; without one, where the search last looked.
        body2: Second body there.
        separation: Gap, normal and closest points there.
        n_steps: Safe steps that were taken.
        certified: Whether the whole time was covered by safe steps; False only after `MAX_STEPS`
            or in a motion that is not finite.
        first_width: Gap where the search first looked; infinite if it had no need to [m].
    """

    happens: Array
    time: Array
    body1: Body
    body2: Body
    separation: Separation
    n_steps: Array
    certified: Array
    first_width: Array


def first_contact(body1: Body, body2: Body, until: Array | float, *, begin: Array | float = 0.0) -> FirstContact:
    """The first time in [begin, until] at which two freely moving bodies touch.

    The search advances by steps during which a slab between the bodies provably stays open
    (`contacts.advance`), so no contact is missed, however short or grazing; the contact itself
    is then found with the derivatives of the gap. Bodies that touch at the start and are
    leaving each other are followed until they touch again. A pass closer than 4e-15 of the size (the sum of the
    radii) counts as a touch. The certificate holds to rounding of the motion as `Body.after` computes it: a grazing dip
    deeper than 5e-13 of the size is found, a shallower one may pass for none; six passes of a needle and a plate are
    told apart at 3e-14 of the size. A common acceleration (gravity) changes nothing. A motion that is not finite is
    not certified.

    Args:
        body1: First body, at time 0.
        body2: Second body, at time 0.
        until: End of the search [s].
        begin: Start of the search [s].
    """
    return locate_contact(body1, body2, until, seek(body1, body2, until, begin=begin))


def seek(body1: Body, body2: Body, until: Array | float, *, begin: Array | float = 0.0) -> ContactSearch:
    """The safe steps of `first_contact`, which tell whether there is a contact; where exactly, `locate_contact` finds.

    Two programs: a run in which nothing touches any more needs the first alone.
    """
    # Many at once are traced by who asks for them: then the rotation is computed in a way that is quick in batches.
    alone = not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((body1, body2, until, begin)))
    return _seek(body1, body2, numbers(until), numbers(begin), alone)


def prepare_seek(body1: Body, body2: Body) -> None:
    """Have the program of `seek` made by a second thread, for bodies like these."""
    prepare(_seek, body1, body2, numbers(0.0), numbers(0.0), True)


def locate_contact(body1: Body, body2: Body, until: Array | float, sought: ContactSearch) -> FirstContact:
    """What was sought, to rounding."""
    return _locate_contact(body1, body2, numbers(until), sought)


class ContactSearch(eqx.Module):
    """Where a search has come to.

    Args:
        t: When that is [s].
        made: The turns of both bodies until then.
        seen: How the bodies face each other there.
        n_steps: Safe steps that were taken.
        reached: Whether the bodies touch there, to within rounding.
        over: Whether the time was over before.
        first_width: Gap where the search first looked [m].
    """

    t: Array
    made: TurnSum
    seen: Facing
    n_steps: Array
    reached: Array
    over: Array
    first_width: Array


@brief_program
def _seek(body1: Body, body2: Body, until: Array, begin: Array, compact: bool) -> ContactSearch:
    return _search((body1, body2), begin, until, (Agility.of(body1), Agility.of(body2)), compact)


@brief_program
def _locate_contact(body1: Body, body2: Body, until: Array, sought: ContactSearch) -> FirstContact:
    reached, over = sought.reached, sought.over
    t, moved, separation = _polish((body1, body2), sought)
    time = jnp.where(over, until, t)
    return FirstContact(reached, time, *moved, separation, sought.n_steps, reached | over, sought.first_width)


class Flight(eqx.Module):
    """Orientations and angular velocities of both bodies at a time; the rest moves in straight lines."""

    t: Array
    quaternions: Array
    omegas: Array

    def pair(self, bodies: tuple[Body, Body]) -> Pair:
        """The two shapes as they lie now."""
        one, two = bodies
        first, second = (Turn.of_quaternion(self.quaternions[i]) for i in (0, 1))
        return Pair(one.shape, two.shape, first, second, offset_at(bodies, self.t))

    def rate(self, bodies: tuple[Body, Body], pair: Pair, seen: Facing) -> Array:
        """Rate of the slab's width along a fixed direction."""
        one, two = Vec.of(self.omegas[0]), Vec.of(self.omegas[1])
        turning = two.cross(seen.point2 - pair.offset) - one.cross(seen.point1)
        return seen.n.dot(relative_velocity(bodies) + turning)


class Course(eqx.Module):
    """The free rotations of two bodies from the time 0 on: orientations and what stays as it is."""

    quaternions: Array
    inertias: Array
    momenta: Array

    @staticmethod
    def of(bodies: tuple[Body, Body]) -> Course:
        """Of the bodies as they are given."""
        parts = ([body.quaternion, body.inertia, body.angular_momentum()] for body in bodies)
        return Course(*(jnp.stack(both) for both in zip(*parts, strict=True)))

    def start(self) -> TurnSum:
        """No turn of either."""
        return jax.tree.map(lambda part: jnp.stack([part, part]), TurnSum.zero())

    def go_on(self, made: TurnSum, duration: Array, compact: bool) -> TurnSum:
        """The turns a while later.

        As sums from the start on: near a grazing pass the roundings of thousands of steps would add up.
        """

        def turn(made, q, inertia, momentum):
            return continue_turn(made, q, inertia, momentum, duration, compact)

        return jax.vmap(turn)(made, self.quaternions, self.inertias, self.momenta)

    def flight(self, t: Array, made: TurnSum) -> Flight:
        """The flight at a time, after these turns."""
        return Flight(t, *jax.vmap(TurnSum.motion)(made, self.quaternions, self.inertias, self.momenta))


def land(bodies: tuple[Body, Body], flight: Flight) -> tuple[Body, Body]:
    """The two bodies at the time of the flight."""
    motions = zip(bodies, flight.quaternions, flight.omegas, strict=True)
    one, two = (body.with_motion(body.center + flight.t * body.velocity, body.velocity, q, w) for body, q, w in motions)
    return one, two


def offset_at(bodies: tuple[Body, Body], t: Array) -> Vec:
    """From the first centre to the second."""
    one, two = bodies
    return Vec.of(two.center - one.center) + relative_velocity(bodies) * t


def relative_velocity(bodies: tuple[Body, Body]) -> Vec:
    """Velocity of the second centre relative to the first."""
    return Vec.of(bodies[1].velocity - bodies[0].velocity)


def _search(bodies, begin: Array, until: Array, agility, compact: bool = False) -> ContactSearch:
    """Safe steps until the gap closes to within rounding or time is over; where, and how it ended."""
    reach = agility[0].radius + agility[1].radius
    touch = TOUCH * reach
    velocity = relative_velocity(bodies)
    # A rate below rounding of the velocities cannot open a closed gap.
    still = 1e-14 * (velocity.norm() + sum(one.turning * one.radius for one in agility))
    course = Course.of(bodies)

    def going(carry):
        ahead, *_, k, closed, over, _ = carry
        return ~closed & ~over & (k < MAX_STEPS) & ~jnp.isnan(ahead)

    def step(carry):
        ahead, t, made, seen, k, _, _, first = carry
        later = t + ahead
        made = course.go_on(made, later - t, compact)
        flight = course.flight(later, made)
        pair = flight.pair(bodies)
        seen = ascend(pair, face(pair, seen.n), quick=3)
        closed = (seen.width <= touch) & (flight.rate(bodies, pair, seen) <= still)
        omegas = (Vec.of(flight.omegas[0]), Vec.of(flight.omegas[1]))
        ahead = safe_step(pair, seen, velocity, omegas, agility)
        ahead = jnp.maximum(ahead, sphere_entry(pair.offset, velocity, reach))
        over = later + ahead >= until
        # Under vmap a finished pair goes on with empty steps until all are finished.
        first = jnp.where(k == 0, seen.width, first)
        return jnp.where(over | closed, 0.0, ahead), later, made, seen, k + 1, closed, over, first

    t, made = jnp.zeros(()), course.start()
    pair = course.flight(t, made).pair(bodies)
    seen = face(pair, start_direction(pair))
    never = begin + sphere_entry(offset_at(bodies, begin), velocity, reach) >= until
    carry = (begin, t, made, seen, jnp.zeros((), int), jnp.zeros((), bool), never, jnp.full((), jnp.inf))
    _, t, made, seen, k, closed, over, first = jax.lax.while_loop(going, step, carry)
    return ContactSearch(t, made, seen, k, closed & (t <= until), over | (t > until), first)


def _polish(bodies, sought: ContactSearch) -> tuple[Array, tuple[Body, Body], Separation]:
    """The zero of the gap next to where a search has come, from its first three derivatives, and everything there."""
    course = Course.of(bodies)

    def improve(_, carry):
        t, made, points, change, *_ = carry
        made = course.go_on(made, change, compact=True)
        flight = course.flight(t + change, made)
        moved, pair = land(bodies, flight), flight.pair(bodies)
        n, one, two = follow_contact(pair, *points)
        separation = separation_of(moved[0], n, one, two, face(pair, n).width)
        local = local_motion(*moved, separation)
        change = cubic_zero(separation.gap, local.v, local.a_eff, local.gap3)
        return flight.t, made, (one, two), jnp.where(sought.reached, change, 0.0), moved, separation

    zero = jnp.zeros(())
    none = Separation(zero, jnp.zeros(3), jnp.zeros(3), jnp.zeros(3), zero)
    carry = (sought.t, sought.made, (sought.seen.point1, sought.seen.point2), zero, bodies, none)
    t, *_, moved, separation = jax.lax.fori_loop(0, POLISH_ROUNDS, improve, carry)
    return t, moved, separation


def cubic_zero(g: Array, v: Array, a: Array, j: Array) -> Array:
    """The zero of g + v s + a s^2 / 2 + j s^3 / 6 next to s = 0; the lowest point if it misses zero.

    Newton's method from s = 0 with as many steps as a triple zero needs.
    """

    def newton(_, s):
        value = g + s * (v + s * (a / 2.0 + s * j / 6.0))
        slope = v + s * (a + s * j / 2.0)
        bend = a + s * j
        # Where the parabola at s misses zero, go to its vertex instead.
        misses = slope * slope < 2.0 * value * bend
        down = -value / jnp.where(slope == 0.0, jnp.inf, slope)
        vertex = -slope / jnp.where(bend == 0.0, jnp.inf, bend)
        return s + jnp.where(misses & (bend > 0.0), vertex, down)

    return jax.lax.fori_loop(0, 80, newton, jnp.zeros_like(g))


def closest_approach(body1: Body, body2: Body, until: float, *, samples: int = 512) -> tuple[float, float]:
    """Time and value of the smallest gap in [0, until], sampled and then polished.

    Two approaches closer together in time than until / samples may be taken for one.
    """

    def there(t):
        moved = body1.after(t), body2.after(t)
        return (*moved, gap(*moved))

    times = np.linspace(0.0, float(until), samples)
    time = times[np.argmin([float(there(t)[2].gap) for t in times])]
    for _ in range(NEWTON_ROUNDS):
        local = local_motion(*there(time))
        rate, bend = float(local.v), float(local.a_eff)
        time = min(max(time - (rate / bend if bend > 0.0 else 0.0), 0.0), float(until))
    return float(time), float(there(time)[2].gap)
