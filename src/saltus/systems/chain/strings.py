"""Links that only pull: going slack, and being jerked taut again."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from saltus.hybrid import State
from saltus.numerics.trees import choose
from saltus.systems.chain.edge import Edge
from saltus.systems.chain.state import LOOSE, PULLS, UNTOLD, Motion, Regime, units
from saltus.systems.chain.tension import Pull, edge_last, forces, velocity_changes

if TYPE_CHECKING:
    from saltus.systems.chain.chain import Chain

PUSHES = 1e-9  # tension in units of a particle's weight below which a string goes slack
FAINT = 1e-5  # speed in units of sqrt(gravity * length) below which links that throw each other come to rest


def cut_at_folds(directions: Float[Array, "m 2"], pulled: Int[Array, ""]) -> Float[Array, "m 2"]:
    """Directions for an impulse at link `pulled`: links beyond a sharp fold get none of it.

    Pulling a particle towards the side on which its other link lies shortens that link, so a
    string passes nothing on. With the rest of the couplings positive no impulse can push.
    """
    index = jnp.arange(directions.shape[0])
    folded = jnp.sum(directions[:-1] * directions[1:], axis=1) < 0.0
    joint = jnp.arange(folded.size)  # joint j lies between links j and j + 1
    below = jnp.max(jnp.where(folded & (joint < pulled), joint, -1))
    above = jnp.min(jnp.where(folded & (joint >= pulled), joint, directions.shape[0]))
    reached = (index > below) & (index <= above)
    return jnp.where(reached[:, None], directions, 0.0)


def release(chain: Chain, state: State, index: Array) -> State:
    """A link's tension has fallen to zero: it goes slack."""
    return _with_loose(state, state.mode.loose.at[index].set(LOOSE))


def _with_loose(state: State, loose: Int[Array, " n"]) -> State:
    return state.replace(q=state.q.replace(since=state.t), mode=state.mode.replace(loose=loose))


def tighten(chain: Chain, state: State, index: Array) -> State:
    """A slack link reaches its full length: one plastic impulse stops it from lengthening."""
    place, velocity, regime = state.q, state.v, state.mode
    turned = place.length < 0.0  # the particles have passed each other: the same link, counted the other way
    place = place.replace(
        length=jnp.where(turned, -place.length, place.length),
        angle=jnp.where(turned, place.angle + jnp.pi, place.angle),
    )
    velocity = velocity.replace(length=jnp.where(turned, -velocity.length, velocity.length))
    regime = regime.replace(loose=regime.loose.at[index].set(PULLS))
    # Two folded links can jerk each other taut again and again, each time more weakly. Once that is faint, one jolt
    # that holds both replaces the rest of the row.
    jolt = functools.partial(_jolt, chain, place, velocity, regime, index)
    both = jax.vmap(jolt)(jnp.array([True, False]))
    folded, whole = (jax.tree.map(operator.itemgetter(n), both) for n in (0, 1))
    taut = chain.taut(regime) & (jnp.arange(chain.n_links) != index)
    faint = jnp.max(jnp.where(taut, -folded[1], 0.0)) < FAINT * _speed_scale(chain)
    after, stretching, pulled = choose(faint, whole, folded)
    stretching = stretching.at[index].set(0.0)
    still = regime.stuck & (pulled == 0.0)
    regime = regime.replace(stuck=still, unmoved=regime.unmoved & still)
    place = place.replace(length=place.length.at[index].set(chain.length[index]))
    jolted = state.replace(q=place, v=after, mode=regime)
    jolted = sort_out(chain, jolted, stretching)
    lost = chain.kinetic_energy(state) - chain.kinetic_energy(jolted)
    return jolted.replace(ledger=jolted.ledger.jerk(lost))


def _speed_scale(chain: Chain) -> Float[Array, ""]:
    return jnp.sqrt(chain.gravity * jnp.mean(chain.length))


def _jolt(chain: Chain, place: Motion, velocity: Motion, regime: Regime, index: Array, folds: Array):
    """Velocities after the impulse that stops link `index`, how fast each link lengthens, and the edge's impulse.

    Args:
        chain: The chain.
        place: Its configuration.
        velocity: Its velocities before.
        regime: Its regime; `index` is taut already.
        index: The link.
        folds: Whether links beyond a fold are left out; else all taut links keep their length.
    """
    k = regime.hanging
    edge = Edge.of(place, velocity)
    along, across = units(place.angle)
    carrying = jnp.where(chain.taut(regime)[:, None], along, 0.0)
    on_table = k < chain.links
    directions = edge_last(carrying, jnp.where(on_table, edge.direction, 0.0), k)
    directions = jnp.where(folds, cut_at_folds(directions, index), directions)
    table = jnp.where(on_table, chain.table_mass(k), 1.0)
    closing = jnp.where(jnp.arange(chain.n_links) == index, velocity.length, 0.0)
    pull = Pull(1.0 / (chain.capstan(edge.angle) * table), jnp.zeros(()))
    impulses = forces(directions, closing, pull, chain.mass, k)
    changes = velocity_changes(directions, impulses, chain.mass, k)
    relative = changes[:-1] - changes[1:]
    hangs = jnp.arange(chain.n_links) < k
    safe = jnp.where(place.length == 0.0, 1.0, place.length)
    after = velocity.replace(
        angle=velocity.angle + jnp.where(hangs, jnp.sum(across * relative, axis=1) / safe, 0.0),
        edge=velocity.edge + changes[k],
    )
    stretching = velocity.length + jnp.where(hangs, jnp.sum(along * relative, axis=1), 0.0)
    return after, stretching, impulses[k]


def sort_out(chain: Chain, state: State, stretching: Float[Array, " n"]) -> State:
    """After an impulse: links that shorten are slack, and of those just taut the ones that would push.

    Args:
        chain: The chain.
        state: Its state, with the links' lengths of before.
        stretching: How fast each link lengthens now; rounding apart, zero for the taut ones [m/s].
    """
    _, velocity, regime = state.q, state.v, state.mode
    hangs = jnp.arange(chain.n_links) < regime.hanging
    shortening = hangs & (regime.loose == PULLS) & (stretching < -1e-12 * _speed_scale(chain))
    loose = jnp.where(shortening, UNTOLD, regime.loose)
    velocity = velocity.replace(length=jnp.where((loose > 0) & hangs, stretching, 0.0))
    state = state.replace(v=velocity, mode=regime.replace(loose=loose))
    undecided = hangs & (loose == PULLS)
    return _tensile(chain, state, undecided)


def _tensile(chain: Chain, state: State, undecided: Bool[Array, " n"]) -> State:
    """Which of the undecided links pull and which go slack: a complementarity problem.

    Its matrix is positive definite, so that the solution is unique and changing the first link
    that is wrong, again and again, reaches it (Murty 1974).
    """
    weight = chain.weight

    def wrong(loose):
        now = chain.balance(_with_loose(state, loose))
        lengthening = chain.rate_under(now).v.length
        pushes = (loose == PULLS) & (now.tension[:-1] < -PUSHES * weight)
        lengthens = (loose > 0) & (lengthening > PUSHES * chain.gravity)
        return undecided & (pushes | lengthens)

    def ongoing(carry):
        _, bad, count = carry
        return bad.any() & (count < 20 * chain.n_links)

    def change_first(carry):
        """Change the first link that is wrong; the first turn only asks which are: so the program holds that once."""
        loose, bad, count = carry
        first = jnp.argmax(bad)
        changed = loose.at[first].set(jnp.where(loose[first] == PULLS, UNTOLD, PULLS))
        loose = jnp.where(count < 0, loose, changed)
        return loose, wrong(loose), count + 1

    begin = state.mode.loose, jnp.ones(chain.n_links, bool), -1
    return _with_loose(state, lax.while_loop(ongoing, change_first, begin)[0])
