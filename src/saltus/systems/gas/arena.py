"""What the compiled loop over collisions works with: sizes, numbers, and the state it carries along."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.laws.impact import AbstractImpactLaw
from saltus.numerics.components import Vec
from saltus.programs.arrays import numbers
from saltus.shapes.base import AbstractShape
from saltus.systems.gas.flight import Flight

# What a body waits for, where it is not a contact (which is a key, >= 0).
LOOK, LEAVE = -1, -2

# What a key is made of: the partner's number, and which periodic image of it is meant.
IMAGES, HOME = 27, 13
BITS = 5

# What is kept of a contact: time, body, partner, normal impulse, loss of energy. Where all is told, then the normal,
# the arms from both centres, the gap; place, velocity, orientation and angular momentum of the body before and after,
# and of its partner; and how often both have gone round the box.
BRIEF = 5
TOLD = 10 + 4 * 13 + 6

# Reasons for which the loop stops before its end.
RUNNING, LISTS_FULL, CELLS_FULL, LOST = 0, 1, 2, 3


@dataclasses.dataclass(frozen=True)
class Arena:
    """The sizes of a program: it is compiled once for each.

    Args:
        n: Number of bodies.
        walls: Number of walls.
        flight: How bodies fly.
        room: Neighbours that a list can hold.
        cells: Cells along each edge of the box.
        cell_room: Bodies that a cell can hold.
        many: Whether along an edge more than the nearest image of a body can be a neighbour.
        log: How many of the last contacts are kept; 0 keeps none.
        everyone: Whether every body is in every list, for good.
        told: Whether all that is known of a contact is kept (`TOLD`), or only when, who and how hard.
    """

    n: int
    walls: int
    flight: Flight
    room: int
    cells: tuple[int, int, int]
    cell_room: int
    many: tuple[bool, bool, bool]
    log: int = 0
    everyone: bool = False
    told: bool = False

    @property
    def log_width(self) -> int:
        """Numbers that are kept of a contact."""
        return BRIEF + (TOLD if self.told else 0)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return self.cells[0] * self.cells[1] * self.cells[2]

    @property
    def spare(self) -> int:
        """The row that takes what nobody needs."""
        return self.n + self.walls


class Terms(eqx.Module):
    """The numbers of a run; other numbers need no other program.

    Args:
        box: Edge lengths; infinite where the box is not periodic.
        origin: Corner of the region that the cells cover.
        region: Edge lengths of that region.
        gravity: Uniform acceleration.
        skin: How far a body may move before its list is made anew.
        scale: Factor of all semi-axes at time 0.
        growth: Its rate.
        touching: Gap that counts as a contact.
        normals: Unit vectors of the walls, into the region of the bodies.
        law: Law of impact.
        shapes: The kinds of shapes that rows name; None where all bodies are ellipsoids.
    """

    box: Float[Array, " 3"]
    origin: Float[Array, " 3"]
    region: Float[Array, " 3"]
    gravity: Float[Array, " 3"]
    skin: Array
    scale: Array
    growth: Array
    touching: Array
    normals: Float[Array, "walls 3"]
    law: AbstractImpactLaw
    shapes: AbstractShape | None = None

    def size(self, t: Array) -> tuple[Array, Array]:
        """By what all bodies are scaled at a time, and the rate of that."""
        return self.scale + self.growth * t, self.growth

    def pull(self) -> Vec:
        """Gravity by components."""
        return Vec.of(self.gravity)


class Tally(eqx.Module):
    """What is summed up over contacts, and what the loop has done."""

    contacts: Array
    virial: Array  # sum of impulse . (centre of the second - centre of the first)
    wall_impulse: Array
    loss: Array  # of energy
    forecasts: Array
    looks: Array  # evaluations of a pair beyond the first of each neighbour
    relists: Array
    deepest: Array  # smallest gap found at a contact

    @staticmethod
    def empty() -> Tally:
        """Nothing yet."""
        zero, none = numbers(0.0), numbers(0, np.int64)
        return Tally(none, zero, zero, zero, none, none, none, zero)


class Grid(eqx.Module):
    """Bodies by the cell in which their anchor is.

    Args:
        cells: Numbers of the bodies in each cell, -1 for an empty seat; a last cell for the spare row.
        seats: Place and form of their anchors.
        place: Seat of each body, counted through all cells.
    """

    cells: Int[Array, "cells cell_room"]
    seats: Float[Array, "cells 9 cell_room"]
    place: Int[Array, " all"]


class Fluid(eqx.Module):
    """All bodies, what each of them waits for, and who is near whom.

    Args:
        rows: One row per body, then the walls, then a spare one (`flight`).
        due: Tournament of the times at which each body needs attention.
        waits: For what: a key of a contact, or LOOK, or LEAVE.
        hints: Weight of the Perram-Wertheim function at that contact; where not all bodies are ellipsoids, the normal.
        near: Keys of the neighbours of each body, -1 beyond the last.
        count: How many they are.
        anchors: Place, orientation and form of each body when its list was made.
        laps: How often each body has gone round the box.
        grid: Bodies by cells.
        tally: Sums.
        log: Time, bodies and impulse of contacts.
        stop: Why the loop cannot go on.
    """

    rows: Float[Array, "all width"]
    due: Float[Array, " tree"]
    waits: Int[Array, " all"]
    hints: Float[Array, " all"] | Float[Array, "all 3"]
    near: Int[Array, "all room"]
    count: Int[Array, " all"]
    anchors: Float[Array, "all 13"]
    laps: Float[Array, "all 3"]
    grid: Grid
    tally: Tally
    log: Float[Array, "log width"]
    stop: Array


def partner_of(key: Array) -> Array:
    """Number of the partner that a key names."""
    return key >> BITS


def image_of(key: Array) -> Vec:
    """Which image of the partner a key names: whole edges of the box."""
    code = key & (2**BITS - 1)
    return Vec(*((code // step % 3 - 1).astype(float) for step in (1, 3, 9)))


def reverse(key: Array, body: Array) -> Array:
    """The same contact as the partner sees it."""
    return (body << BITS) | (IMAGES - 1 - (key & (2**BITS - 1)))


def put(array: Array, index: Array | tuple[Array, Array], value: Array | int) -> Array:
    """One entry, or one row, of an array replaced in place."""
    places = index if isinstance(index, tuple) else (index,)
    starts = [jnp.asarray(place, jnp.int32) for place in places]
    starts += [jnp.int32(0)] * (array.ndim - len(starts))
    value = jnp.asarray(value, array.dtype)
    return jax.lax.dynamic_update_slice(array, value.reshape((1,) * len(places) + array.shape[len(places) :]), starts)


def read(index: Array, look: Callable[..., Any], *arrays: Any) -> Any:
    """What `look(index, *arrays)` finds, found once and before anything that is written later.

    The compiler would otherwise look again wherever the answer is used, also after the array has been changed, and
    would have to keep a copy of the whole array for that. It does not look into the branch of a condition;
    no index is negative.
    """
    shapes = jax.eval_shape(look, index, *arrays)
    blank = jax.tree.map(jnp.zeros_like, shapes)
    return jax.lax.cond(index >= 0, look, lambda *_: blank, index, *arrays)


def row_of(array: Array, index: Array) -> Array:
    """One row of an array."""
    return jax.lax.dynamic_index_in_dim(array, index, keepdims=False)
