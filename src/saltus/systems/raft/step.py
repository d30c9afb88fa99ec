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
from jaxtyping import Array, Bool, Float, Int

from saltus.links.springs import take, total
from saltus.numerics import conjugate_gradients
from saltus.numerics.components import Sym2

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
    carried_out: Float[Array, ""]  # kinetic energy that they still had
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
    end_slope: Plane  # of the surface at the end


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
    velocity = lift(slope, v)
    carried_out = 0.5 * jnp.sum(jnp.where(gone, mass * jnp.sum(velocity**2, axis=0), 0.0))
    velocity = jnp.where(gone, 0.0, velocity)
    return Begin(x, position, velocity, rod, length, rest, stiffness, viscosity, stiff, gone, carried_out, duration)


def attempt(raft: Raft, start: Begin, u: Plane, foreseen: Float[Array, " r"]) -> Trial:
    """Forces at the mean horizontal velocity u.

    The reaction of the surface follows from the rod forces as they were foreseen by the linearised step: while u is
    not yet right, those of stiff rods at u itself are far off, and friction would be so too.
    """
    surface, mass, rods, dt = raft.surface, raft.mass, raft.rods, start.duration
    run = dt * u
    end, middle = start.x + run, start.x + 0.5 * run
    z, end_slope = surface.height(end[0], end[1]), jnp.stack(surface.gradient(end[0], end[1]))
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
    return Trial(chord, slope, rod, direction, lengthening, push, left_over, reaction, end, end_slope)


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


class Balance(eqx.Module):
    """A linear system of the masses that move: inertia, the stretching of rods, and friction across a heading.

    A rod stretches by `first` per velocity of its first mass, less `second` per that of the other; `rows` is the same
    for the rods of each mass.
    """

    slope: Plane
    first: Float[Array, "2 r"]
    second: Float[Array, "2 r"]
    rows: Float[Array, "2 degree n"]
    weight: Float[Array, " r"]  # force of each rod per stretching
    inertia: PerMass
    grip: PerMass
    heading: Plane  # unit covector
    moves: Bool[Array, " n"]

    @staticmethod
    def of(raft: Raft, slope: Plane, direction: Float[Array, "3 r"], *others) -> Balance:
        """With rods of these directions between masses that move along planes of these slopes."""
        rods = raft.rods
        first, second = (drop(take(slope, end), direction) for end in (rods.first, rods.second))
        rows = rods.sign * drop(slope[:, None], rods.of_each_mass(direction))
        return Balance(slope, first, second, rows, *others)

    def by_rods(self, raft: Raft, p: Plane) -> Plane:
        """The forces on the masses with which the rods resist the velocities p."""
        rods = raft.rods
        stretch = jnp.sum(self.first * take(p, rods.first) - self.second * take(p, rods.second), axis=0)
        return total(self.rows * rods.of_each_mass(self.weight * stretch))

    def solve(self, raft: Raft, right: Plane, tolerance) -> Plane:
        """The velocities that the forces `right` give, those held staying so."""
        held = ~self.moves
        # The blocks of the masses: what each of them does by itself, and with its rods.
        mass_and_grip = self.inertia + self.grip
        (sx, sy), (hx, hy) = self.slope, self.heading
        alone = Sym2(
            mass_and_grip * (1 + sx * sx) - self.grip * hx**2,
            mass_and_grip * sx * sy - self.grip * hx * hy,
            mass_and_grip * (1 + sy * sy) - self.grip * hy**2,
        )
        weight, (x, y) = raft.rods.of_each_mass(self.weight), self.rows
        xx, xy, yy = (total(weight * square) for square in (x * x, x * y, y * y))
        block = Sym2(alone.xx + xx, alone.xy + xy, alone.yy + yy)
        determinant = block.determinant()

        def product(p):
            return jnp.where(held, 0.0, jnp.stack(alone @ (p[0], p[1])) + self.by_rods(raft, p))

        def precondition(r):
            cofactors = Sym2(block.yy, -block.xy, block.xx)
            return jnp.where(held, 0.0, jnp.stack(cofactors @ (r[0], r[1])) / determinant)

        return conjugate_gradients.solve(product, precondition, jnp.where(held, 0.0, right), tolerance, INNER_STEPS)


class Sweep(eqx.Module):
    """Where the search for the motion of a step has come to."""

    u: Plane  # mean velocity
    foreseen: Float[Array, " r"]  # rod forces
    count: Int[Array, ""]
    found: Step  # if it is solved


def sweep(raft: Raft, start: Begin, scale: PerMass, allowed: PerMass, last: Sweep) -> Sweep:
    """Look at a mean velocity. Where it is right, the end of the step follows; where it is not, a better one.

    Either needs one linear system, with the masses that stick held, and its solution stands once in the program. The
    better velocity is that of the linearised step (Newton). The end velocities are along the surface, out of the
    stretch of rods that are too stiff for the step.
    """
    u, mass, dt = last.u, raft.mass, start.duration
    trial = attempt(raft, start, u, last.foreseen)
    rule = friction(raft, start, trial, u, scale)
    solved = jnp.all(rule.error <= allowed)

    resting = jnp.sum(u * u, axis=0) == 0.0
    anchor = jnp.where(rule.stuck, 0.0, jnp.where(resting, rule.target, u))
    along = metric(trial.slope, anchor)
    speed = jnp.sqrt(jnp.sum(anchor * along, axis=0))
    inverse_speed = jnp.where(speed > 0.0, 1.0 / jnp.where(speed > 0.0, speed, 1.0), 0.0)
    grip = raft.grip(speed) * trial.reaction * inverse_speed
    inertia, weight = 2.0 * mass / dt, 0.5 * start.stiffness * dt + start.viscosity
    force = trial.left_over + inertia * metric(trial.slope, anchor - u) + grip * along

    before = 2.0 * trial.chord - start.velocity
    straight = trial.rod * jax.lax.rsqrt(jnp.sum(trial.rod * trial.rod, axis=0) + NOTHING)
    # From the plain projection on the surface: rods then only take what is left of their stretching.
    plain = jnp.where(rule.stuck, 0.0, inverse_metric(trial.end_slope, drop(trial.end_slope, before)))

    balance = Balance.of(
        raft,
        jnp.where(solved, trial.end_slope, trial.slope),
        jnp.where(solved, straight, trial.rod_direction),
        jnp.where(solved, start.stiffness * dt**2 * start.stiff, weight),
        jnp.where(solved, mass, inertia),
        jnp.where(solved, 0.0, grip),
        along * inverse_speed,
        ~rule.stuck,
    )
    origin, offset = jnp.where(solved, plain, anchor), jnp.where(solved, 0.0, u)
    right = -(jnp.where(solved, 0.0, force) + balance.by_rods(raft, origin - offset))
    after = origin + balance.solve(raft, right, jnp.where(solved, LAST, INNER))

    # Friction turns nobody round: who would be is tried at rest, from where it may set off either way.
    turned = jnp.sum(after * along, axis=0) < 0.0
    better = jnp.where((turned & (grip > 0.0)) | rule.stuck, 0.0, after)
    stretched = jnp.sum(trial.rod_direction * raft.rods.between(lift(trial.slope, better - u)), axis=0)
    # Where rods and friction drive each other up (a locked raft), the reaction is left as it was in the end.
    foreseen = jnp.where(last.count < YIELDING, trial.push - weight * stretched, last.foreseen)

    now = lift(trial.end_slope, after)
    lost = 0.5 * jnp.sum(mass * (jnp.sum(before * before, axis=0) - jnp.sum(now * now, axis=0)))
    speed = jnp.sqrt(jnp.sum(trial.chord * trial.chord, axis=0))
    rubbed = dt * jnp.sum(raft.grip(speed) * trial.reaction * speed)
    damped = jnp.sum(start.viscosity * trial.lengthening**2) / dt
    found = Step(trial.end, after, rule.stuck, start.carried_out + rubbed + damped + lost, solved)
    return Sweep(better, foreseen, last.count + 1, found)


def step(raft: Raft, x: Plane, v: Plane, rest, whole, gone, duration) -> Step:
    """One step of the raft, and how much energy it took: Newton's method with friction as a projection."""
    start = begin(raft, x, v, rest, whole, gone, duration)
    weight = 0.5 * start.stiffness * duration + start.viscosity
    scale = 2.0 * raft.mass / duration + raft.rods.over_masses(weight)
    farthest = jnp.max(jnp.abs(start.position))
    allowed = TOLERANCE * raft.mass * raft.gravity + ROUNDING * scale * farthest / duration

    def body(last):
        return sweep(raft, start, scale, allowed, last)

    def going(last):
        return ~last.found.solved & (last.count <= SWEEPS)

    nothing = Step(x, v, gone, jnp.zeros(()), jnp.asarray(False))
    first = Sweep(jnp.where(gone, 0.0, v), -start.stiffness * (start.length - rest), jnp.asarray(0), nothing)
    return jax.lax.while_loop(going, body, first).found
