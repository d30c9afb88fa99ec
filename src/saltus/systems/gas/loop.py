"""The loop over contacts, compiled as one piece: no interpreter between two collisions."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.numerics import tournament
from saltus.programs import brief_program, plain_program
from saltus.systems.gas.arena import LEAVE, LOST, RUNNING, TOLD, Arena, Fluid, Terms, partner_of, put, read, row_of
from saltus.systems.gas.flight import CLOCK, move_row, settle_row
from saltus.systems.gas.forecast import forecast
from saltus.systems.gas.neighbours import relist
from saltus.systems.gas.strike import Blow, strike

Number = Array | np.float64 | np.int64


def _advance(
    arena: Arena, terms: Terms, fluid: Fluid, began: Number, until: Number, contacts: Number
) -> tuple[Fluid, Array]:
    """The fluid after all that happens before the time `until`, or after so many contacts; and the time that passed.

    Its clocks count from then on: they stay small and keep their digits. Where nothing will ever happen again and
    `until` is infinite, so is the time that passed, and the clocks stay as they are.

    Args:
        arena: Sizes.
        terms: Numbers.
        fluid: What moves.
        began: Time of the run at which the clocks stood at zero.
        until: Time on the clocks of the fluid.
        contacts: Number of contacts in `fluid.tally` at which to stop.
    """

    def going(fluid: Fluid) -> Array:
        return (fluid.due[1] < until) & (fluid.tally.contacts < contacts) & (fluid.stop == RUNNING)

    fluid = jax.lax.while_loop(going, functools.partial(turn, arena, terms, began), fluid)
    # Two bodies whose contact is lost are where the last clock stands.
    passed = jnp.where(fluid.stop == LOST, jnp.max(fluid.rows[: arena.n, CLOCK]), jnp.minimum(until, fluid.due[1]))
    back = jnp.where(jnp.isfinite(passed), passed, 0.0)
    rows = fluid.rows.at[:, CLOCK].add(-back)
    return eqx.tree_at(lambda f: (f.rows, f.due), fluid, (rows, fluid.due - back)), passed


advance = plain_program(_advance)
advance_briefly = brief_program(_advance)  # for few contacts: half as long to compile, four times as slow


def turn(arena: Arena, terms: Terms, began: Number, fluid: Fluid) -> Fluid:
    """The next body that needs attention, and its partner."""
    i, t = tournament.smallest(fluid.due)

    def find(i, waits, hints, rows):
        key = waits[i]
        who = jnp.where(key >= 0, partner_of(key), arena.spare)
        return key, who, row_of(hints, i), row_of(rows, i), row_of(rows, who)

    key, who, hint, row, other = read(i, find, fluid.waits, fluid.hints, fluid.rows)
    row, other, blow = _meet(arena, terms, row, other, key, t, hint)
    fluid = _count(arena, fluid, i, who, key >= 0, began + t, blow)
    if not arena.everyone:
        fluid, row = relist(arena, terms, fluid, row, i, key == LEAVE)
    partner = jnp.where(who < arena.n, who, arena.spare)
    fluid = eqx.tree_at(lambda f: f.rows, fluid, put(put(fluid.rows, partner, other), i, row))

    def each(m, fluid):
        return forecast(arena, terms, fluid, jnp.where(m == 0, i, partner), t)

    return jax.lax.fori_loop(0, jnp.where(partner < arena.n, 2, 1), each, fluid)


def _meet(arena: Arena, terms: Terms, row: Array, other: Array, key: Array, t: Array, hint: Array):
    """A body with its clock at `t`; if it waits for a contact, both bodies after that."""
    gravity = terms.pull()

    def alone(row, other):
        zero, told = jnp.zeros(()), jnp.zeros(TOLD - 6 if arena.told else 0)
        return (
            settle_row(arena.flight, move_row(arena.flight, row, t, gravity)),
            other,
            Blow(zero, zero, zero, zero, told),
        )

    def together(row, other):
        row, other, blow = strike(arena, terms, row, other, key, t, hint)
        pair = jax.vmap(lambda one: settle_row(arena.flight, one))(jnp.stack([row, other]))
        return pair[0], pair[1], blow

    return jax.lax.cond(key >= 0, together, alone, row, other)


def _count(arena: Arena, fluid: Fluid, i: Array, who: Array, touches: Array, t: Array, blow: Blow) -> Fluid:
    """The sums and the log after one contact."""
    tally = fluid.tally
    wall = touches & (who >= arena.n)
    log = fluid.log
    if arena.log:
        entry = jnp.stack([t, i.astype(float), who.astype(float), blow.normal_impulse, blow.loss])
        if arena.told:
            laps = read(i, lambda i, who, laps: (row_of(laps, i), row_of(laps, who)), who, fluid.laps)
            entry = jnp.concatenate([entry, blow.told, *laps])
        at = jnp.where(touches, tally.contacts % arena.log, arena.log).astype(jnp.int32)
        log = put(log, at, entry)
    tally = eqx.tree_at(
        lambda y: (y.contacts, y.virial, y.wall_impulse, y.loss, y.deepest),
        tally,
        (
            tally.contacts + touches,
            tally.virial + jnp.where(wall, 0.0, blow.virial),
            tally.wall_impulse + jnp.where(wall, blow.normal_impulse, 0.0),
            tally.loss + blow.loss,
            jnp.minimum(tally.deepest, blow.gap),
        ),
    )
    return eqx.tree_at(lambda f: (f.tally, f.log), fluid, (tally, log))
