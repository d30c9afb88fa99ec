"""What ends a phase of a chain's motion, and what tells that the model is no longer true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jaxtyping import Array

from saltus.hybrid import Guard, State
from saltus.systems.chain.edge import Edge
from saltus.systems.chain.layout import unpack
from saltus.systems.chain.results import particles

if TYPE_CHECKING:
    from saltus.systems.chain.chain import Chain

MARGIN = 1e-9  # tensions in units of a particle's weight, lengths in units of a link: below, it is rounding


def guards(chain: Chain) -> tuple[Guard, ...]:
    """All guards of a chain."""
    view = _View(chain)
    off = "The last particle left the table at t = {t:.9g} s."
    listed = [
        Guard("crossing", view.left_to_cross, view.more_follow),
        Guard("exit", view.left_to_cross, view.last_follows, "finished" if chain.ends_off_table else None, off),
        Guard("slack" if chain.strings else "compression", view.link_tension, view.tension_watched),
        Guard("under_table", view.clearance, lambda state: ~view.regime(state).swung_under),
        Guard("lift_off", view.edge_force, view.edge_watched),
    ]
    if chain.strings:
        listed.append(Guard("taut", view.slack_left, lambda state: view.hangs(state) & view.regime(state).loose))
    if chain.frictional:
        listed.append(Guard("slip", view.grip, lambda state: view.on_table(state) & view.regime(state).stuck))
        listed.append(Guard("stick", view.table_speed, view.slides))
    if chain.frictional and chain.ends_off_table:
        held = "The table part is held for ever: the swing of the first link ends at t = {t:.9g} s without a slip."
        listed.append(Guard("held", view.swing, view.swings, "at_rest", held))
    return tuple(listed)


class _View:
    """The functions of the guards; the tensions of a state are computed once for all of them."""

    def __init__(self, chain: Chain):
        self.chain = chain
        self.weight = chain.gravity * jnp.mean(chain.mass)
        self._last = None, None

    def regime(self, state: State):
        return unpack(state, self.chain.strings)[2]

    def edge(self, state: State) -> Edge:
        return Edge.of(*unpack(state, self.chain.strings)[:2])

    def tensions(self, state: State):
        if self._last[0] is not state:
            self._last = state, self.chain.tensions(state)
        return self._last[1]

    def hangs(self, state: State) -> Array:
        return jnp.arange(self.chain.n_links) < self.regime(state).hanging

    def on_table(self, state: State) -> Array:
        return self.regime(state).hanging < self.chain.n_links

    def left_to_cross(self, state: State) -> Array:
        last = self.chain.n_links - 1
        length = self.chain.length[jnp.minimum(self.regime(state).hanging, last)]
        return 1.0 - self.edge(state).length / length

    def more_follow(self, state: State) -> Array:
        regime = self.regime(state)
        return (regime.hanging < self.chain.n_links - 1) & ~regime.stuck

    def last_follows(self, state: State) -> Array:
        regime = self.regime(state)
        return (regime.hanging == self.chain.n_links - 1) & ~regime.stuck

    def link_tension(self, state: State) -> Array:
        return self.tensions(state)[0][:-1] / self.weight + MARGIN

    def tension_watched(self, state: State) -> Array:
        return self.hangs(state) & ~self.regime(state).loose

    def clearance(self, state: State) -> Array:
        positions, _ = particles(self.chain, state)
        off = jnp.arange(self.chain.mass.size) <= self.regime(state).hanging
        return jnp.min(jnp.where(off, positions[:, 1], jnp.inf)) / jnp.mean(self.chain.length) + MARGIN

    def edge_force(self, state: State) -> Array:
        tension, _, edge = self.tensions(state)
        return tension[self.regime(state).hanging] * edge.direction[0] / self.weight

    def edge_watched(self, state: State) -> Array:
        return self.on_table(state) & ~self.regime(state).lifted

    def slack_left(self, state: State) -> Array:
        place, _, _ = unpack(state, self.chain.strings)
        return 1.0 - jnp.abs(self.chain.lengths(place)) / self.chain.length

    def grip(self, state: State) -> Array:
        tension, _, edge = self.tensions(state)
        hanging = self.regime(state).hanging
        holding = self.chain.static_friction * self.chain.table_mass(hanging) * self.chain.gravity
        return (holding - tension[hanging] / self.chain.capstan(edge.angle)) / self.weight

    def slides(self, state: State) -> Array:
        return self.on_table(state) & ~self.regime(state).stuck

    def table_speed(self, state: State) -> Array:
        return self.edge(state).speed / jnp.sqrt(self.chain.gravity * jnp.mean(self.chain.length))

    def swing(self, state: State) -> Array:
        return -self.edge(state).across / jnp.sqrt(self.chain.gravity * jnp.mean(self.chain.length))

    def swings(self, state: State) -> Array:
        regime = self.regime(state)
        return regime.stuck & regime.unmoved & (regime.hanging == 0)
