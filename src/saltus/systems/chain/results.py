"""What is shown of a chain: places, velocities, tensions, energies, and the data of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.hybrid import Quantity, State
from saltus.programs import brief_program
from saltus.systems.chain.edge import Edge
from saltus.systems.chain.state import units
from saltus.systems.chain.tension import edge_last, transmit

if TYPE_CHECKING:
    from saltus.systems.chain.chain import Chain

QUANTITIES = {
    "position": Quantity(("particle", "axis"), "m", "place of the particles, x down, y outward from the edge"),
    "velocity": Quantity(("particle", "axis"), "m s-1", "velocity of the particles"),
    "tension": Quantity(("link",), "N", "tension of the links, the edge link outside the edge"),
    "link_length": Quantity(("link",), "m", "length of the links, along the bent edge link"),
    "distance": Quantity(("link",), "m", "distance of the ends of the links, along the bent edge link"),
    "link_angle": Quantity(("link",), "rad", "angle of the links from the downward vertical"),
    "edge_force": Quantity(("axis",), "N", "force of the edge on the chain"),
    "off_table": Quantity((), "1", "particles off the table"),
    "table_speed": Quantity((), "m s-1", "speed of the part on the table"),
    "slack": Quantity(("link",), "1", "whether a link is slack"),
    "kinetic_energy": Quantity((), "J", "kinetic energy"),
    "potential_energy": Quantity((), "J", "potential energy, zero at the table top"),
    "jerk_loss": Quantity((), "J", "energy lost in jerks since the start"),
    "friction_loss": Quantity((), "J", "energy lost to friction since the start"),
    "dissipated_energy": Quantity((), "J", "energy lost since the start"),
    "mode": Quantity((), "1", "regime of the table part"),
}

EVENT_QUANTITIES = {
    "particle": Quantity((), "1", "number of the particle that leaves the table, from the free end"),
    "link": Quantity((), "1", "number of the link, from the free end"),
    "angle": Quantity((), "rad", "angle of the new link from the downward vertical"),
    "table_speed": Quantity((), "m s-1", "speed of the table part just before"),
    "response": Quantity((), "1", "inverse inertia of the hanging part along the new link, times the crossing mass"),
    "impulse": Quantity((), "N s", "impulse of the new link"),
    "velocity_after": Quantity(("axis",), "m s-1", "velocity of the crossing particle just after"),
}


# The lengths of rods should stay what they are, and diagnostics look at that; those of strings change.
LENGTH = {False: "link_length", True: "distance"}


def quantities(chain: Chain) -> dict[str, Quantity]:
    """Names and units of the results of this chain."""
    return {name: meaning for name, meaning in QUANTITIES.items() if name != LENGTH[not chain.strings]}


def particles(chain: Chain, state: State) -> tuple[Array, Array]:
    """Places and velocities of all particles, from the free end."""
    place, velocity, regime = state.q, state.v, state.mode
    edge = Edge.of(place, velocity)
    k = regime.hanging
    hangs = (jnp.arange(chain.n_links) < k)[:, None]
    along, across = units(place.angle)
    lengths = chain.lengths(place)[:, None]
    link = jnp.where(hangs, lengths * along, 0.0)
    link_rate = jnp.where(hangs, lengths * velocity.angle[:, None] * across, 0.0)
    if velocity.length is not None:
        link_rate = link_rate + jnp.where(hangs, velocity.length[:, None] * along, 0.0)
    position = place.edge + _sums_to_edge(link)
    speed = velocity.edge + _sums_to_edge(link_rate)
    over = jnp.where(regime.stuck, place.held, edge.length)
    behind = jnp.cumsum(jnp.where(hangs[:, 0], 0.0, chain.length))
    table = jnp.concatenate([jnp.zeros(1), over - behind])
    table_speed = jnp.where(regime.stuck, 0.0, edge.speed)
    off = (jnp.arange(chain.mass.size) <= k)[:, None]
    zero = jnp.zeros_like(table)
    on_table = jnp.stack([zero, table], axis=1)
    sliding = jnp.stack([zero, zero + table_speed], axis=1)
    return jnp.where(off, position, on_table), jnp.where(off, speed, sliding)


def _sums_to_edge(links: Array) -> Array:
    """For each particle the sum of the link vectors between it and the edge particle."""
    sums = jnp.cumsum(links[::-1], axis=0)[::-1]
    return jnp.concatenate([sums, jnp.zeros((1, 2))])


def observe(chain: Chain, state: State) -> dict[str, Array]:
    """The quantities of one state."""
    position, speed = particles(chain, state)
    now = chain.balance(state)
    regime, edge, tension = now.regime, now.edge, now.tension
    k = regime.hanging
    on_table = k < chain.links
    pull = tension[k]
    inside = pull / now.capstan
    index = jnp.arange(chain.n_links)
    behind = jnp.cumsum(chain.mass[::-1])[::-1][1:]
    edge_force = jnp.stack([-pull * edge.direction[0], inside - pull * edge.direction[1]])
    slack = (regime.loose > 0) & (index < k) if chain.strings else jnp.zeros(chain.n_links, bool)
    angle = jnp.where(index < k, now.place.angle, jnp.where(index == k, edge.angle, jnp.pi / 2))
    lengths = jnp.sqrt(jnp.sum((position[:-1] - position[1:]) ** 2, axis=1))
    bent = jnp.sqrt(jnp.sum(position[:-1] ** 2, axis=1)) - position[1:, 1]
    seen = {
        "position": position,
        "velocity": speed,
        "tension": jnp.where(index <= k, tension[:-1], inside * behind / now.table_mass),
        "link_angle": angle,
        "edge_force": jnp.where(on_table, edge_force, 0.0),
        "off_table": k + 1,
        "table_speed": jnp.where(on_table & ~regime.stuck, edge.speed, 0.0),
        "slack": jnp.asarray(slack, int),
        "kinetic_energy": 0.5 * jnp.sum(chain.mass[:, None] * speed**2),
        "potential_energy": -chain.gravity * jnp.sum(chain.mass * position[:, 0]),
        "jerk_loss": state.ledger.jerks,
        "friction_loss": state.ledger.table + state.ledger.edge,
        "dissipated_energy": state.ledger.array().sum(),
        "mode": jnp.where(on_table, jnp.where(regime.stuck, 1, 0), 2),
    }
    return _to_the_end(chain, seen | {LENGTH[chain.strings]: jnp.where((index == k) & on_table, bent, lengths)})


def _to_the_end(chain: Chain, seen: dict[str, Array]) -> dict[str, Array]:
    """Results with NaN for what is beyond the end of a chain that has room for more links."""
    if chain.used is None:
        return seen
    for name, value in seen.items():
        if name != "slack" and QUANTITIES[name].dims[:1] in (("particle",), ("link",)):
            there = jnp.arange(value.shape[0]) < chain.links + (QUANTITIES[name].dims[0] == "particle")
            seen[name] = jnp.where(there.reshape(-1, *(1,) * (value.ndim - 1)), value, jnp.nan)
    return seen


def crossing_data(chain: Chain, index: int, before: State, after: State) -> dict[str, Any]:
    """What belongs to a crossing: which particle, how it was jerked, energy lost."""
    angle, speed, response, impulse, velocity = (np.asarray(x) for x in _crossing_numbers(chain, before, after))
    return {
        "particle": int(np.asarray(before.mode.hanging)) + 2,
        "angle": float(angle),
        "table_speed": float(speed),
        "response": float(response),
        "impulse": float(impulse),
        "velocity_after": [float(x) for x in velocity],
        "energy_loss": _lost_in_jerks(before, after),
    }


def link_data(index: int, before: State, after: State) -> dict[str, Any]:
    """Which link."""
    return {"link": index + 1}


def jerk_data(index: int, before: State, after: State) -> dict[str, Any]:
    """Which link, and the energy lost as it was jerked taut."""
    return {"link": index + 1, "energy_loss": _lost_in_jerks(before, after)}


def _lost_in_jerks(before: State, after: State) -> float:
    return float(np.asarray(after.ledger.jerks) - np.asarray(before.ledger.jerks))


@brief_program
def _crossing_numbers(chain: Chain, before: State, after: State):
    """Angle, table speed, response of the hanging part, impulse of the new link, velocity of the crossing particle."""
    place, velocity, regime = before.q, before.v, before.mode
    edge = Edge.of(place, velocity)
    change = particles(chain, after)[1] - particles(chain, before)[1]
    off = (jnp.arange(chain.mass.size) <= regime.hanging)[:, None]
    # Impulses between hanging particles cancel: what they lose together is the new link's.
    lost = -jnp.sum(jnp.where(off, chain.mass[:, None] * change, 0.0), axis=0)
    along = jnp.where(chain.taut(regime)[:, None], units(place.angle)[0], 0.0)
    _, mobility = transmit(edge_last(along, edge.direction, regime.hanging), chain.mass, regime.hanging)
    response = chain.mass[regime.hanging + 1] * mobility
    return edge.angle, edge.speed, response, lost @ edge.direction, after.v.edge
