"""Where the masses are, how they touch the surface, and the forces between mass, surface and rods.

Notation as in Tinti & Gallotti (2019), with their misprints corrected: n normal, t unit velocity,
W = sqrt(1 + f_x² + f_y²), kappa = normal part of the acceleration, e rod direction, h rod force
(> 0 pushes the masses apart), N reaction of the surface.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saltus.hybrid import Parts, part
from saltus.links import Mobility, Rods
from saltus.numerics import components
from saltus.numerics.components import Vec
from saltus.numerics.trees import choose
from saltus.starts.point_masses import STOP_SPEED
from saltus.surfaces.base import AbstractSurface

PerMass = Float[Array, " n"]
PerRod = Float[Array, " r"]

SLIP, PULLED, STICK, FREE, GONE = range(5)
MODE_NAMES = ("slip", "pulled", "stick", "free", "gone")


class RodLedger(Parts):
    """What is kept of the past of masses joined by rods; or its rates.

    Args:
        lost: Work done against friction, and lost in blows, since the start [J].
        lengths: Length of each rod without force [m]; constant.
    """

    lost: Float[Array, ""] = part()
    lengths: PerRod = part(1)

    def lose(self, energy) -> RodLedger:
        """The ledger with more energy lost."""
        return self.replace(lost=self.lost + energy)


class Places(eqx.Module):
    """Positions and velocities in space, and the surface under each mass."""

    position: Vec
    velocity: Vec
    normal: Vec
    bend: PerMass  # kappa: the acceleration along the normal that keeps a mass on the surface

    @property
    def speed(self) -> PerMass:
        """Speed of each mass [m s-1]."""
        return self.velocity.length()

    @property
    def heading(self) -> Vec:
        """Unit velocity of each mass; zero at rest. Derivatives take that of a slow mass as given (`STOP_SPEED`)."""
        slow, way = self.speed < STOP_SPEED, self.velocity * self.velocity.inverse_length()
        return way.map(lambda part: jnp.where(slow, jax.lax.stop_gradient(part), part))

    def along_surface(self, vectors: Vec) -> Vec:
        """The tangential parts of vectors."""
        return vectors - self.normal * self.normal.dot(vectors)


@eqx.filter_jit
def places(surface: AbstractSurface, q, v, free: Bool[Array, " n"] | None) -> Places:
    """Where the masses are; those not `free` lie on the surface (None: all of them)."""
    x, y = q[:, 0], q[:, 1]
    vx, vy = v[:, 0], v[:, 1]
    z, (fx, fy), (fxx, fxy, fyy), unit_normal = surface.local(x, y)
    vz = fx * vx + fy * vy
    if free is not None:
        z, vz = jnp.where(free, q[:, 2], z), jnp.where(free, v[:, 2], vz)
    normal = Vec(*unit_normal)
    return Places(
        position=Vec(x, y, z),
        velocity=Vec(vx, vy, vz),
        normal=normal,
        bend=(vx**2 * fxx + 2.0 * vx * vy * fxy + vy**2 * fyy) * normal.z,
    )


class Forces(eqx.Module):
    """Forces and accelerations at an instant.

    Args:
        rod_force: Force in each rod, > 0 pushes its ends apart; 0 for a rod between held masses [N].
        normal_force: Reaction of the surface along its upward normal [N].
        motion: Acceleration of each mass, as a `Vec` [m s-2].
        load: Force that a held mass must be held against, tangential [N].
        denominator: D of each rod; the problem is well posed while all are > 0 [1/kg].
    """

    rod_force: PerRod
    normal_force: PerMass
    motion: Vec
    load: Vec
    denominator: PerRod

    @property
    def acceleration(self) -> Float[Array, "n 3"]:
        """Acceleration of each mass [m s-2]."""
        return self.motion.array()


class Rod(eqx.Module):
    """Length and direction of each rod, from its second end to its first."""

    length: PerRod
    inverse_length: PerRod
    direction: Vec


def rod_geometry(rods: Rods, position: Vec) -> Rod:
    """Length and direction of each rod."""
    difference = rods.between(position)
    square = difference.square()
    inverse = jax.lax.rsqrt(square)
    return Rod(square * inverse, inverse, difference * inverse)


@eqx.filter_jit  # traced once, though nearly everything asks for it
def forces(
    where: Places,
    rods: Rods,
    mode,
    mass: PerMass,
    mu_signed: PerMass,
    gravity,
    applied: Vec | None = None,
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
    held, free = (mode == STICK) | (mode == GONE), mode >= FREE
    none = components.zeros(mass.shape)
    n = choose(free, none, where.normal)
    c = choose(free, none, where.normal - where.heading * mu_signed)
    inverse_mass = jnp.where(held, 0.0, 1.0 / mass)
    weight = Vec(none.x, none.y, none.x - gravity)
    support = where.bend + gravity * where.normal.z
    other = weight if applied is None else weight + applied * (1.0 / mass)  # but for the reaction

    if len(rods) == 0:
        pull, h, denominator = none, jnp.zeros(0), jnp.ones(1)
    else:
        rod = rod_geometry(rods, where.position)
        mobility = Mobility(inverse_mass, none, none) if tangent else Mobility(inverse_mass, n, c)
        stretch = rods.between(where.velocity).square() * rod.inverse_length
        without_rods = choose(held, none, other + c * support)
        needed = -rod.direction.dot(rods.between(without_rods)) - stretch
        denominator = rods.diagonal(rod.direction, mobility)
        h = rods.solve(rod.direction, mobility, needed[:, None], denominator)[:, 0]
        pull = rods.pull(h, rod.direction)

    reaction = mass * support - (0.0 if tangent else n.dot(pull))
    downhill = weight + where.normal * (gravity * where.normal.z)
    return Forces(
        rod_force=h,
        normal_force=jnp.where(free, 0.0, reaction),
        motion=choose(held, none, other + (pull + c * reaction) * inverse_mass),
        load=downhill * mass + where.along_surface(pull),
        denominator=denominator,
    )


@eqx.filter_jit
def constrained_change(where: Places, rods: Rods, mode, mass: PerMass, mismatch: Float[Array, "r k"]) -> list[Vec]:
    """Smallest changes (mass-weighted) of the masses, along the surface, that change the rods by `-mismatch`.

    Returns:
        One set of vectors per column of `mismatch`.
    """
    n = choose(mode == FREE, components.zeros(mass.shape), where.normal)
    mobility = Mobility(jnp.where(mode == STICK, 0.0, 1.0 / mass), n, n)
    rod = rod_geometry(rods, where.position)
    h = rods.solve(rod.direction, mobility, -mismatch)
    return [mobility.answer(rods.pull(h[:, k], rod.direction)) for k in range(mismatch.shape[1])]
