"""Where the masses are, how they touch the surface, and the forces between mass, surface and rods.

Notation as in Tinti & Gallotti (2019), with their misprints corrected: n normal, t unit velocity,
W = sqrt(1 + f_x² + f_y²), kappa = normal part of the acceleration, e rod direction, h rod force
(> 0 pushes the masses apart), N reaction of the surface.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saltus.links import Mobility, Rods
from saltus.surfaces.base import AbstractSurface

Vectors = Float[Array, "n 3"]
PerMass = Float[Array, " n"]
PerRod = Float[Array, " r"]

SLIP, PULLED, STICK, FREE = range(4)
MODE_NAMES = ("slip", "pulled", "stick", "free")


class Places(eqx.Module):
    """Positions and velocities in space, and the surface under each mass."""

    position: Vectors
    velocity: Vectors
    normal: Vectors
    bend: PerMass  # kappa: the acceleration along the normal that keeps a mass on the surface
    slope: PerMass  # W

    @property
    def speed(self) -> PerMass:
        """Speed of each mass [m s-1]; its derivative at rest is zero."""
        square = jnp.sum(self.velocity**2, axis=-1)
        moving = square > 0.0
        return jnp.where(moving, jnp.sqrt(jnp.where(moving, square, 1.0)), 0.0)

    @property
    def heading(self) -> Vectors:
        """Unit velocity of each mass; zero at rest."""
        speed = self.speed
        return self.velocity / jnp.where(speed > 0.0, speed, 1.0)[:, None]


def places(surface: AbstractSurface, q, v, free: Bool[Array, " n"] | None) -> Places:
    """Where the masses are; those not `free` lie on the surface (None: all of them)."""
    x, y = q[:, 0], q[:, 1]
    vx, vy = v[:, 0], v[:, 1]
    fx, fy = surface.gradient(x, y)
    fxx, fxy, fyy = surface.curvature(x, y)
    z, vz = surface.height(x, y), fx * vx + fy * vy
    if free is not None:
        z, vz = jnp.where(free, q[:, 2], z), jnp.where(free, v[:, 2], vz)
    w = jnp.sqrt(1.0 + fx**2 + fy**2)
    return Places(
        position=jnp.stack([x, y, z], axis=-1),
        velocity=jnp.stack([vx, vy, vz], axis=-1),
        normal=jnp.stack([-fx, -fy, jnp.ones_like(fx)], axis=-1) / w[:, None],
        bend=(vx**2 * fxx + 2.0 * vx * vy * fxy + vy**2 * fyy) / w,
        slope=w,
    )


class Forces(eqx.Module):
    """Forces and accelerations at an instant.

    Args:
        rod_force: Force in each rod, > 0 pushes its ends apart; 0 for a rod between held masses [N].
        normal_force: Reaction of the surface along its upward normal [N].
        acceleration: Acceleration of each mass [m s-2].
        load: Force that a held mass must be held against, tangential [N].
        denominator: D of each rod; the problem is well posed while all are > 0 [1/kg].
    """

    rod_force: PerRod
    normal_force: PerMass
    acceleration: Vectors
    load: Vectors
    denominator: PerRod


class Rod(eqx.Module):
    """Length and direction of each rod, from its second end to its first."""

    length: PerRod
    direction: Float[Array, "r 3"]


def rod_geometry(rods: Rods, position: Vectors) -> Rod:
    """Length and direction of each rod."""
    difference = rods.between(position)
    length = jnp.sqrt(jnp.sum(difference**2, axis=-1))
    return Rod(length, difference / length[:, None])


def forces(
    where: Places,
    rods: Rods,
    mode,
    mass: PerMass,
    mu_signed: PerMass,
    gravity,
    applied: Vectors | None = None,
    tangent: bool = False,
) -> Forces:
    """Rod forces, reactions and accelerations from the corrected equations.

    Args:
        where: Positions and velocities.
        rods: The network.
        mode: Mode of each mass.
        mass: Masses [kg].
        mu_signed: Friction coefficient times the sign with which the reaction enters it.
        gravity: Acceleration of gravity [m s-2].
        applied: Further force on each mass, tangential; used for static friction [N].
        tangent: Part 1 of the paper: normal parts of the rod forces neglected.
    """
    held, free = mode == STICK, mode == FREE
    touching = (~free)[:, None]
    n = jnp.where(touching, where.normal, 0.0)
    c = jnp.where(touching, where.normal - mu_signed[:, None] * where.heading, 0.0)
    weight = jnp.array([0.0, 0.0, -1.0]) * gravity
    support = where.bend + gravity / where.slope
    inverse_mass = jnp.where(held, 0.0, 1.0 / mass)
    own = weight + support[:, None] * c
    if applied is not None:
        own = own + applied / mass[:, None]
    own = jnp.where(held[:, None], 0.0, own)

    if len(rods) == 0:
        pull, h, denominator = jnp.zeros_like(own), jnp.zeros(0), jnp.ones(1)
        answer = jnp.zeros_like(own)
    else:
        rod = rod_geometry(rods, where.position)
        flat = jnp.zeros_like(n)
        mobility = Mobility(inverse_mass, flat, flat) if tangent else Mobility(inverse_mass, n, c)
        stretch = jnp.sum(rods.between(where.velocity) ** 2, axis=-1) / rod.length
        b = -jnp.sum(rod.direction * rods.between(own), axis=-1) - stretch
        h = rods.solve(rod.direction, mobility, b[:, None])[:, 0]
        pull = rods.pull(h, rod.direction)
        answer = mobility.answer(pull)
        denominator = rods.diagonal(rod.direction, mobility)

    reaction = mass * support - (0.0 if tangent else jnp.sum(n * pull, axis=-1))
    downhill = weight + (gravity / where.slope)[:, None] * where.normal
    tangential_pull = pull - where.normal * jnp.sum(where.normal * pull, axis=-1, keepdims=True)
    return Forces(
        rod_force=h,
        normal_force=jnp.where(free, 0.0, reaction),
        acceleration=own + answer,
        load=mass[:, None] * downhill + tangential_pull,
        denominator=denominator,
    )


def constrained_change(where: Places, rods: Rods, mode, mass: PerMass, mismatch: Float[Array, "r k"]):
    """Smallest changes (mass-weighted) of the masses, along the surface, that change the rods by `-mismatch`.

    Returns:
        One array of vectors per column of `mismatch`.
    """
    free = (mode == FREE)[:, None]
    n = jnp.where(free, 0.0, where.normal)
    mobility = Mobility(jnp.where(mode == STICK, 0.0, 1.0 / mass), n, n)
    rod = rod_geometry(rods, where.position)
    h = rods.solve(rod.direction, mobility, -mismatch)
    return [mobility.answer(rods.pull(h[:, k], rod.direction)) for k in range(mismatch.shape[1])]
