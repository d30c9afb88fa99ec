"""Statistics of two-body collisions: many random encounters in a batch, reproducible by key."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from saltus import checks
from saltus.contacts.first_contact import first_contact
from saltus.contacts.impact import collide
from saltus.laws.impact import AbstractImpactLaw, Elastic
from saltus.numerics import rotation
from saltus.programs import program
from saltus.shapes.base import AbstractShape
from saltus.shapes.body import Body

BATCH = 256


class Scattering(eqx.Module):
    """Random encounters of two bodies, one row each; what did not collide has no transfer.

    Args:
        hit: Whether the bodies collide.
        impact_parameter: Distance of the two straight paths of the centres [m].
        momentum: Momentum given to the second body [kg m s-1].
        angular_momentum1: Change of the first body's spin angular momentum [kg m2 s-1].
        angular_momentum2: Change of the second body's [kg m2 s-1].
        energy: Change of the second body's kinetic energy [J].
        rotation_energy: Energy that went from translation into rotation, both bodies together [J].
        deflection: Angle by which the relative velocity of the centres turned [rad].
        energy_loss: Energy lost in the impact [J].
        reach: Radius of the disc over which impact parameters are drawn [m].
    """

    hit: Bool[Array, " n"]
    impact_parameter: Float[Array, " n"]
    momentum: Float[Array, "n 3"]
    angular_momentum1: Float[Array, "n 3"]
    angular_momentum2: Float[Array, "n 3"]
    energy: Float[Array, " n"]
    rotation_energy: Float[Array, " n"]
    deflection: Float[Array, " n"]
    energy_loss: Float[Array, " n"]
    reach: Float[Array, ""]

    def cross_section(self) -> tuple[float, float]:
        """Mean area in which a collision happens, and its standard error [m2]."""
        disc, share = float(jnp.pi * self.reach**2), float(jnp.mean(self.hit))
        return disc * share, disc * float(np.sqrt(share * (1.0 - share) / self.hit.size))


def scatter(
    shape1: AbstractShape,
    shape2: AbstractShape,
    key: Array,
    n: int = 1024,
    *,
    speed: float = 1.0,
    spin: float = 1.0,
    density: float = 1.0,
    law: AbstractImpactLaw | None = None,
) -> Scattering:
    """`n` random encounters of two homogeneous bodies, each up to its first impact.

    Orientations are uniform, the components of the velocities and spins normally distributed, and the paths cross a
    disc as wide as both bodies uniformly. The same key gives the same encounters, bit for bit.

    Args:
        shape1: First shape.
        shape2: Second shape.
        key: A JAX random key.
        n: How many encounters.
        speed: Standard deviation of each component of velocity, > 0 [m s-1].
        spin: Standard deviation of each component of angular velocity, >= 0 [rad s-1].
        density: Of both bodies [kg m-3].
        law: Law of impact; elastic by default.
    """
    checks.positive("speed", speed)
    checks.nonnegative("spin", spin)
    checks.positive("n", n)
    numbers = jnp.asarray([speed, spin, density], float)
    law = Elastic() if law is None else law
    parts = []
    for batch in range(-(-n // BATCH)):
        keys = jax.random.split(jax.random.fold_in(key, batch), BATCH)
        parts.append(_encounters(shape1, shape2, keys, numbers, law))
    rows = jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:n], *parts)
    return eqx.tree_at(lambda s: s.reach, rows, shape1.radius() + shape2.radius())


@program
def _encounters(shape1, shape2, keys: Array, numbers: Array, law: AbstractImpactLaw) -> Scattering:
    return jax.vmap(lambda key: _encounter(shape1, shape2, key, numbers, law))(keys)


def _encounter(shape1, shape2, key: Array, numbers: Array, law: AbstractImpactLaw) -> Scattering:
    """One random encounter: where two bodies touch, if they do, and what the impact changes."""
    one, two, offset = _approaching_pair(shape1, shape2, key, numbers)
    reach = shape1.radius() + shape2.radius()
    relative = two.velocity - one.velocity
    speed = jnp.linalg.norm(relative)
    found = first_contact(one, two, 4.0 * reach / speed)
    before = found.body1, found.body2
    *after, _ = collide(*before, found.separation, law)
    hit = found.happens

    def change(of):
        return [jnp.where(hit, of(new) - of(old), 0.0) for old, new in zip(before, after, strict=True)]

    spins = change(Body.angular_momentum)
    energies, turning = change(Body.kinetic_energy), change(_rotation_energy)
    away = jnp.where(hit, after[1].velocity - after[0].velocity, relative)
    cosine = relative @ away / (speed * jnp.maximum(jnp.linalg.norm(away), 1e-300))
    return Scattering(
        hit=hit,
        impact_parameter=offset,
        momentum=change(lambda body: body.mass * body.velocity)[1],
        angular_momentum1=spins[0],
        angular_momentum2=spins[1],
        energy=energies[1],
        rotation_energy=turning[0] + turning[1],
        deflection=jnp.where(hit, jnp.arccos(jnp.clip(cosine, -1.0, 1.0)), 0.0),
        energy_loss=-(energies[0] + energies[1]),
        reach=reach,
    )


def _approaching_pair(shape1, shape2, key: Array, numbers: Array) -> tuple[Body, Body, Array]:
    """Two bodies whose bounding balls are apart and whose paths pass within reach, and how closely they do."""
    speed, spin, density = numbers
    parts = jax.random.split(key, 5)
    turns = rotation.random_quaternion(parts[0], (2,))
    velocities = speed * jax.random.normal(parts[1], (2, 3))
    spins = spin * jax.random.normal(parts[2], (2, 3))
    relative = velocities[1] - velocities[0]
    along = relative / jnp.linalg.norm(relative)
    across = jnp.cross(along, jax.random.normal(parts[3], (3,)))
    across = across / jnp.linalg.norm(across)
    reach = shape1.radius() + shape2.radius()
    offset = reach * jnp.sqrt(jax.random.uniform(parts[4]))
    one = Body(shape1, density=density).with_motion(jnp.zeros(3), velocities[0], turns[0], spins[0])
    two = Body(shape2, density=density)
    return one, two.with_motion(offset * across - 2.0 * reach * along, velocities[1], turns[1], spins[1]), offset


def _rotation_energy(body: Body) -> Array:
    return body.kinetic_energy() - 0.5 * body.mass * jnp.sum(body.velocity**2)
