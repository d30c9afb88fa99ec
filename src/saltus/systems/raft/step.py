"""One step of a raft: implicit in the rods and in friction, never gaining energy.

The mean velocity w of a step obeys 2 m (w - v0) / dt = forces, with the end velocity v1 = 2 w - v0. Every force is
taken such that its work over the chord dt w is exactly the change of its energy: gravity acts along z; a rod has the
mean of its two tensions along the mean of its two directions, (d0 + d1) / (l0 + l1); the surface acts across the
chord, along (-s, 1) with the mean slope s for which s · (x1 - x0) = f(x1) - f(x0). Friction mu |N| opposes the chord.
So the energy falls by exactly what friction and damping take, whatever the step and however stiff the rods (the
discrete gradients of Gonzalez 1996). At the end v1 is projected: along the surface, and out of the stretch of rods
too stiff for the step; a projection only takes energy.

Arrays have their components first: (2, n) over the masses, (3, r) over the rods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saltus.numerics import conjugate_gradients

if TYPE_CHECKING:
    from saltus.systems.raft.system import Raft

PerMass = Float[Array, " n"]
Plane = Float[Array, "2 n"]
Space = Float[Array, "3 n"]

TOLERANCE = 1e-9  # force left over in a step, in weights of its mass
SWEEPS = 40  # Newton steps before a step is given up and halved
YIELDING = 20  # Newton steps during which friction follows the rod forces
INNER = 1e-3  # how far the linear solves of a Newton step go
INNER_STEPS = 400
LAST = 1e-10  # how far the linear solve of the end velocities goes
ROUNDING = 16 * 2.2e-16
NOTHING = 1e-300  # keeps the direction of a rod of no length from being NaN
SHORT = 1e-14  # [m²]; shorter chords have the slope at their middle


class Begin(eqx.Module):
    """Where a step begins, and what stays the same during it."""

    x: Plane
    position: Space
    velocity: Space
    rod: Float[Array, "3 r"]  # from second end to first
    length: Float[Array, " r"]
    rest: Float[Array, " r"]
    stiffness: Float[Array, " r"]  # 0 for a broken rod
    viscosity: Float[Array, " r"]  # damping, and that of rods too stiff for the step
    stiff: Float[Array, " r"]  # 0 for rods whose vibrations the step resolves, 1 for rods far too stiff
    gone: Bool[Array, " n"]  # masses that have left the surface and take no part
    duration: Float[Array, ""]


class Trial(eqx.Module):
    """A mean velocity and all that follows from it."""

    chord: Space
    slope: Plane
    rod: Float[Array, "3 r"]  # at the end
    rod_direction: Float[Array, "3 r"]  # mean
    lengthening: Float[Array, " r"]
    push: Float[Array, " r"]  # mean rod force
    left_over: Plane  # generalised force left over without friction
    reaction: PerMass  # size of the reaction of the surface
    end: Plane


class Step(eqx.Module):
    """The end of a step."""

    x: Plane
    v: Plane
    stuck: Bool[Array, " n"]
    dissipated: Float[Array, ""]
    solved: Bool[Array, ""]


def lift(slope: Plane, u: Plane) -> Space:
    """Vectors along planes of these slopes with these horizontal components."""
    return jnp.concatenate([u, jnp.sum(slope * u, axis=0)[None]])


def drop(slope: Plane, force: Space) -> Plane:
    """Generalised force: what a force does along the plane, per horizontal component."""
    return force[:2] + slope * force[2]


def metric(slope: Plane, u: Plane) -> Plane:
    """(1 + s sᵀ) u."""
    return u + slope * jnp.sum(slope * u, axis=0)


def inverse_metric(slope: Plane, u: Plane) -> Plane:
    """The solution of `metric(slope, x) = u`."""
    return u - slope * (jnp.sum(slope * u, axis=0) / (1.0 + jnp.sum(slope * slope, axis=0)))


def begin(raft: Raft, x: Plane, v: Plane, rest, whole, gone, duration) -> Begin:
    """Geometry at the start, and how each rod is treated."""
    z, slope = raft.surface.height(x[0], x[1]), jnp.stack(raft.surface.gradient(x[0], x[1]))
    position = jnp.concatenate([x, z[None]])
    rods, mass = raft.rods, raft.mass
    rod = rods.between(position)
    stiffness = jnp.where(whole, rods.stiffness, 0.0)
    lightness = 1.0 / mass[rods.first] + 1.0 / mass[rods.second]
    ratio = 0.25 * stiffness * lightness * duration**2
    stiff = ratio / (1.0 + ratio)
    viscosity = jnp.where(whole, rods.damping, 0.0) + 0.5 * stiff * stiffness * duration
    length = jnp.sqrt(jnp.sum(rod * rod, axis=0))
    return Begin(x, position, lift(slope, v), rod, length, rest, stiffness, viscosity, stiff, gone, duration)


def attempt(raft: Raft, start: Begin, u: Plane, foreseen: Float[Array, " r"]) -> Trial:
    """Forces at the mean horizontal velocity u.

    The reaction of the surface follows from the rod forces as they were foreseen by the linearised step: while u is
    not yet right, those of stiff rods at u itself are far off, and friction would be so too.
    """
    surface, mass, rods, dt = raft.surface, raft.mass, raft.rods, start.duration
    run = dt * u
    end, middle = start.x + run, start.x + 0.5 * run
    z = surface.height(end[0], end[1])
    slope = jnp.stack(surface.gradient(middle[0], middle[1]))
    rise = z - start.position[2]
    square = jnp.sum(run * run, axis=0)
    missed = (rise - jnp.sum(slope * run, axis=0)) / (square + SHORT)
    slope = slope + missed * run
    chord = jnp.concatenate([u, (rise / dt)[None]])

    rod = rods.between(jnp.concatenate([end, z[None]]))
    length = jnp.sqrt(jnp.sum(rod * rod, axis=0))
    direction = (start.rod + rod) / (start.length + length)
    # The difference of two lengths, without the loss of digits.
    lengthening = jnp.sum((rod - start.rod) * direction, axis=0)
    push = -start.stiffness * (start.length - start.rest + 0.5 * lengthening) - start.viscosity * lengthening / dt
    pull = rods.at_masses(direction * push)

    weight = slope * (mass * raft.gravity)
    left_over = drop(slope, 2.0 * mass / dt * (chord - start.velocity) - pull) + weight
    upward = jax.lax.rsqrt(1.0 + jnp.sum(slope * slope, axis=0))
    fxx, fxy, fyy = surface.curvature(middle[0], middle[1])
    bend = (u[0] ** 2 * fxx + 2.0 * u[0] * u[1] * fxy + u[1] ** 2 * fyy) * upward
    pull = rods.at_masses(direction * foreseen)
    across = (pull[2] - jnp.sum(slope * pull[:2], axis=0)) * upward
    reaction = jnp.abs(mass * (bend + raft.gravity * upward) - across)
    return Trial(chord, slope, rod, direction, lengthening, push, left_over, reaction, end)


class Friction(eqx.Module):
    """What friction makes of a trial: who sticks, and how far the others are from balance."""

    stuck: Bool[Array, " n"]
    target: Plane  # the mean velocity from which to go on
    error: PerMass  # force left over with friction, in weights


def friction(raft: Raft, start: Begin, trial: Trial, u: Plane, scale: PerMass) -> Friction:
    """The law as a projection: a mass sticks if friction can take all that its neighbours let be left over."""
    speed = jnp.sqrt(jnp.sum(u * metric(trial.slope, u), axis=0))
    limit = raft.grip(speed) * trial.reaction / scale
    aim = u - inverse_metric(trial.slope, trial.left_over) / scale
    size = jnp.sqrt(jnp.sum(aim * metric(trial.slope, aim), axis=0))
    stuck = ((size <= limit) & (limit > 0.0)) | start.gone
    target = jnp.where(stuck, 0.0, aim * (1.0 - limit / jnp.where(size > 0.0, size, 1.0)))
    off = u - target
    error = jnp.sqrt(jnp.sum(off * metric(trial.slope, off), axis=0)) * scale
    return Friction(stuck, target, error)


def block_inverse(a, b, d):
    """Inverse of the symmetric 2 x 2 blocks (a, b; b, d), as a function of vectors."""
    determinant = a * d - b * b

    def apply(p: Plane) -> Plane:
        return jnp.stack([d * p[0] - b * p[1], a * p[1] - b * p[0]]) / determinant

    return apply


def rod_blocks(raft: Raft, slope: Plane, direction, weight):
    """Diagonal blocks of the sum over rods of weight (Bᵀe)(Bᵀe)ᵀ."""
    pairs = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    sums = raft.rods.over_masses(jnp.stack([weight * direction[i] * direction[j] for i, j in pairs]))
    exx, exy, eyy, exz, eyz, ezz = sums
    sx, sy = slope
    return (
        exx + 2 * sx * exz + sx * sx * ezz,
        exy + sx * eyz + sy * exz + sx * sy * ezz,
        eyy + 2 * sy * eyz + sy * sy * ezz,
    )


def rod_product(raft: Raft, slope: Plane, direction, weight, p: Plane) -> Plane:
    """The sum over rods of weight (Bᵀe)(Bᵀe)ᵀ times p."""
    stretch = jnp.sum(direction * raft.rods.between(lift(slope, p)), axis=0)
    return drop(slope, raft.rods.at_masses(direction * (weight * stretch)))


def newton(raft: Raft, start: Begin, trial: Trial, u: Plane, rule: Friction) -> tuple[Plane, Float[Array, " r"]]:
    """A better mean velocity and its rod forces: the step linearised, with the masses that stick held."""
    slope, direction = trial.slope, trial.rod_direction
    inertia = 2.0 * raft.mass / start.duration
    weight = 0.5 * start.stiffness * start.duration + start.viscosity
    moves = ~rule.stuck
    resting = jnp.sum(u * u, axis=0) == 0.0
    anchor = jnp.where(rule.stuck, 0.0, jnp.where(resting, rule.target, u))
    heading = metric(slope, anchor)
    speed = jnp.sqrt(jnp.sum(anchor * heading, axis=0))
    inverse_speed = jnp.where(speed > 0.0, 1.0 / jnp.where(speed > 0.0, speed, 1.0), 0.0)
    grip = raft.grip(speed) * trial.reaction * inverse_speed
    turn = heading * inverse_speed

    def smooth(p):
        return inertia * metric(slope, p) + rod_product(raft, slope, direction, weight, p)

    def product(p):
        p = jnp.where(moves, p, 0.0)
        across = grip * (metric(slope, p) - turn * jnp.sum(turn * p, axis=0))
        return jnp.where(moves, smooth(p) + across, 0.0)

    a, b, d = rod_blocks(raft, slope, direction, weight)
    mass_and_grip = inertia + grip
    sx, sy = slope
    inverse = block_inverse(
        a + mass_and_grip * (1 + sx * sx) - grip * turn[0] ** 2,
        b + mass_and_grip * sx * sy - grip * turn[0] * turn[1],
        d + mass_and_grip * (1 + sy * sy) - grip * turn[1] ** 2,
    )
    right = -(trial.left_over + smooth(anchor - u) + grip * heading)
    change = conjugate_gradients.solve(
        product, lambda r: jnp.where(moves, inverse(r), 0.0), jnp.where(moves, right, 0.0), INNER, INNER_STEPS
    )
    after = anchor + change
    # Friction turns nobody round: who would be is tried at rest, from where it may set off either way.
    turned = jnp.sum(after * heading, axis=0) < 0.0
    after = jnp.where((turned & (grip > 0.0)) | rule.stuck, 0.0, after)
    stretched = jnp.sum(direction * raft.rods.between(lift(slope, after - u)), axis=0)
    return after, trial.push - weight * stretched


def solve(raft: Raft, start: Begin, guess: Plane) -> tuple[Plane, Trial, Friction, Bool[Array, ""]]:
    """The mean velocity of a step, by Newton's method with friction as a projection."""
    weight = 0.5 * start.stiffness * start.duration + start.viscosity
    scale = 2.0 * raft.mass / start.duration + raft.rods.over_masses(weight)
    farthest = jnp.max(jnp.abs(start.position))
    allowed = TOLERANCE * raft.mass * raft.gravity + ROUNDING * scale * farthest / start.duration

    def look(u, foreseen):
        trial = attempt(raft, start, u, foreseen)
        return trial, friction(raft, start, trial, u, scale)

    def improve(u, foreseen, trial, rule, sweep):
        u, update = newton(raft, start, trial, u, rule)
        # Where rods and friction drive each other up (a locked raft), the reaction is left as it was in the end.
        return u, jnp.where(sweep <= YIELDING, update, foreseen)

    def body(carry):
        u, foreseen, trial, rule, _, sweep = carry
        # The first sweep looks at the guess; so what is looked at stands once in the program.
        u, foreseen = jax.lax.cond(
            sweep == 0, lambda u, foreseen, *_: (u, foreseen), improve, u, foreseen, trial, rule, sweep
        )
        trial, rule = look(u, foreseen)
        return u, foreseen, trial, rule, jnp.all(rule.error <= allowed), sweep + 1

    def going(carry):
        return ~carry[-2] & (carry[-1] <= SWEEPS)

    foreseen = -start.stiffness * (start.length - start.rest)
    nothing = jax.tree.map(jnp.zeros_like, jax.eval_shape(look, guess, foreseen))
    first = (guess, foreseen, *nothing, jnp.asarray(False), 0)
    u, _, trial, rule, solved, _ = jax.lax.while_loop(going, body, first)
    return u, trial, rule, solved


def settle(raft: Raft, start: Begin, trial: Trial, stuck) -> Plane:
    """End velocities along the surface, out of the stretch of rods that are too stiff for the step."""
    end_velocity = 2.0 * trial.chord - start.velocity
    rod, slope = trial.rod, jnp.stack(raft.surface.gradient(trial.end[0], trial.end[1]))
    direction = rod * jax.lax.rsqrt(jnp.sum(rod * rod, axis=0) + NOTHING)
    weight = start.stiffness * start.duration**2 * start.stiff
    moves = ~stuck

    def product(p):
        p = jnp.where(moves, p, 0.0)
        whole = raft.mass * metric(slope, p) + rod_product(raft, slope, direction, weight, p)
        return jnp.where(moves, whole, 0.0)

    a, b, d = rod_blocks(raft, slope, direction, weight)
    sx, sy = slope
    inverse = block_inverse(a + raft.mass * (1 + sx * sx), b + raft.mass * sx * sy, d + raft.mass * (1 + sy * sy))
    # From the plain projection on the surface: rods then only take what is left of their stretching.
    plain = jnp.where(moves, inverse_metric(slope, drop(slope, end_velocity)), 0.0)
    right = jnp.where(moves, -rod_product(raft, slope, direction, weight, plain), 0.0)
    return plain + conjugate_gradients.solve(
        product, lambda r: jnp.where(moves, inverse(r), 0.0), right, LAST, INNER_STEPS
    )


def step(raft: Raft, x: Plane, v: Plane, rest, whole, gone, duration) -> Step:
    """One step of the raft, and how much energy it took."""
    start = begin(raft, x, v, rest, whole, gone, duration)
    _, trial, rule, solved = solve(raft, start, v)
    stuck = rule.stuck
    v_end = settle(raft, start, trial, stuck)
    slope = jnp.stack(raft.surface.gradient(trial.end[0], trial.end[1]))
    before, after = 2.0 * trial.chord - start.velocity, lift(slope, v_end)
    lost = 0.5 * jnp.sum(raft.mass * (jnp.sum(before * before, axis=0) - jnp.sum(after * after, axis=0)))
    speed = jnp.sqrt(jnp.sum(trial.chord * trial.chord, axis=0))
    rubbed = duration * jnp.sum(raft.grip(speed) * trial.reaction * speed)
    damped = jnp.sum(start.viscosity * trial.lengthening**2) / duration
    return Step(trial.end, v_end, stuck, rubbed + damped + lost, solved)
