"""When a body touches the first of its neighbours: certified steps, the most urgent neighbour first."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.numerics import tournament
from saltus.numerics.components import Vec
from saltus.systems.gas import shaped
from saltus.systems.gas.arena import (
    BITS,
    HOME,
    LEAVE,
    LOOK,
    LOST,
    Arena,
    Fluid,
    Terms,
    partner_of,
    put,
    read,
    reverse,
    row_of,
)
from saltus.systems.gas.flight import CLOCK, DRIFT, LASTS, PLACE, RADIUS, SQUARES, SWAY, vector
from saltus.systems.gas.look import separation_at
from saltus.systems.gas.separation import PairView

FIRST_TURNS, LATER_TURNS = 3, 2  # of Newton's method for the direction between two bodies
CONVERGED = 1e-6  # last change of the weight; the next one would be about its square
MOST_LOOKS = 20_000


class _Search(eqx.Module):
    """How far each neighbour is known not to touch."""

    safe: Array  # per neighbour, the time up to which it certainly does not touch
    hint: Array
    found: Array  # index of the neighbour that touches, -1 for none yet
    at: Array
    looks: Array


def forecast(arena: Arena, terms: Terms, fluid: Fluid, i: Array, t: Array) -> Fluid:
    """The fluid in which body `i`, whose clock is at `t`, knows what it waits for."""
    row = row_of(fluid.rows, i)
    keys = row_of(fluid.near, i)
    if arena.walls:
        faces = (arena.n + jnp.arange(arena.walls, dtype=jnp.int32)) << BITS | HOME
        keys = jnp.concatenate([keys, faces])
    valid = keys >= 0
    who = jnp.where(valid, partner_of(keys), arena.spare)
    leave = t + _skin_time(arena, terms, fluid, i, row)
    known = t + row[LASTS]
    limit = jnp.minimum(leave, known)
    half = fluid.due.size // 2
    until = jnp.where(who < arena.n, fluid.due[half + jnp.minimum(who, half - 1)], jnp.inf)
    search = _first_look(arena, terms, fluid, row, keys, t, limit)
    search = eqx.tree_at(lambda s: s.safe, search, jnp.where(valid & (search.safe < until), search.safe, jnp.inf))

    def going(search: _Search) -> Array:
        return (search.found < 0) & (jnp.min(search.safe) < limit) & (search.looks < MOST_LOOKS)

    def look(search: _Search) -> _Search:
        return _look(arena, terms, fluid, row, keys, until, limit, search)

    search = jax.lax.while_loop(going, look, search)
    return _note(arena, terms, fluid, i, keys, limit, jnp.where(leave <= known, LEAVE, LOOK), search)


def _skin_time(arena: Arena, terms: Terms, fluid: Fluid, i: Array, row: Array) -> Array:
    """How long the body certainly stays within its skin."""
    anchor = row_of(fluid.anchors, i)
    gone = (vector(row, PLACE) - Vec.of(anchor[:3])).norm()
    size, growth = terms.size(row[CLOCK])
    spread = _spread(row)
    gone = gone + size * spread * arena.flight.tilt(row, anchor[3:7])
    speed = row[DRIFT] + (size - 1.0) * row[SWAY] + jnp.maximum(growth, 0.0) * row[RADIUS]
    pull = terms.pull().norm()
    left = jnp.maximum(terms.skin - gone, 0.0)
    return 2.0 * left / (speed + jnp.sqrt(speed * speed + 2.0 * pull * left))


def _spread(row: Array) -> Array:
    """Largest less smallest semi-axis."""
    squares = row[SQUARES]
    return jnp.sqrt(jnp.max(squares)) - jnp.sqrt(jnp.min(squares))


def _touches(terms: Terms, seen: PairView, t: Array) -> tuple[Array, Array]:
    """Whether a pair touches, and whether that cannot be told yet since the direction has not converged."""
    # A direction that has not converged may show an overlap where there is a gap, and bodies that part where they
    # approach: it certifies no step. One that has converged has the right sign.
    settled = jnp.abs(seen.change) < CONVERGED
    close = seen.gap <= terms.touching
    # A step that time cannot tell from none leads to the contact as well as it can be known.
    arrived = (close | (t + seen.sure <= t)) & (seen.rate < 0.0)
    # What is no number certifies nothing: the search then stays where it is, and ends as one that is lost.
    return arrived & settled, ((arrived | close) & ~settled) | jnp.isnan(seen.sure)


def _first_look(arena: Arena, terms: Terms, fluid: Fluid, row: Array, keys: Array, t: Array, limit: Array) -> _Search:
    """All neighbours at once at the present moment."""
    who = jnp.where(keys >= 0, partner_of(keys), arena.spare)
    others = fluid.rows[who]
    apart, sure = separation_at(
        arena, terms, row, others, keys, t, jnp.full(keys.shape, 0.5), turns=FIRST_TURNS, limit=limit
    )
    if terms.shapes is not None:
        # Of the hulls, which may overlap where the bodies do not: that certifies nothing.
        safe = jnp.where(apart.gap > terms.touching, t + sure, t)
        return _Search(safe, apart.normal.array(), jnp.int32(-1), t, jnp.int64(0))
    touches, unclear = _touches(terms, PairView(apart.gap, apart.rate, apart.change, apart.weight, sure), t)
    safe = jnp.where(touches | unclear, t, t + sure)
    return _Search(safe, apart.weight, jnp.int32(-1), t, jnp.int64(0))


def _look(arena, terms: Terms, fluid: Fluid, row: Array, keys: Array, until: Array, limit: Array, search: _Search):
    """One more look at the neighbour that may touch first."""

    def look(k, rows, row, keys, until, limit, safe, hints):
        t, key = safe[k], keys[k]
        other, hint = row_of(rows, partner_of(key)), row_of(hints, k)
        if terms.shapes is not None:
            apart, sure = separation_at(
                arena, terms, row, other, key, t, jnp.full_like(t, 0.5), turns=FIRST_TURNS, limit=limit
            )
            return shaped.look(arena, terms, row, other, key, t, hint, limit, apart, sure), t, until[k]
        apart, sure = separation_at(arena, terms, row, other, key, t, hint, turns=LATER_TURNS, limit=limit)
        return PairView(apart.gap, apart.rate, apart.change, apart.weight, sure), t, until[k]

    k = jnp.argmin(search.safe).astype(jnp.int32)
    # What is seen is computed once: computed again for each decision it could round to different answers, of which
    # one says that the pair touches and the other that it does not, and the search would never end.
    seen, t, end = read(k, look, fluid.rows, row, keys, until, limit, search.safe, search.hint)
    touches, unclear = _touches(terms, seen, t)
    safe = jnp.where(touches | unclear, t, t + seen.sure)
    safe = jnp.where(safe < end, safe, jnp.inf)
    return _Search(
        put(search.safe, k, safe),
        put(search.hint, k, seen.hint),
        jnp.where(touches, k, search.found),
        jnp.where(touches, t, search.at),
        search.looks + 1,
    )


def _note(arena: Arena, terms: Terms, fluid: Fluid, i: Array, keys, limit, reason, search: _Search) -> Fluid:
    """Write down what body `i` waits for; a partner that waited for somebody else lets that one look again."""
    found = search.found >= 0
    k = jnp.maximum(search.found, 0)
    key = jnp.where(found, keys[k], reason).astype(jnp.int32)
    t = jnp.where(found, search.at, limit)
    who = jnp.where(found, partner_of(key), arena.spare)
    pair = who < arena.n
    partner = jnp.where(pair, who, arena.spare)

    def one_waiting_for(partner, waits):
        left = waits[partner]
        jilted = jnp.where((partner < arena.n) & (left >= 0), partner_of(left), arena.spare)
        # Only one that still waits for this partner is concerned.
        theirs = waits[jilted]
        concerned = (theirs >= 0) & (partner_of(theirs) == partner) & (jilted < arena.n)
        return jnp.where(concerned, jilted, arena.spare)

    waits = put(fluid.waits, read(partner, one_waiting_for, fluid.waits), LOOK)
    waits = put(waits, partner, reverse(key, i))
    waits = put(waits, i, key)
    hint = search.hint[k]
    mirrored = 1.0 - hint if terms.shapes is None else -hint
    hints = put(put(fluid.hints, partner, mirrored), i, hint)
    due = tournament.replace(fluid.due, i, t)
    due = tournament.replace(due, jnp.where(pair, partner, i), t)
    tally = fluid.tally
    tally = eqx.tree_at(lambda y: (y.forecasts, y.looks), tally, (tally.forecasts + 1, tally.looks + search.looks))
    stop = jnp.where(search.looks >= MOST_LOOKS, LOST, fluid.stop)
    return eqx.tree_at(lambda f: (f.waits, f.hints, f.due, f.tally, f.stop), fluid, (waits, hints, due, tally, stop))
