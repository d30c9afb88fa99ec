"""Building the states of a chain from numbers that people have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus import checks
from saltus.hybrid import State
from saltus.programs import brief_program
from saltus.starts import chain as given
from saltus.systems.chain.state import PULLS, Losses, Motion, Regime

if TYPE_CHECKING:
    from saltus.systems.chain.chain import Chain


def at_rest(chain: Chain, overhang: Any, angle: Any, edge: Any, hanging: int | Array) -> State:
    """The chain at rest with a piece over the edge; stuck where static friction holds it."""
    if (overhang is None) == (edge is None):
        raise ValueError("Give either `overhang`, the length over the edge, or `edge`, the place of the edge particle.")
    if overhang is not None:
        hanging, edge = _split_overhang(chain, overhang, angle)
    elif angle is not None:
        raise ValueError("`angle` goes with `overhang`; the place `edge` has its own direction.")
    given.check_hanging(hanging, chain.links)
    given.check_edge(edge, chain.length, hanging)
    zeros = np.zeros(chain.n_links)
    state = hanging_state(chain, hanging, zeros, edge, zeros, (0.0, 0.0), 0.0)
    friction = checks.concrete(chain.static_friction)
    if friction is not None and not friction > 0.0:
        return jax.device_put(state)  # nothing holds it: no program is needed to tell
    return stick_where_held(chain, state)


def _split_overhang(chain: Chain, overhang: Any, angle: Any) -> tuple[int | Array, Any]:
    """Number of hanging links and place of the edge particle."""
    used = chain.length[: int(chain.links)]
    lengths, over = checks.concrete(used), checks.concrete(overhang)
    if over is None or lengths is None:
        return _split_traced(used, overhang, angle)
    hanging, rest, angle = given.split_overhang(lengths, float(over), angle)
    return hanging, given.edge_place(rest, angle, _arrays(angle))


def _split_traced(lengths: Array, overhang: Any, angle: Any) -> tuple[Array, Array]:
    """Number of hanging links and place of the edge particle, for numbers that are not known yet."""
    ends = jnp.cumsum(lengths)
    checks.note((overhang > 0.0) & (overhang < ends[-1]))
    hanging = jnp.sum(ends * (1.0 - 1e-12) <= overhang)
    rest = overhang - jnp.where(hanging > 0, ends[jnp.maximum(hanging - 1, 0)], 0.0)
    if angle is not None:
        return hanging, jnp.stack([rest * jnp.cos(angle), rest * jnp.sin(angle)])
    flat = hanging == 0
    return hanging, jnp.stack([jnp.where(flat, 0.0, rest), jnp.where(flat, rest, 0.0)])


def _arrays(*values: Any) -> Any:
    """NumPy for known numbers, of which nothing need be compiled; JAX's NumPy for traced ones."""
    return jnp if any(checks.concrete(value) is None for value in values) else np


def from_particles(chain: Chain, position: Any, velocity: Any, t: float) -> State:
    """The state with these particles off the table."""
    checks.shaped("position", position, (None, 2), "One row (down, outward) per particle off the table.")
    checks.shaped("velocity", velocity, np.shape(position))
    xp = _arrays(position, velocity)
    position, velocity = xp.asarray(position, float), xp.asarray(velocity, float)
    k = position.shape[0] - 1
    link, relative = position[:-1] - position[1:], velocity[:-1] - velocity[1:]
    squared = xp.sum(link**2, axis=1)
    rate = (link[:, 0] * relative[:, 1] - link[:, 1] * relative[:, 0]) / squared
    lengths = checks.concrete(xp.sqrt(squared))
    wanted = checks.concrete(chain.length[:k])
    if lengths is not None and wanted is not None and lengths.size and np.abs(lengths / wanted - 1).max() > 1e-6:
        worst = int(np.argmax(np.abs(lengths / wanted - 1)))
        raise ValueError(
            f"Link {worst + 1} is {lengths[worst]:.9g} m long in `position`, but its length is {wanted[worst]:.9g} m."
        )
    return from_angles(chain, xp.arctan2(link[:, 1], link[:, 0]), position[-1], rate, velocity[-1], t)


def from_angles(chain: Chain, angle: Any, edge: Any, angle_rate: Any, edge_velocity: Any, t: float) -> State:
    """The state with these hanging links and this edge particle."""
    n, k = chain.n_links, np.shape(angle)[0]
    if k > int(chain.links):
        raise ValueError(f"At most {int(chain.links)} links can hang, got {k} angles.")
    checks.shaped("angle_rate", angle_rate, (k,))
    checks.shaped("edge", edge, (2,))
    checks.shaped("edge_velocity", edge_velocity, (2,))
    xp, spare = _arrays(angle, angle_rate), np.zeros(n - k)
    angles, rates = (xp.concatenate([xp.asarray(part, float), spare]) for part in (angle, angle_rate))
    return hanging_state(chain, k, angles, edge, rates, edge_velocity, t)


def hanging_state(chain: Chain, k: Any, angles: Any, edge: Any, rates: Any, edge_velocity: Any, t: float) -> State:
    """The state with k hanging links, of which the first k angles and rates tell."""
    n = chain.n_links
    xp = _arrays(k, angles, edge, rates, edge_velocity, t, chain.length)
    angles, rates = xp.where(np.arange(n) < k, angles, np.pi / 2), xp.asarray(rates)
    edge, edge_velocity = xp.asarray(edge, float), xp.asarray(edge_velocity, float)
    zero: Any = np.zeros(())
    no: Any = np.asarray(False)
    pull: Any = np.full(n, PULLS)
    lengths, stretching = (xp.asarray(chain.length), np.zeros(n)) if chain.strings else (None, None)
    place = Motion(angles, lengths, edge, zero, xp.asarray(t, float))
    velocity = Motion(rates, stretching, edge_velocity, zero, zero)
    regime = Regime(xp.asarray(k, int), no, no, no, no, pull)
    return State.of(t, place, velocity, Losses(zero, zero, zero), regime)


@brief_program
def stick_where_held(chain: Chain, state: State) -> State:
    """The state, stuck if static friction holds the table part."""
    place, _, regime = state.q, state.v, state.mode
    now = chain.balance(state, stuck=jnp.asarray(True))
    holding = chain.static_friction * now.table_mass * chain.gravity
    holds = (chain.static_friction > 0.0) & (now.tension[regime.hanging] / now.capstan <= holding)
    place = place.replace(held=jnp.where(holds, now.edge.length, 0.0))
    return state.replace(q=place, mode=regime.replace(stuck=holds, unmoved=holds))


def hangs_held(state: State) -> bool:
    """Whether friction holds a chain that hangs straight down."""
    place, regime = state.q, state.mode
    aside = np.sin(np.asarray(place.angle)[: int(regime.hanging)])
    return bool(regime.stuck) and float(np.asarray(place.edge)[1]) == 0.0 and not aside.any()
