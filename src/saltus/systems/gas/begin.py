"""The first state of the loop over contacts."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from saltus.numerics import tournament
from saltus.systems.gas.arena import LEAVE, RUNNING, Arena, Fluid, Grid, Tally, Terms
from saltus.systems.gas.flight import SQUARES, Flight, RoundFlight, SeriesFlight, settled
from saltus.systems.gas.neighbours import anchor_of, cell_of, seat_of


@dataclasses.dataclass
class Bodies:
    """Many bodies as plain arrays; angular momentum in the lab."""

    axes: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    quaternion: np.ndarray
    momentum: np.ndarray


def flight_of(axes: np.ndarray) -> Flight:
    """Closed forms where every body is one of revolution, else series."""
    a, b, c = axes.T
    return RoundFlight() if np.all((a == b) | (b == c) | (a == c)) else SeriesFlight()


def rows_of(flight: Flight, bodies: Bodies, walls: np.ndarray) -> np.ndarray:
    """The rows of bodies, walls (normal and offset) and the spare one, with clocks at zero."""
    n, n_walls = len(bodies.mass), len(walls)
    common = np.zeros((n + n_walls + 1, SQUARES.start + 8))
    common[:n, 1:4], common[:n, 4:7] = bodies.place, bodies.velocity
    common[:, 7] = 1.0
    common[:n, 7:11], common[:n, 11:14] = bodies.quaternion, bodies.momentum
    common[:n, 14:17], common[:n, 17:20] = bodies.axes**2, 1.0 / bodies.inertia
    common[:n, 20], common[:n, 21] = 1.0 / bodies.mass, bodies.axes.max(axis=1)
    common[n : n + n_walls, 1:4] = walls[:, :3] * walls[:, 3:]
    common[n + n_walls, 14:17] = 1.0
    wide = jnp.concatenate([common, jnp.zeros((len(common), flight.WIDTH - common.shape[1]))], axis=1)
    return jax.jit(jax.vmap(lambda row: settled(flight, row)))(wide)


def begun(arena: Arena, terms: Terms, rows) -> Fluid:
    """A fluid in which every body is to make its list at time 0."""
    n, total = arena.n, arena.spare + 1
    anchors = jax.vmap(anchor_of)(rows)
    homes = np.asarray(jax.vmap(lambda place: cell_of(arena, terms, place))(anchors[:n, :3]))
    due = np.full(total, np.inf)
    due[:n] = 0.0
    return Fluid(
        rows=rows,
        due=tournament.tree(jnp.asarray(due)),
        waits=jnp.full(total, LEAVE, jnp.int32),
        hints=jnp.full(total, 0.5),
        near=jnp.full((total, arena.room), -1, jnp.int32),
        count=jnp.zeros(total, jnp.int32),
        anchors=anchors,
        laps=jnp.zeros((total, 3)),
        grid=_grid(arena, homes, np.asarray(jax.vmap(seat_of)(anchors)), total),
        tally=Tally.empty(),
        log=jnp.zeros((arena.log + 1, 5)),
        stop=jnp.asarray(RUNNING, jnp.int32),
    )


def _grid(arena: Arena, homes: np.ndarray, seat: np.ndarray, total: int) -> Grid:
    """Bodies by cell, and the place of each."""
    flat = np.ravel_multi_index(tuple(homes.T), arena.cells)
    cells = np.full((arena.n_cells + 1, arena.cell_room), -1, np.int32)
    seats = np.zeros((len(cells), 9, arena.cell_room))
    filled = np.zeros(len(cells), int)
    place = np.full(total, arena.n_cells * arena.cell_room, np.int32)
    for i, c in enumerate(flat):
        if filled[c] >= arena.cell_room:
            raise OverflowError("A cell is full.")
        cells[c, filled[c]], seats[c, :, filled[c]] = i, seat[i]
        place[i] = c * arena.cell_room + filled[c]
        filled[c] += 1
    return Grid(jnp.asarray(cells), jnp.asarray(seats), jnp.asarray(place))
