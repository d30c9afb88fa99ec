"""What happens to a chain at its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from saltus.hybrid import State
from saltus.laws.impact.engagement import Engagement, FrozenEngagement
from saltus.numerics.trees import choose
from saltus.systems.chain import strings
from saltus.systems.chain.edge import Edge
from saltus.systems.chain.state import LOOSE, PULLS, UNTOLD, Losses, Motion, Regime, units
from saltus.systems.chain.tension import edge_last, transmit, velocity_changes

if TYPE_CHECKING:
    from saltus.systems.chain.chain import Chain


def rebuild(state: State, place: Motion, velocity: Motion, regime: Regime, ledger: Losses | None = None) -> State:
    """The state with new parts, after a jump now."""
    ledger = state.ledger if ledger is None else ledger
    return State(state.t, place.replace(since=state.t), velocity, ledger, regime)


class Crossing(eqx.Module):
    """The jerk of one crossing, in physical units.

    Args:
        angle: Angle of the new link [rad].
        speed: Table speed just before [m/s].
        response: Inverse inertia of the hanging part along the new link times the crossing mass [-].
        impulses: Impulse of every link; entry k is the new link [N s].
        directions: Directions in which they act.
        velocity: Velocity of the crossing particle just after [m/s].
        loss: Energy lost [J].
    """

    angle: Array
    speed: Array
    response: Array
    impulses: Array
    directions: Array
    velocity: Array
    loss: Array

    @staticmethod
    def of(chain: Chain, state: State) -> Crossing:
        """The jerk of the particle that is at the edge in this state."""
        place, velocity, regime = state.q, state.v, state.mode
        edge = Edge.of(place, velocity)
        along, _ = units(place.angle)
        along = jnp.where(chain.taut(regime)[:, None], along, 0.0)
        directions = edge_last(along, edge.direction, regime.hanging)
        if chain.strings:
            directions = strings.cut_at_folds(directions, regime.hanging)
        unit_impulses, mobility = transmit(directions, chain.mass, regime.hanging)
        mass = chain.mass[regime.hanging + 1]
        scaled = _engage(chain, edge.angle, chain.table_mass(regime.hanging + 1) / mass, mass * mobility)
        impulse = mass * edge.speed * scaled.impulse
        return Crossing(
            angle=edge.angle,
            speed=edge.speed,
            response=mass * mobility,
            impulses=impulse * unit_impulses,
            directions=directions,
            velocity=edge.speed * scaled.velocity,
            loss=mass * edge.speed**2 * scaled.loss,
        )


def _engage(chain: Chain, angle: Array, table_mass: Array, response: Array) -> Engagement:
    """The scaled jump of a crossing by the chain's law; the arguments are those of `AbstractEngagement`.

    With nothing left on the table behind the particle all laws agree, and the plainest is asked.
    """
    last = table_mass == 0.0
    lawful = chain.engagement(angle, jnp.where(last, 1.0, table_mass), response, chain.edge_friction)
    return choose(last, FrozenEngagement()(angle, table_mass, response), lawful)


def cross(chain: Chain, state: State, index: Array) -> State:
    """The next particle leaves the table, and its link is jerked taut."""
    place, velocity, regime = state.q, state.v, state.mode
    jerk = Crossing.of(chain, state)
    k = regime.hanging
    changes = velocity_changes(jerk.directions, jerk.impulses, chain.mass, k)
    along, across = units(place.angle)
    relative = changes[:-1] - changes[1:]
    hangs = jnp.arange(chain.n_links) < k
    lengths = chain.lengths(place)
    rates = velocity.angle + jnp.where(hangs, jnp.sum(across * relative, axis=1) / lengths, 0.0)
    _, new_across = units(jerk.angle)
    new_relative = velocity.edge + changes[k] - jerk.velocity
    after_place = place.replace(angle=place.angle.at[k].set(jerk.angle), edge=jnp.zeros(2))
    rates = rates.at[k].set(new_across @ new_relative / chain.length[k])
    after_velocity = velocity.replace(angle=rates, edge=jerk.velocity)
    ledger = state.ledger.jerk(jerk.loss)
    regime = regime.replace(hanging=k + 1, unmoved=jnp.asarray(False))
    after = rebuild(state, after_place, after_velocity, regime, ledger)
    if not chain.strings:
        return _note_pushes(chain, after)
    stretching = velocity.length + jnp.where(hangs, jnp.sum(along * relative, axis=1), 0.0)
    return strings.sort_out(chain, after, stretching)


def _note_pushes(chain: Chain, state: State) -> State:
    """Rods that push from a jump on, for the guard to tell."""
    place, velocity, regime = state.q, state.v, state.mode
    pushes = chain.balance(state).tension[:-1] < -strings.PUSHES * chain.weight
    news = pushes & (jnp.arange(chain.n_links) < regime.hanging) & (regime.loose == PULLS)
    return rebuild(state, place, velocity, regime.replace(loose=jnp.where(news, UNTOLD, regime.loose)))


def note_compression(chain: Chain, state: State, index: Array) -> State:
    """A rod begins to push: noted once per link."""
    place, velocity, regime = state.q, state.v, state.mode
    return rebuild(state, place, velocity, regime.replace(loose=regime.loose.at[index].set(LOOSE)))


def note_under_table(chain: Chain, state: State, index: Array) -> State:
    """A particle swings under the table: noted once."""
    place, velocity, regime = state.q, state.v, state.mode
    return rebuild(state, place, velocity, regime.replace(swung_under=jnp.asarray(True)))


def note_lift_off(chain: Chain, state: State, index: Array) -> State:
    """The edge force vanishes: noted once."""
    place, velocity, regime = state.q, state.v, state.mode
    return rebuild(state, place, velocity, regime.replace(lifted=jnp.asarray(True)))


def slip(chain: Chain, state: State, index: Array) -> State:
    """Static friction lets go.

    The table part starts with no acceleration where both coefficients are equal. A speed at the
    level of rounding tells this start from the stop that the guard "stick" watches for.
    """
    place, velocity, regime = state.q, state.v, state.mode
    edge = Edge.of(place, velocity)
    tiny = 1e-14 * jnp.sqrt(chain.gravity * edge.length)
    velocity = velocity.replace(edge=edge.perpendicular * edge.across + edge.direction * tiny)
    no = jnp.asarray(False)
    return rebuild(state, place, velocity, regime.replace(stuck=no, unmoved=no))


def stick(chain: Chain, state: State, index: Array) -> State:
    """The table part has come to rest, and static friction holds it."""
    place, velocity, regime = state.q, state.v, state.mode
    edge = Edge.of(place, velocity)
    held = place.replace(held=edge.length)
    across = velocity.replace(edge=edge.perpendicular * edge.across)
    return rebuild(state, held, across, regime.replace(stuck=jnp.asarray(True)))
