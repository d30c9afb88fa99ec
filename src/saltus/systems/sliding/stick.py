"""Masses at rest: which of them are held by friction, and how the others start to move."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saltus.links import Rods
from saltus.numerics import components
from saltus.numerics.components import Vec
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

    def improved(friction: Vec, now: Forces) -> Vec:
        disc = _into_disc(friction - now.motion * mass, mu * jnp.abs(now.normal_force))
        return choose(resting, disc, none)

    def step(carry):
        """One step nearer; the last only looks where friction has led, so that the forces stand once in the program."""
        friction, ahead, momentum, change, n, *_ = carry
        last = ~((change > 1e-15 * scale) & (n < 20_000))
        ahead = choose(last, friction, ahead)
        now = answer(ahead)
        new = improved(ahead, now)
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
    margin = _margin(mass, mu, gravity, now.normal_force, now.load)
    if len(rods) < 2 or len(rods) > SHARED_UP_TO:
        return margin
    held = mode == STICK
    locked = held[rods.first] & held[rods.second]
    members = jnp.zeros(rods.n_masses, bool).at[rods.first].max(locked).at[rods.second].max(locked)
    direction = rod_geometry(rods, where.position).direction

    def with_locked(h):
        pull = rods.pull(jnp.where(locked, h, 0.0), direction)
        reaction = now.normal_force - where.normal.dot(pull)
        return _margin(mass, mu, gravity, reaction, now.load + where.along_surface(pull))

    def shared_margin(_):
        return jnp.where(members, _largest_smallest(with_locked, members, jnp.max(mass) * gravity, len(rods)), margin)

    return jax.lax.cond(locked.any(), shared_margin, lambda _: margin, None)


def _margin(mass, mu, gravity, normal_force, load: Vec) -> PerMass:
    return (mu * jnp.abs(normal_force) - load.length()) / (mass * gravity)


def _largest_smallest(margins, members, unit, n: int):
    """Largest over h of the smallest of the concave `margins(h)`: Newton on a smooth minimum that gets sharper."""

    def smooth_minimum(x, width):
        values = jnp.where(members, margins(unit * x), jnp.inf)
        return -width * jax.nn.logsumexp(-values / width)

    def slope_twice(x, width):
        slope = jax.grad(smooth_minimum)(x, width)
        return slope, slope

    def sharpen(x, width):
        def improve(x, _):
            bend, slope = jax.jacfwd(slope_twice, has_aux=True)(x, width)
            step = jnp.linalg.solve(bend - 1e-9 * jnp.eye(n), -slope)
            tries = x + jnp.array([1.0, 0.3, 0.1, 0.01, 0.0])[:, None] * jnp.where(jnp.isfinite(step), step, 0.0)
            values = jax.vmap(lambda x: smooth_minimum(x, width))(tries)
            return tries[jnp.argmax(jnp.where(jnp.isfinite(values), values, -jnp.inf))], None

        return jax.lax.scan(improve, x, None, length=6)[0], None

    x, _ = jax.lax.scan(sharpen, jnp.zeros(n), 0.1 * 0.3 ** jnp.arange(24.0))
    return jnp.min(jnp.where(members, margins(unit * x), jnp.inf))
