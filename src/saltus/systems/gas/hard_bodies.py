"""Hard bodies that fly and collide: the loop over contacts, driven in pieces."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from saltus import checks
from saltus._jax_settings import remind_of_configure
from saltus.hybrid import Outcome
from saltus.laws.impact import AbstractImpactLaw, Elastic
from saltus.numerics import tournament
from saltus.numerics.components import Vec
from saltus.numerics.on_host import rotation_matrices
from saltus.programs import program
from saltus.programs.arrays import numbers
from saltus.systems.gas.arena import (
    BITS,
    HOME,
    LEAVE,
    LISTS_FULL,
    LOOK,
    LOST,
    RUNNING,
    Arena,
    Fluid,
    Grid,
    Tally,
    Terms,
)
from saltus.systems.gas.bodies import Bodies, rows_of
from saltus.systems.gas.flight import MOMENTUM, PLACE, QUATERNION, SQUARES, VELOCITY, move_row, settle_row
from saltus.systems.gas.loop import advance, advance_briefly
from saltus.systems.gas.overlap import gaps, supports
from saltus.systems.gas.sizes import larger, sizes

TOUCHING = 1e-14  # gap that counts as a contact, in units of the box or of the bodies
INSTEAD = "Without [measure] the same bodies are followed through contact that lasts."
PATIENCE = 100  # contacts per body without progress in time that count as a collapse


class HardBodies:
    """Hard ellipsoids in a box, with all that the loop over their contacts needs.

    Args:
        bodies: The bodies; they must not overlap.
        box: Edge lengths of the box about the origin [m].
        periodic: Whether the box is periodic; for all edges, or for each.
        walls: Further walls as (normal, offset): bodies are where normal . x > offset.
        closed: Whether the box has walls along the edges that are not periodic.
        gravity: Uniform acceleration [m s-2].
        law: Law of impact; elastic if not given.
        scale: Factor of all semi-axes.
        growth: Its rate [s-1].
        largest: The largest scale that will be reached.
        log: How many of the last contacts are kept one by one; 0 keeps none.
        told: Whether all that is known of them is kept (`arena.TOLD`).
        began: Time of the start [s].
        touching: Gap that counts as a contact [m]; 1e-14 of the box or of the bodies if not given.
        checked: Whether somebody has looked already that no bodies overlap.
        few: Contacts, from the start on, for which a program serves that is compiled in half the time.
    """

    def __init__(
        self,
        bodies: Bodies,
        box: Sequence[float] | np.ndarray,
        *,
        periodic: bool | Sequence[bool] = True,
        walls: Sequence[tuple[Sequence[float] | np.ndarray, float]] = (),
        closed: bool = True,
        gravity: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
        law: AbstractImpactLaw | None = None,
        scale: float = 1.0,
        growth: float = 0.0,
        largest: float | None = None,
        log: int = 0,
        told: bool = False,
        began: float = 0.0,
        touching: float | None = None,
        checked: bool = False,
        few: int = 0,
    ):
        remind_of_configure()
        checks.shaped("box", box, (3,), "Give three edge lengths.")
        checks.positive("box", box)
        checks.finite("gravity", gravity)
        self.bodies, self.box = bodies, np.asarray(box, float)
        self.periodic = np.broadcast_to(np.asarray(periodic, bool), (3,))
        self.walls = _planes([*walls, *(self._faces() if closed else [])])
        self.time, self.outcome, self.few = began, None, few
        most = max(scale, largest or scale)
        if touching is None:
            touching = TOUCHING * float(max(self.box.max(), bodies.radius.max() * most))
        found = sizes(bodies, self.box, self.periodic, len(self.walls), scale=most, log=log)
        self.arena = dataclasses.replace(found.arena, told=told)
        self.terms = Terms(
            box=numbers(np.where(self.periodic, self.box, np.inf)),
            origin=numbers(-0.5 * self.box),
            region=numbers(self.box),
            gravity=numbers(gravity),
            skin=numbers(found.skin),
            scale=numbers(scale),
            growth=numbers(growth),
            touching=numbers(touching),
            normals=numbers(self.walls[:, :3]),
            law=Elastic() if law is None else law,
            shapes=None if bodies.shapes is None else bodies.shapes.stock,
        )
        if not checked:
            self._refuse_overlap(scale)
        self.fluid = self._begin(rows_of(self.arena.flight, bodies, self.walls))

    def _refuse_overlap(self, scale: float) -> None:
        """Bodies may touch at the start, but not overlap."""
        bodies = self.bodies
        edges = np.where(self.periodic, self.box, np.inf)
        depth = -float(gaps(bodies, edges, scale).min())
        allowed = 1e-9 * float(bodies.axes.max())
        if depth > allowed:
            raise ValueError(
                f"Two bodies overlap by {depth:.3g} m at the start (allowed {allowed:.1g} m). Move them apart."
            )
        for normal, offset in zip(self.walls[:, :3], self.walls[:, 3], strict=True):
            reach = scale * supports(bodies, -normal)
            deep = float(np.max(offset + reach - bodies.place @ normal))
            if deep > allowed:
                raise ValueError(
                    f"A body overlaps a wall by {deep:.3g} m at the start (allowed {allowed:.1g} m). Move it inside."
                )

    def _faces(self) -> list[tuple[np.ndarray, float]]:
        """The faces of the box along the edges that are not periodic."""
        faces = []
        for axis in np.flatnonzero(~self.periodic):
            faces += [(sign * np.eye(3)[axis], -0.5 * self.box[axis]) for sign in (1.0, -1.0)]
        return faces

    def _begin(self, rows, before: Fluid | None = None) -> Fluid:
        """A fluid in which every body makes its list at time 0; it goes on with the sums of the one before."""
        while True:
            try:
                return begin(self.arena, self.terms, rows, before)
            except OverflowError:
                self.arena = larger(self.arena, lists=False)

    # ---- going on ------------------------------------------------------------------------------

    def advance(self, duration: float = np.inf, contacts: int | None = None) -> Tally:
        """Let the bodies move for a time, or for a number of contacts; what happened is summed up.

        A run that cannot go on has an `outcome` afterwards.
        """
        before, left = self.fluid.tally, duration
        goal = np.inf if contacts is None else int(before.contacts) + contacts
        patience = PATIENCE * self.arena.n + 1000
        while left > 0.0 and int(self.fluid.tally.contacts) < goal and self.outcome is None:
            had = int(self.fluid.tally.contacts)
            passed = self._step(left, min(goal, had + patience))
            if self.outcome is not None:
                break
            left -= passed
            if int(self.fluid.tally.contacts) - had >= patience and passed < 1e-9 * self._pace():
                self.outcome = Outcome(
                    "accumulation",
                    f"Stopped at t = {self.time:.9g} s: inelastic collapse, {patience} contacts within {passed:.3g} s. "
                    f"{INSTEAD}",
                )
        return jax.tree.map(lambda now, then: np.asarray(now) - np.asarray(then), self.fluid.tally, before)

    def _pace(self) -> float:
        """Time in which a body of mean speed moves by its radius."""
        speed = float(np.sqrt(np.mean(np.asarray(self.fluid.rows)[: self.arena.n, VELOCITY] ** 2)))
        return float(self.bodies.axes.mean()) / max(speed, 1e-300)

    def _step(self, until: float, goal: float) -> float:
        """One call of the loop; lists that get full are made larger and the call is made again. Returns its time."""
        end, most = np.float64(until), np.int64(min(goal, 2**62))
        while True:
            loop = advance_briefly if int(self.fluid.tally.contacts) < self.few else advance
            fluid, passed = loop(self.arena, self.terms, self.fluid, np.float64(self.time), end, most)
            stop = int(fluid.stop)
            if stop in (RUNNING, LOST):
                break
            self.arena = larger(self.arena, lists=stop == LISTS_FULL)
            self.fluid = self._begin(self._rows_now(), self.fluid)
        self.fluid, passed = fluid, float(passed)
        if not np.isfinite(passed):
            self.outcome = Outcome("at_rest", f"Nothing moves any more at t = {self.time:.9g} s.")
            return 0.0
        self.time += passed
        if growth := float(self.terms.growth):
            self.terms = dataclasses.replace(self.terms, scale=numbers(self.scale + growth * passed))
        if stop == LOST:
            self.outcome = self._stuck_outcome()
        return passed

    def _stuck_outcome(self) -> Outcome:
        """Two bodies touch again before time can tell the two touches apart."""
        at = f"Stopped at t = {self.time:.9g} s"
        if self.terms.law.lossless:
            return Outcome("stalled", f"{at}: two bodies stay in contact without bouncing. {INSTEAD}")
        text = "inelastic collapse, contacts follow each other within rounding."
        return Outcome("accumulation", f"{at}: {text} {INSTEAD}")

    def _rows_now(self):
        return _move(self.arena.flight, self.fluid.rows, self.terms.gravity)

    def restart(self, bodies: Bodies, *, scale: float | None = None, growth: float | None = None) -> None:
        """Go on from other bodies of the same shapes, at another scale or growth."""
        self.bodies = bodies
        if scale is not None:
            self.terms = dataclasses.replace(self.terms, scale=numbers(scale))
        if growth is not None:
            self.terms = dataclasses.replace(self.terms, growth=numbers(growth))
        zero = dataclasses.replace(self.fluid, laps=numbers(np.zeros(self.fluid.laps.shape)))
        self.fluid = self._begin(rows_of(self.arena.flight, bodies, self.walls), zero)

    # ---- what there is -------------------------------------------------------------------------

    @property
    def scale(self) -> float:
        """Factor of all semi-axes now."""
        return float(self.terms.scale)

    def snapshot(self) -> Bodies:
        """The bodies now, with places that go on across the faces of a periodic box."""
        rows = np.asarray(self._rows_now())[: self.arena.n]
        laps = np.asarray(self.fluid.laps)[: self.arena.n] * np.where(self.periodic, self.box, 0.0)
        # Copies of their own: sums over views of the rows would round otherwise than over what a checkpoint restores.
        return dataclasses.replace(
            self.bodies,
            place=rows[:, PLACE] + laps,
            velocity=rows[:, VELOCITY].copy(),
            quaternion=rows[:, QUATERNION].copy(),
            momentum=rows[:, MOMENTUM].copy(),
        )

    def contacts(self) -> np.ndarray:
        """The last contacts in their order: time, body, partner, normal impulse, loss of energy.

        Walls are counted after all bodies.
        """
        size, total = self.arena.log, int(self.fluid.tally.contacts)
        if not size:
            return np.zeros((0, self.arena.log_width))
        return np.asarray(self.fluid.log)[np.arange(max(0, total - size), total) % size]


def _planes(walls: Sequence[tuple[Sequence[float] | np.ndarray, float]]) -> np.ndarray:
    """Walls as rows of a unit normal and an offset."""
    rows = np.array([[*np.asarray(normal, float), offset] for normal, offset in walls]).reshape(-1, 4)
    checks.finite("walls", rows)
    lengths = np.linalg.norm(rows[:, :3], axis=1)
    checks.positive("length of a wall's normal", lengths)
    return rows / lengths[:, None]


def begin(arena: Arena, terms: Terms, rows, before: Fluid | None = None) -> Fluid:
    """A fluid in which every body makes its list at time 0; it goes on with the sums of the one before."""
    n, total = arena.n, arena.spare + 1
    rows = np.array(rows)
    box, origin, region = (np.asarray(part) for part in (terms.box, terms.origin, terms.region))
    periodic = np.isfinite(box)
    more = np.where(periodic, np.floor((rows[:, PLACE] - origin) / box), 0.0)
    more[n:] = 0.0
    rows[:, PLACE] -= more * np.where(periodic, box, 0.0)
    turns = rotation_matrices(rows[:, QUATERNION])
    forms = np.einsum("nij,nj,nkj->nik", turns, rows[:, SQUARES], turns)
    forms = forms[:, (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]  # as `Sym` orders them
    anchors = np.concatenate([rows[:, PLACE], rows[:, QUATERNION], forms], axis=1)
    homes = np.floor((rows[:n, PLACE] - origin) / region * arena.cells).astype(int)
    homes = np.clip(homes, 0, np.array(arena.cells) - 1)
    due = np.full(total, np.inf)
    due[:n] = 0.0
    waits, near, count = _lists(arena, total)
    laps = more if before is None else more + np.asarray(before.laps)
    return Fluid(
        rows=numbers(rows),
        due=numbers(tournament.tree(due)),
        waits=numbers(waits, None),
        hints=numbers(np.full(total, 0.5) if terms.shapes is None else np.tile([1.0, 0.0, 0.0], (total, 1))),
        near=numbers(near, None),
        count=numbers(count, None),
        anchors=numbers(anchors),
        laps=numbers(laps),
        grid=_grid(arena, homes, np.concatenate([rows[:, PLACE], forms], axis=1), total),
        tally=Tally.empty() if before is None else before.tally,
        log=numbers(np.zeros((arena.log + 1, arena.log_width))) if before is None else before.log,
        stop=numbers(RUNNING, np.int32),
    )


def _lists(arena: Arena, total: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What bodies wait for at first, the keys of their neighbours, and how many they are: none yet, or all."""
    near, count = np.full((total, arena.room), -1, np.int32), np.zeros(total, np.int32)
    if not arena.everyone:
        return np.full(total, LEAVE, np.int32), near, count
    for i in range(arena.n):
        near[i, : arena.n - 1] = (np.delete(np.arange(arena.n), i) << BITS) | HOME
    count[: arena.n] = arena.n - 1
    return np.full(total, LOOK, np.int32), near, count


def _grid(arena: Arena, homes: np.ndarray, seat: np.ndarray, total: int) -> Grid:
    """Bodies by cell, and the place of each."""
    flat = np.ravel_multi_index(tuple(homes.T), arena.cells)
    cells = np.full((arena.n_cells + 1, arena.cell_room), -1, np.int32)
    seats = np.zeros((len(cells), 9, arena.cell_room))
    filled = np.zeros(len(cells), int)
    place = np.full(total, arena.n_cells * arena.cell_room, np.int32)
    for i, c in enumerate(np.atleast_1d(flat)):
        if filled[c] >= arena.cell_room:
            raise OverflowError("A cell is full.")
        cells[c, filled[c]], seats[c, :, filled[c]] = i, seat[i]
        place[i] = c * arena.cell_room + filled[c]
        filled[c] += 1
    return Grid(numbers(cells, None), numbers(seats), numbers(place, None))


@program
def _move(flight, rows, gravity):
    """Rows with all clocks at zero."""
    return jax.vmap(lambda row: settle_row(flight, move_row(flight, row, jnp.zeros(()), Vec.of(gravity))))(rows)
