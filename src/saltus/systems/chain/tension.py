"""Forces and impulses along a chain: one tridiagonal system, whatever hangs.

Arrays are as long as the whole chain and masked by `hanging`, the number k of links that hang
freely, so that one compilation serves every phase. Link j joins particles j and j+1 (counted
from the free end, from 0); its direction points from j+1 to j. Entry k is the edge link.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saltus.numerics.elimination import solve_tridiagonal


class Pull(NamedTuple):
    """What the edge link's row of the system says.

    Args:
        compliance: Inverse of the mass that the edge link drags over the edge [1/kg]; 0 if held.
        demand: Right-hand side of its row: how fast the link would lengthen unloaded.
    """

    compliance: Float[Array, ""]
    demand: Float[Array, ""]


def edge_last(directions: Float[Array, "n 2"], edge: Float[Array, " 2"], hanging: Int[Array, ""]) -> Array:
    """Directions of the hanging links, then that of the edge link at entry `hanging`; zero beyond; n + 1 rows."""
    index = jnp.arange(directions.shape[0] + 1)[:, None]
    padded = jnp.concatenate([directions, jnp.zeros((1, 2))])
    return jnp.where(index < hanging, padded, jnp.where(index == hanging, edge, 0.0))


def forces(
    directions: Float[Array, "m 2"],
    demand: Float[Array, " n"],
    pull: Pull,
    mass: Float[Array, " m"],
    hanging: Int[Array, ""],
) -> Float[Array, " m"]:
    """Tensions (or impulses) of the links that keep their length; entry `hanging` is the edge link's.

    Args:
        directions: From `edge_last`; a zero row is a link that carries nothing.
        demand: For each link, how fast it would lengthen without them (accelerations or speeds).
        pull: The same for the edge link, and how the table answers.
        mass: Masses of the particles [kg].
        hanging: Number of hanging links.
    """
    index = jnp.arange(mass.size)
    inverse = 1.0 / mass
    carries = jnp.any(directions != 0.0, axis=1)
    coupling = -jnp.sum(directions[:-1] * directions[1:], axis=1) * inverse[1:]
    own = inverse + jnp.where(index < hanging, jnp.roll(inverse, -1), pull.compliance)
    diagonal = jnp.where(carries, own, 1.0)
    right = jnp.where(index < hanging, jnp.append(demand, 0.0), jnp.where(index == hanging, pull.demand, 0.0))
    zero = jnp.zeros(1)
    return solve_tridiagonal(
        jnp.concatenate([zero, coupling]),
        diagonal,
        jnp.concatenate([coupling, zero]),
        jnp.where(carries, right, 0.0),
    )


def transmit(
    directions: Float[Array, "m 2"], mass: Float[Array, " m"], hanging: Int[Array, ""]
) -> tuple[Float[Array, " m"], Float[Array, ""]]:
    """Impulses along the hanging links for a unit impulse of the link at entry `hanging`.

    Also the inverse inertia of the hanging part along that link: how much speed a unit impulse
    gives to the particle it pulls [1/kg].
    """
    index = jnp.arange(mass.size)
    inverse = 1.0 / mass
    coupling = -jnp.sum(directions[:-1] * directions[1:], axis=1) * inverse[1:]
    carries = jnp.any(directions != 0.0, axis=1) & (index < hanging)
    diagonal = jnp.where(carries, inverse + jnp.roll(inverse, -1), 1.0)
    zero = jnp.zeros(1)
    lower = jnp.where(index < hanging, jnp.concatenate([zero, coupling]), 0.0)
    impulses = solve_tridiagonal(
        lower, diagonal, jnp.concatenate([coupling, zero]), jnp.where(index == hanging, 1.0, 0.0)
    )
    into = jnp.where(index == hanging - 1, jnp.append(-coupling, 0.0) * impulses, 0.0).sum()
    return impulses, inverse[hanging] - into


def velocity_changes(
    directions: Float[Array, "m 2"], impulses: Float[Array, " m"], mass: Float[Array, " m"], hanging: Int[Array, ""]
) -> Float[Array, "m 2"]:
    """Change of velocity (or acceleration) of the particles off the table by forces along the links."""
    along = impulses[:, None] * directions
    from_next = jnp.concatenate([jnp.zeros((1, 2)), along[:-1]])
    off = (jnp.arange(mass.size) <= hanging)[:, None]
    return jnp.where(off, (from_next - along) / mass[:, None], 0.0)
