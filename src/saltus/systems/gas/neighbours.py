"""Who is near whom: lists of the bodies that can touch while both stay within their skins.

A body within its skin has a support function that differs from that of its anchor by less than the skin, in every
direction. So if for any n the anchors are apart by s(n) > two skins, the bodies cannot touch, and need not be in each
other's lists. When a body leaves its skin its own list is made anew, and it is taken from and put into those of others.
"""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.numerics.components import Sym, Turn, Vec
from saltus.systems.gas.arena import (
    BITS,
    CELLS_FULL,
    HOME,
    LISTS_FULL,
    Arena,
    Fluid,
    Grid,
    Terms,
    image_of,
    partner_of,
    put,
    read,
    reverse,
    row_of,
)
from saltus.systems.gas.flight import CLOCK, PLACE, QUATERNION, SQUARES, vector
from saltus.systems.gas.separation import common_direction

WORD = 64  # seats whose answers fit into one integer
TURNS = 2  # of Newton's method for the direction between two anchors


def relist(arena: Arena, terms: Terms, fluid: Fluid, row: Array, i: Array, leaves: Array) -> tuple[Fluid, Array]:
    """The fluid in which body `i`, if it leaves its skin, has a new anchor and new neighbours; and its row, in the box.

    Where `leaves` is false the spare row is worked on and loops have no turns: a branch would copy the lists.
    The row is for the caller to write.
    """
    i = jnp.where(leaves, i, arena.spare)
    periodic = jnp.isfinite(terms.box)
    laps = jnp.where(leaves & periodic, jnp.floor((row[PLACE] - terms.origin) / terms.box), 0.0)
    place = row[PLACE] - laps * jnp.where(periodic, terms.box, 0.0)
    row = jnp.concatenate([row[:1], place, row[PLACE.stop :]])
    anchor = anchor_of(row)
    had, gone, seat = read(
        i, lambda i, *arrays: tuple(row_of(array, i) for array in arrays), fluid.count, fluid.laps, fluid.grid.place
    )
    near, count = _forget(fluid.near, fluid.count, i, jnp.where(leaves, had, 0))
    near, count = put(near, i, jnp.full(arena.room, -1)), put(count, i, 0)
    anchors, laps = put(fluid.anchors, i, anchor), put(fluid.laps, i, gone + laps)
    grid, crowded = _move_seat(arena, terms, fluid.grid, i, anchor, seat)
    size, _ = terms.size(row[CLOCK])
    near, count, full = _enter(arena, terms, anchors, grid, (near, count, False), i, anchor, size)
    stop = jnp.where(full, LISTS_FULL, jnp.where(crowded & leaves, CELLS_FULL, fluid.stop))
    fluid = eqx.tree_at(
        lambda f: (f.anchors, f.laps, f.grid, f.near, f.count, f.stop, f.tally.relists),
        fluid,
        (anchors, laps, grid, near, count, stop, fluid.tally.relists + leaves),
    )
    return fluid, row


def anchor_of(row: Array) -> Array:
    """Place, orientation and form of a row."""
    form = Turn.of_quaternion(row[QUATERNION]).spread(vector(row, SQUARES))
    return jnp.concatenate([row[PLACE], row[QUATERNION], jnp.stack(jax.tree.leaves(form))])


def form_of(anchor: Array) -> Sym:
    """The form of an anchor."""
    return _form(anchor, 7)


def _form(numbers: Array, first: int) -> Sym:
    return Sym(*(numbers[first + k] for k in range(6)))


def _forget(near: Array, count: Array, i: Array, had: Array) -> tuple[Array, Array]:
    """The lists of others without body `i`, which had so many neighbours."""

    def find(i, m, near, count):
        key = near[i, m]
        j = partner_of(key)
        theirs, last = row_of(near, j), count[j] - 1
        return j, jnp.argmax(theirs == reverse(key, i)).astype(jnp.int32), last, theirs[last]

    def one(m, carry):
        near, count = carry
        j, at, last, moved = read(i, find, m, near, count)
        return put(put(near, (j, at), moved), (j, last), -1), put(count, j, last)

    return jax.lax.fori_loop(0, had, one, (near, count))


def cell_of(arena: Arena, terms: Terms, place: Array) -> Array:
    """Cell in which a place is, along each edge."""
    shape = jnp.asarray(arena.cells)
    inside = jnp.floor((place - terms.origin) / terms.region * shape).astype(jnp.int32)
    return jnp.clip(inside, 0, shape.astype(jnp.int32) - 1)


def seat_of(anchor: Array) -> Array:
    """What a cell keeps of an anchor: place and form."""
    return jnp.concatenate([anchor[:3], anchor[7:]])


def _move_seat(arena: Arena, terms: Terms, grid: Grid, i: Array, anchor: Array, held: Array) -> tuple[Grid, Array]:
    """The grid with body `i` where its anchor now is, and whether that cell has no seat left."""
    ix, iy, iz = cell_of(arena, terms, anchor[:3])
    old, seat = held // arena.cell_room, held % arena.cell_room
    new = jnp.where(i < arena.n, (ix * arena.cells[1] + iy) * arena.cells[2] + iz, arena.n_cells)
    # The old seat goes through here so that it is emptied after the names have been read.
    names, old, seat = read(new, lambda new, cells, *held: (row_of(cells, new), *held), grid.cells, old, seat)
    free = (names < 0) | ((new == old) & (jnp.arange(arena.cell_room) == seat))
    hole = jnp.argmax(free).astype(jnp.int32)
    cells = put(put(grid.cells, (old, seat), -1), (new, hole), i)
    seats = _take(_take(grid.seats, old, seat, jnp.zeros(9)), new, hole, seat_of(anchor))
    return Grid(cells, seats, put(grid.place, i, new * arena.cell_room + hole)), ~jnp.any(free)


def _take(seats: Array, cell: Array, seat: Array, numbers: Array) -> Array:
    starts = (cell.astype(jnp.int32), jnp.int32(0), seat.astype(jnp.int32))
    return jax.lax.dynamic_update_slice(seats, numbers[None, :, None], starts)


def _offsets(arena: Arena) -> np.ndarray:
    """The cells around one, as steps along each edge, each cell once."""
    steps = [(0,) if n == 1 else (-1, 0, 1) for n in arena.cells]
    return np.array(list(itertools.product(*steps)), np.int32)


def _images(arena: Arena) -> np.ndarray:
    """The images to be looked at beyond the nearest, as whole edges of the box."""
    steps = [(-1, 0, 1) if many else (0,) for many in arena.many]
    return np.array(list(itertools.product(*steps)), float)


def _enter(arena: Arena, terms: Terms, anchors: Array, grid: Grid, lists: tuple, i: Array, anchor: Array, size: Array):
    """The lists with body `i` among those that it can reach; and whether a list is full."""
    offsets, images = jnp.asarray(_offsets(arena)), jnp.asarray(_images(arena))
    home, shape = cell_of(arena, terms, anchor[:3]), jnp.asarray(arena.cells, jnp.int32)
    periodic = jnp.isfinite(terms.box)

    def cell(m, lists):
        around = home + offsets[m // len(images)]
        wrapped = around % shape
        inside = jnp.all(periodic | (around == wrapped))
        c = (wrapped[0] * shape[1] + wrapped[1]) * shape[2] + wrapped[2]
        here, names = row_of(grid.seats, c), row_of(grid.cells, c)
        hit, codes = _near_seats(arena, terms, anchor, here, images[m % len(images)], size)
        return _each_bit(
            hit & (names >= 0) & inside,
            lambda seat, lists: _enter_pair(
                arena, terms, anchors, (i, anchor), (names[seat] << BITS) | codes[seat], size, lists
            ),
            lists,
        )

    total = jnp.where(i < arena.n, len(offsets) * len(images), 0)
    return jax.lax.fori_loop(0, total, cell, lists)


def _near_seats(arena: Arena, terms: Terms, anchor: Array, seats: Array, image: Array, size: Array):
    """Which seats of a cell are near along the line of the centres, and the images of them that are meant."""
    periodic = jnp.isfinite(terms.box)
    edges = jnp.where(periodic, terms.box, 0.0)
    parts, steps = [], []
    for axis in range(3):
        apart = seats[axis] - anchor[axis]
        step = jnp.full_like(apart, image[axis])
        if not arena.many[axis]:
            step = step - jnp.where(periodic[axis], jnp.round(apart / terms.box[axis]), 0.0)
        parts.append(apart + step * edges[axis])
        steps.append(step)
    apart = Vec(*parts)
    # In the direction of the centres s(n) needs no search.
    extent = jnp.sqrt((form_of(anchor) @ apart).dot(apart)) + jnp.sqrt((_form(seats, 3) @ apart).dot(apart))
    distance2 = apart.dot(apart)
    hit = (distance2 - size * extent < 2.0 * terms.skin * jnp.sqrt(distance2)) & (distance2 > 0.0)
    code = (steps[0] + 3.0 * steps[1] + 9.0 * steps[2]).astype(jnp.int32) + HOME
    return hit, code


def _each_bit(hit: Array, act, carry):
    """Act for the number of every entry that is true, found as the bits of integers."""
    powers = jnp.asarray(np.uint64(1) << np.arange(WORD, dtype=np.uint64))
    words = jnp.sum(jnp.where(hit.reshape(-1, WORD), powers, jnp.uint64(0)), axis=1, dtype=jnp.uint64)
    for word in range(words.shape[0]):

        def one(state, word=word):
            bits, carry = state
            lowest = jax.lax.population_count((bits & (~bits + 1)) - 1).astype(jnp.int32)
            return bits & (bits - 1), act(lowest + word * WORD, carry)

        _, carry = jax.lax.while_loop(lambda state: state[0] != 0, one, (words[word], carry))
    return carry


def _enter_pair(arena: Arena, terms: Terms, anchors: Array, body: tuple, key: Array, size: Array, lists: tuple):
    """The lists with one pair, if its anchors are less than two skins apart."""
    near, count, full = lists
    (i, mine), j = body, partner_of(key)
    # The distance is computed once: computed again for each list it could round to different answers, of which one
    # enters the pair and the other does not.
    reached = (read(j, _apart, terms, anchors, mine, key, size) < 2.0 * terms.skin) & (j != i)
    owners = tuple(jnp.where(reached, owner, arena.spare) for owner in (i, j))
    counts = read(owners[0], lambda one, two, count: (count[one], count[two]), owners[1], count)
    for owner, entry, here in zip(owners, (key, reverse(key, i)), counts, strict=True):
        full = full | (reached & (here >= arena.room))
        near = put(near, (owner, jnp.minimum(here, arena.room - 1)), entry)
        count = put(count, owner, jnp.where(reached, jnp.minimum(here + 1, arena.room), 0))
    return near, count, full


def _apart(j: Array, terms: Terms, anchors: Array, mine: Array, key: Array, size: Array) -> Array:
    """How far an anchor is certainly apart from that of body `j`, in the image that a key names."""
    theirs = row_of(anchors, j)
    edges = Vec.of(jnp.where(jnp.isfinite(terms.box), terms.box, 0.0))
    apart = Vec.of(theirs[:3]) - Vec.of(mine[:3]) + image_of(key).times(edges)
    a, b = form_of(mine), form_of(theirs)
    normal, _, _ = common_direction(a, b, apart, jnp.asarray(0.5), TURNS)
    extent = jnp.sqrt((a @ normal).dot(normal)) + jnp.sqrt((b @ normal).dot(normal))
    return normal.dot(apart) - size * extent
