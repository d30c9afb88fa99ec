"""What ends a phase of a chain's motion, and what tells that the model is no longer true."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import jax.numpy as jnp
from jaxtyping import Array

from saltus.hybrid import Guard, State
from saltus.hybrid.guard import never, once
from saltus.systems.chain import jumps, results, strings
from saltus.systems.chain.state import LOOSE, UNTOLD

if TYPE_CHECKING:
    from saltus.systems.chain.chain import Chain

MARGIN = 1e-9  # tensions in units of a particle's weight, lengths in units of a link: below, it is rounding

STRETCH = 1e-14  # share of a link by which it may be longer before it counts as taut again


def guards(chain: Chain) -> tuple[Guard, ...]:
    """All guards of a chain."""
    view = _View(chain)
    off = "The last particle left the table at t = {t:.9g} s."
    ends = "finished" if chain.ends_off_table else None

    def after(jump, **options):
        return functools.partial(jump, chain, **options)

    crosses = after(jumps.cross)  # one program for all particles, the last included

    def crossing(name, armed, **more):
        told = functools.partial(results.crossing_data, chain)
        return Guard(name, view.left_to_cross, armed, jump=crosses, likely=view.slides, data=told, **more)

    pushes = ("slack", strings.release) if chain.strings else ("compression", jumps.note_compression)
    listed = [
        crossing("crossing", view.more_follow),
        crossing("exit", view.last_follows, ends=ends, message=off),
        Guard(
            pushes[0],
            view.link_tension,
            view.tension_watched,
            jump=after(pushes[1]),
            likely=view.slides if chain.strings else never,
            data=results.link_data,
        ),
        Guard(
            "under_table", view.clearance, view.not_yet_under, jump=after(jumps.note_under_table), likely=view.slides
        ),
        Guard("lift_off", view.edge_force, view.edge_watched, jump=after(jumps.note_lift_off)),
        Guard("slip", view.grip, view.margin_of_hold, jump=after(jumps.slip)),
        Guard("stick", view.table_speed, view.may_stick, jump=after(jumps.stick)),
    ]
    if chain.strings:
        tighten = after(strings.tighten)
        listed.append(
            Guard("taut", view.slack_left, view.hangs_loose, jump=tighten, likely=view.slides, data=results.jerk_data)
        )
    if chain.ends_off_table:
        held = "The table part is held for ever: the swing of the first link ends at t = {t:.9g} s without a slip."
        listed.append(Guard("held", view.swing, view.swings, "at_rest", held))
    return tuple(listed)


class _View:
    """The functions of the guards; what they share is computed once per state."""

    def __init__(self, chain: Chain):
        self.chain = chain
        self.now = once(chain.balance)

    @property
    def speed_scale(self) -> Array:
        return jnp.sqrt(self.chain.gravity * jnp.mean(self.chain.length))

    def hangs(self, state: State) -> Array:
        return jnp.arange(self.chain.n_links) < state.mode.hanging

    def on_table(self, state: State) -> Array:
        return state.mode.hanging < self.chain.links

    def slides(self, state: State) -> Array:
        return self.on_table(state) & ~state.mode.stuck

    def margin_of_hold(self, state: State) -> Array:
        return self.on_table(state) & state.mode.stuck

    def may_stick(self, state: State) -> Array:
        return self.slides(state) & (self.chain.static_friction > 0.0)

    def not_yet_under(self, state: State) -> Array:
        return ~state.mode.swung_under

    def hangs_loose(self, state: State) -> Array:
        return self.hangs(state) & (state.mode.loose > 0)

    def left_to_cross(self, state: State) -> Array:
        length = self.chain.length[jnp.minimum(state.mode.hanging, self.chain.links - 1)]
        return 1.0 - self.now(state).edge.length / length

    def last_follows(self, state: State) -> Array:
        return self.slides(state) & (state.mode.hanging == self.chain.links - 1)

    def more_follow(self, state: State) -> Array:
        return self.slides(state) & ~self.last_follows(state)

    def link_tension(self, state: State) -> Array:
        """Tensions; for links that a jump has made to push, a clock that tells it right afterwards."""
        now = self.now(state)
        unit = MARGIN * jnp.sqrt(jnp.mean(self.chain.length) / self.chain.gravity)
        clock = 1.0 - (state.t - now.place.since) / unit
        return jnp.where(now.regime.loose == UNTOLD, clock, now.tension[:-1] / self.chain.weight + MARGIN)

    def tension_watched(self, state: State) -> Array:
        return self.hangs(state) & (state.mode.loose != LOOSE)

    def clearance(self, state: State) -> Array:
        """How far the hanging particle nearest to the plane of the table's side is outside of it."""
        now = self.now(state)
        outward = jnp.where(self.hangs(state), self.chain.lengths(now.place) * now.along[:, 1], 0.0)
        nearest = jnp.minimum(jnp.min(jnp.cumsum(outward[::-1])), 0.0) + now.place.edge[1]
        return nearest / jnp.mean(self.chain.length) + MARGIN

    def edge_force(self, state: State) -> Array:
        now = self.now(state)
        return now.tension[now.regime.hanging] * now.edge.direction[0] / self.chain.weight

    def edge_watched(self, state: State) -> Array:
        return self.on_table(state) & ~state.mode.lifted

    def slack_left(self, state: State) -> Array:
        """Share of a link that is slack; the margin makes a link that starts at full length count as slack."""
        return 1.0 - jnp.abs(self.now(state).place.length) / self.chain.length + STRETCH

    def grip(self, state: State) -> Array:
        now = self.now(state)
        holding = self.chain.static_friction * now.table_mass * self.chain.gravity
        return (holding - now.tension[now.regime.hanging] / now.capstan) / self.chain.weight

    def table_speed(self, state: State) -> Array:
        return self.now(state).edge.speed / self.speed_scale

    def swing(self, state: State) -> Array:
        return -self.now(state).edge.across / self.speed_scale

    def swings(self, state: State) -> Array:
        regime = state.mode
        return regime.stuck & regime.unmoved & (regime.hanging == 0)
