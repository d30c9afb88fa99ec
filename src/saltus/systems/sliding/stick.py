"""Masses at rest: which of them are held by friction, and how the others start to move."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saltus.links import Rods
from saltus.numerics import components
from saltus.numerics.components import Vec
from saltus.numerics.elimination import solve
from saltus.numerics.trees import choose
from saltus.systems.sliding.contact import SLIP, STICK, Forces, Places, forces, rod_geometry

PerMass = Float[Array, " n"]

STILL = 1e-9  # share of g below which an acceleration from rest counts as none
SHARED_UP_TO = 64  # rods; above, forces between held masses are not optimised (see `held_margin`)


class Onset(eqx.Module):
    """How masses at rest go on: held, or with this acceleration; and the reactions of the surface then."""

    held: Bool[Array, " n"]
    motion: Vec
    normal_force: PerMass


def onset(
    where: Places, rods: Rods, mode, mass: PerMass, mu: PerMass, mu_signed: PerMass, gravity, resting: Bool[Array, " n"]
) -> Onset:
    """Which of the `resting` masses friction holds, and the accelerations of the others.

    Static friction is any tangential force up to mu |N|; a mass that starts has friction mu |N|
    against its acceleration. Both, with the rod forces, solve one convex problem for given N:
    the friction forces f = project(f - m a(f)) onto their discs, found by accelerated projected
    gradient steps while the discs follow N.
    """
    moving_mode = jnp.where(resting, SLIP, mode)
    scale = jnp.max(mass) * gravity
    none = components.zeros(mass.shape)

    def answer(friction: Vec) -> Forces:
        return forces(where, rods, moving_mode, mass, mu_signed, gravity, applied=friction)

    def improve(friction: Vec, now: Forces) -> Vec:
        disc = _into_disc(friction - now.motion * mass, mu * jnp.abs(now.normal_force))
        return choose(resting, disc, none)

    def step(carry):
        """One step nearer; the last only looks where friction has led, so that the forces stand once in the program."""
        friction, ahead, momentum, change, n, *_ = carry
        last = ~((change > 1e-15 * scale) & (n < 20_000))
        ahead = choose(last, friction, ahead)
        now = answer(ahead)
        new = improve(ahead, now)
        # Momentum that points uphill is dropped (adaptive restart): steady convergence to rounding level.
        moved = new - friction
        restart = jnp.sum((ahead - new).dot(moved)) > 0.0
        faster = jnp.where(restart, 1.0, 0.5 * (1.0 + jnp.sqrt(1.0 + 4.0 * momentum**2)))
        ahead = new + moved * jnp.where(restart, 0.0, (momentum - 1.0) / faster)
        return new, ahead, faster, jnp.max(moved.length()), n + 1, now.motion, now.normal_force, last

    begin = none, none, jnp.asarray(1.0), jnp.asarray(jnp.inf), jnp.asarray(0), none, jnp.zeros_like(mass)
    *_, motion, reaction, _ = jax.lax.while_loop(lambda carry: ~carry[-1], step, (*begin, jnp.asarray(False)))
    return Onset(resting & (motion.length() <= STILL * gravity), motion, reaction)


def _into_disc(force: Vec, radius: PerMass) -> Vec:
    """Each force, shortened to the radius where it is longer."""
    size = force.length()
    too_long = size > radius
    return force * jnp.where(too_long, radius / jnp.where(too_long, size, 1.0), 1.0)


def held_margin(where: Places, rods: Rods, mode, mass: PerMass, mu: PerMass, gravity, now: Forces) -> PerMass:
    """How far each held mass is from being torn loose, mu |N| - |load|, over its weight.

    The force in a rod between two held masses is indeterminate; such masses are held as long as
    some force in it keeps them all, so they share the largest possible smallest margin. In
    networks of more than 64 rods these forces are taken as zero, which may let go too early.
    """
    margin = _margin(mu, mass * gravity, now.normal_force, now.load)
    if len(rods) < 2 or len(rods) > SHARED_UP_TO:
        return margin
    held = mode == STICK
    locked = held[rods.first] & held[rods.second]
    members = jnp.zeros(rods.n_masses, bool).at[rods.first].max(locked).at[rods.second].max(locked)
    direction = rod_geometry(rods, where.position).direction

    def shared_margin(_):
        # All that the forces in locked rods do is linear in them: what each does, in units of the largest weight.
        pulls = jax.vmap(lambda forces: rods.pull(forces, direction))(jnp.diag(locked * jnp.max(mass) * gravity))
        grip = _Grip(
            now.normal_force, now.load, -where.normal.dot(pulls), where.along_surface(pulls), mu, mass * gravity
        )
        return jnp.where(members, _largest_smallest(grip, members), margin)

    return jax.lax.cond(locked.any(), shared_margin, lambda _: margin, None)


def _margin(mu, weight, normal_force, load: Vec) -> PerMass:
    return (mu * jnp.abs(normal_force) - load.length()) / weight


class _Grip(NamedTuple):
    """Reaction and load of each mass, their slopes by the force in each rod, and what friction makes of them."""

    reaction: PerMass
    load: Vec
    reaction_slope: Float[Array, "r n"]
    load_slope: Vec
    mu: PerMass
    weight: PerMass

    def under(self, x: Float[Array, "... r"]) -> tuple[Array, Vec]:
        """Reactions and loads with these forces in the rods."""
        return self.reaction + x @ self.reaction_slope, self.load + self.load_slope.map(lambda part: x @ part)

    def margins(self, x: Float[Array, "... r"]) -> Float[Array, "... n"]:
        """How far each mass is from being torn loose, over its weight: a concave function."""
        return _margin(self.mu, self.weight, *self.under(x))

    def slope_and_bend(self, x: Float[Array, " r"], members, width) -> tuple[Array, Array]:
        """Gradient and second derivatives of the smooth minimum of the margins, -width log sum exp(-margin / width)."""
        reaction, load = self.under(x)
        inverse = load.inverse_length()
        share = jax.nn.softmax(jnp.where(members, -self.margins(x) / width, -jnp.inf))
        along = (load * inverse).dot(self.load_slope)
        slopes = (self.mu * jnp.sign(reaction) * self.reaction_slope - along) / self.weight
        slope = slopes @ share
        turned = share * inverse / self.weight
        loads = sum((part * turned) @ part.T for part in self.load_slope)
        bend = (along * turned) @ along.T - loads
        return slope, bend - ((slopes * share) @ slopes.T - jnp.outer(slope, slope)) / width


def _largest_smallest(grip: _Grip, members) -> Array:
    """Largest over all forces in the rods of the smallest margin: Newton on a smooth minimum that gets sharper."""
    n = len(grip.reaction_slope)

    def smooth_minimum(x, width):
        return -width * jax.nn.logsumexp(jnp.where(members, -grip.margins(x) / width, -jnp.inf), axis=-1)

    def sharpen(x, width):
        def improve(x, _):
            slope, bend = grip.slope_and_bend(x, members, width)
            step = solve(bend - 1e-9 * jnp.eye(n), -slope)
            tries = x + jnp.array([1.0, 0.3, 0.1, 0.01, 0.0])[:, None] * jnp.where(jnp.isfinite(step), step, 0.0)
            values = smooth_minimum(tries, width)
            return tries[jnp.argmax(jnp.where(jnp.isfinite(values), values, -jnp.inf))], None

        return jax.lax.scan(improve, x, None, length=6)[0], None

    x, _ = jax.lax.scan(sharpen, jnp.zeros(n), 0.1 * 0.3 ** jnp.arange(24.0))
    return jnp.min(jnp.where(members, grip.margins(x), jnp.inf))
