"""When a body in contact meets another that it does not touch yet: certified steps along both ways.

A body in contact does not move in closed form, but how far its velocity and acceleration stray in the present step is
known from the stages of that step. With a factor in hand they bound how fast a slab between two bodies can close.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.contacts.advance import Agility, glide, longest_step
from saltus.contacts.first_contact import TOUCH
from saltus.contacts.gap import ascend, start_direction
from saltus.contacts.pair import Pair, face
from saltus.contacts.wall import wall_gap
from saltus.numerics.components import Turn, Vec
from saltus.programs import program
from saltus.shapes.body import Body
from saltus.systems.bodies.columns import CLOCK, TURNING, VELOCITY, rows_in
from saltus.systems.bodies.state import motion_of, place_of

MARGIN = 2.0  # on what the stages of a step show of accelerations
CHUNK = 8  # contacts that are looked at together: one size, so that one program is compiled
LOOKS = 300  # after which the rest of a step is left to the next search


class Bounds(eqx.Module):
    """How fast a body can move for the time being.

    Args:
        turning: Bound of the angular speed [rad s-1].
        bending: Bound of the second derivative of a lab direction seen from the body [s-2].
        push: Bound of the acceleration of the centre [m s-2].
        stray: Bound of how far the velocity of a surface point strays from that of steady motion [m s-1].
        swing: `bending` of steady rotation alone [s-2].
    """

    turning: np.ndarray
    bending: np.ndarray
    push: np.ndarray
    stray: np.ndarray
    swing: np.ndarray


def free_bounds(plan, member: int, v: np.ndarray) -> tuple[float, ...]:
    """Bounds for a body in free motion."""
    a, b, c = inertia = plan.inertia[member]
    ratio = max(abs(b - c) / a, abs(c - a) / b, abs(a - b) / c) / np.sqrt(3.0)
    # The kinetic energy of rotation is known only with the orientation; |L| >= I_min |omega| serves as well.
    turning = float(np.linalg.norm(motion_of(v).turning) * np.sqrt(inertia.max() / inertia.min()))
    pull = float(np.linalg.norm(plan.gravity))
    bending = turning**2 * (1.0 + ratio)
    return turning, bending, pull, np.inf, bending


def leg_bounds(leg, member: int, radius: float) -> tuple[float, ...]:
    """Bounds for a body of a band in its present step."""
    place = leg.band.members.index(member)
    count = len(leg.band.members)
    rows = np.array([rows_in(y, count)[place] for y, _ in leg.stages])
    rates = np.array([rows_in(rate, count)[place] for _, rate in leg.stages])
    kappa = np.maximum(np.array([rate[CLOCK] for _, rate in leg.stages]), 1e-300)[:, None]
    velocity, omega = rows[:, VELOCITY], rows[:, TURNING]
    turning = 1.1 * np.linalg.norm(omega, axis=1).max()
    push, twist = (
        MARGIN * np.linalg.norm(part / kappa, axis=1).max() for part in (rates[:, VELOCITY], rates[:, TURNING])
    )
    stray = np.linalg.norm(velocity - velocity[0], axis=1).max()
    stray += radius * np.linalg.norm(omega - omega[0], axis=1).max()
    return turning, turning**2 + twist, push, 2.0 * MARGIN * stray, turning**2


def touches(
    plan, contacts: list, t: float, until: float, paths
) -> tuple[list[tuple[float, tuple]], float, tuple | None]:
    """The first contacts that close, as (time, contact); until when none other does; and one that overlaps, if any.

    Args:
        plan: Of the crowd.
        contacts: Pairs, or walls and bodies.
        t: Time now [s].
        until: End of the search [s].
        paths: How the bodies move.
    """
    bounds = {}
    for member in {i for contact in contacts for i in plan.bodies_of(contact)}:
        leg = paths.leg(member)
        if leg is not None:
            bounds[member] = leg_bounds(leg, member, plan.radius[member])
        else:
            bounds[member] = free_bounds(plan, member, paths.at([member], t)[1][0])
    waits = {contact: t + plan.wait(contact, t) for contact in contacts}
    now, left = t, list(contacts)
    for _ in range(LOOKS):
        members = sorted({i for contact in left for i in plan.bodies_of(contact)})
        q, v = paths.at(members, now, quick=True)
        width, rate, ahead, still, size = _looks(
            plan, left, dict(zip(members, range(len(members)), strict=True)), q, v, bounds
        )
        waiting = np.array([waits[contact] for contact in left])
        deep = (width < -plan.DEEP * size) & (now >= waiting)
        if deep.any():
            return [], now, (left[int(np.argmax(deep))], float(-width[np.argmax(deep)]))
        closed = (width <= TOUCH * size) & (rate <= still) & (now >= waiting)
        if closed.any():
            found = [left[k] for k in np.flatnonzero(closed)]
            return [(_sharpen(plan, contact, t, now, paths, bounds), contact) for contact in found], now, None
        reach = np.maximum(now + ahead, waiting)
        going = reach < until
        if not going.any():
            return [], until, None
        left = [contact for contact, goes in zip(left, going, strict=True) if goes]
        step = float(reach[going].min())
        now = max(step, np.nextafter(now, np.inf))
    return [], now, None


def _sharpen(plan, contact, begin: float, t: float, paths, bounds) -> float:
    """The time of a contact that was found on a sketch of the ways, by Newton's method on the ways themselves."""
    members = plan.bodies_of(contact)
    places = {member: k for k, member in enumerate(members)}
    for _ in range(2):
        q, v = paths.at(members, t)
        width, rate, _, still, _ = _looks(plan, [contact], places, q, v, bounds)[:, 0]
        if rate >= -still:
            break
        t = max(begin, t - width / rate)
    return t


def _looks(plan, contacts, places, q, v, bounds):
    """For each contact: width and rate of the slab, a safe time ahead, the rate that counts as none, the size."""
    found = np.empty((5, len(contacts)))
    walls = np.array([contact[0] >= plan.system.n for contact in contacts])
    for sort in (False, True):
        which = np.flatnonzero(walls == sort)
        for begin in range(0, len(which), CHUNK):
            part = which[begin : begin + CHUNK]
            rows = part[np.minimum(np.arange(CHUNK), len(part) - 1)]
            values = _look(plan, [contacts[k] for k in rows], places, q, v, bounds, sort)
            found[:, part] = values[:, : len(part)]
    return found


def _look(plan, contacts, places, q, v, bounds, of_walls: bool) -> np.ndarray:
    """One look at contacts of one sort: gap, its rate, how long it surely lasts, what of the rate is rounding, size."""
    system = plan.system
    first, second = np.array(contacts, int).T
    two = np.array([places[i] for i in second])
    limits2 = _stack([bounds[i] for i in second])
    if of_walls:
        return np.asarray(_wall_looks(system, first - system.n, second, q[two], v[two], limits2))
    one = np.array([places[i] for i in first])
    place = place_of(q[one])
    shifted = place.replace(centre=place.centre + plan.shift(q[one], q[two])).array()
    limits1 = _stack([bounds[i] for i in first])
    return np.asarray(_pair_looks(system, first, second, shifted, v[one], q[two], v[two], limits1, limits2))


def _stack(bounds: list[tuple[float, ...]]) -> Bounds:
    return Bounds(*np.array(bounds).T)


@program
def _pair_looks(system, first, second, q1, v1, q2, v2, limits1: Bounds, limits2: Bounds):
    """As `_look`, for pairs of bodies, compiled."""

    def one(i, j, q1, v1, q2, v2, b1: Bounds, b2: Bounds):
        bodies = system.at(q1, v1, i), system.at(q2, v2, j)
        pair = Pair.of(*bodies)
        seen = ascend(pair, face(pair, start_direction(pair)))
        velocity = Vec.of(bodies[1].velocity - bodies[0].velocity)
        arm2 = seen.point2 - pair.offset
        omegas = [Vec.of(body.angular_velocity) for body in bodies]
        closing = seen.n.dot(velocity)
        rate = closing + seen.n.dot(omegas[1].cross(arm2) - omegas[0].cross(seen.point1))

        def glides(swings):
            agile = [_agility(body, b, swing) for body, b, swing in zip(bodies, (b1, b2), swings, strict=True)]
            return (
                glide(pair.shape1, pair.turn1, seen.n, seen.point1, omegas[0], agile[0]),
                glide(pair.shape2, pair.turn2, -seen.n, arm2, omegas[1], agile[1]),
            )

        ahead = _ahead(seen.width, rate, closing, (b1, b2), glides)
        size = pair.size()
        still = 1e-14 * (velocity.norm() + b1.turning * pair.shape1.radius() + b2.turning * pair.shape2.radius())
        return jnp.stack([seen.width, rate, ahead, still, size])

    arrays = [jnp.asarray(x) for x in (first, second, q1, v1, q2, v2)]
    each: tuple[Any, ...] = (*arrays, limits1, limits2)
    return jax.vmap(one)(*each).T


@program
def _wall_looks(system, walls, second, q2, v2, limits: Bounds):
    """As `_look`, for walls and bodies, compiled."""

    def one(wall, j, q2, v2, b: Bounds):
        wall, body = system.wall(wall), system.at(q2, v2, j)
        seen = wall_gap(wall, body)
        n, omega = Vec.of(wall.normal), Vec.of(body.angular_velocity)
        arm = Vec.of(seen.point2 - body.center)
        closing = wall.normal @ body.velocity
        rate = closing + n.dot(omega.cross(arm))

        def glides(swings):
            return (
                glide(body.shape, Turn.of_quaternion(body.quaternion), -n, arm, omega, _agility(body, b, swings[0])),
            )

        ahead = _ahead(seen.gap, rate, closing, (b,), glides)
        size = body.shape.radius()
        still = 1e-14 * (jnp.sqrt(jnp.sum(body.velocity**2)) + b.turning * size)
        return jnp.stack([seen.gap, rate, ahead, still, size])

    arrays = [jnp.asarray(x) for x in (walls, second, q2, v2)]
    each: tuple[Any, ...] = (*arrays, limits)
    return jax.vmap(one)(*each).T


def _agility(body: Body, bounds: Bounds, bending) -> Agility:
    return Agility(body.shape.radius(), jnp.asarray(bounds.turning), bending)


def _ahead(width, rate, closing, bounds: tuple[Bounds, ...], glides):
    """A safe time ahead: by what bounds the accelerations, or by what bounds the change of the velocities."""
    push = jnp.asarray(sum(b.push for b in bounds))
    by_push = longest_step(width, rate, closing, -push, glides([b.bending for b in bounds]))
    # Free bodies stray without bound, by their weight: that bound serves where all are in contact, or nothing pulls.
    stray = sum(jnp.where(jnp.isfinite(b.stray), b.stray, 0.0) for b in bounds)
    drawn = jnp.asarray(sum(jnp.where(jnp.isfinite(b.stray), 0.0, b.push) for b in bounds))
    by_stray = longest_step(width, rate - stray, jnp.abs(closing) + stray, -drawn, glides([b.swing for b in bounds]))
    return jnp.maximum(by_push, by_stray)
