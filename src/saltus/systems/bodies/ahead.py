"""Free flight from impact to impact in one compiled program: the loop of a gas serves the bodies of a queue.

The loop foresees all contacts with the same certified steps and applies the law of impact; what it has done is looked
at afterwards, many impacts at a time, with the classification of the queue. Impacts that are plainly impacts are told
as the queue tells them. At the first touch that is more than that (tangential, lasting, at one instant with another)
the loop's work ends, and the queue goes on from the state before it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.contacts.classify import LABELS, LENGTH_ERROR, code_of, tolerances_of
from saltus.contacts.first_contact import TOUCH
from saltus.contacts.local import body_side, fixed_side, meet
from saltus.hybrid.members import Change
from saltus.numerics.on_host import rotation_matrices
from saltus.programs import brief_program
from saltus.shapes.disc import Disc
from saltus.systems.bodies.searches import pair_index, round_axes
from saltus.systems.bodies.state import motion_of, place_of
from saltus.systems.gas.arena import BRIEF
from saltus.systems.gas.bodies import Bodies, Shapes
from saltus.systems.gas.hard_bodies import HardBodies

CHUNK = 64  # impacts that are looked at together
FEW = 2048  # impacts before which the optimised loop would take longer to compile than it saves
NORMAL = LABELS.index("normal")
AT_ONCE = 4.0  # units in the last place of a time: impacts that are nearer count as of one instant
ROW = 13  # place, velocity, orientation, angular momentum


def can_run(system) -> bool:
    """Whether the loop knows the shapes, and there is something to meet."""
    return not isinstance(system.stock.shape, Disc) and system.n + system.n_walls > 1


class Ahead:
    """The bodies of a system in the loop, from a state in which nobody touches for longer than an instant.

    Args:
        system: The system.
        t: Time [s].
        q: Configurations of all bodies.
        v: Velocities of all bodies.
        until: Where to end [s].
    """

    def __init__(self, system, t: float, q: np.ndarray, v: np.ndarray, until: float):
        self.system, self.until = system, until
        self.mass, self.inertia = np.asarray(system.stock.mass), np.asarray(system.stock.inertia)
        place, motion = place_of(q), motion_of(v)
        turns = rotation_matrices(place.quaternion)
        spin = np.einsum("nij,ni->nj", turns, motion.turning)
        axes, shapes = _shapes_of(system)
        bodies = Bodies(
            axes=axes,
            mass=self.mass,
            inertia=self.inertia,
            place=place.centre,
            velocity=motion.velocity,
            quaternion=place.quaternion,
            momentum=np.einsum("nij,nj->ni", turns, spin * self.inertia),
            shapes=shapes,
        )
        walls = [] if system.walls is None else list(zip(*(np.asarray(part) for part in _sides(system)), strict=True))
        box = _extent(bodies) if system.period is None else np.asarray(system.period)
        self.hard = HardBodies(
            bodies,
            box,
            periodic=system.period is not None,
            walls=walls,
            closed=False,
            gravity=np.asarray(system.gravity),
            law=system.law,
            log=CHUNK,
            told=True,
            began=t,
            # As `first_contact` has it, but for the rounding of places.
            touching=2.0 * TOUCH * float(bodies.radius.max()) + 4.0 * float(np.spacing(np.abs(place.centre).max())),
            checked=True,
            few=FEW,
        )
        self.last = t

    def next(self) -> tuple[list[tuple[float, Change]], bool, bool]:
        """The next impacts with their times, whether the end is reached, and whether the loop may go on."""
        done = self.hard.advance(self.until - self.hard.time, contacts=CHUNK)
        count = int(done.contacts)
        rows = self.hard.contacts()[-count:] if count else np.zeros((0, self.hard.arena.log_width))
        impacts = _Impacts(self.system, rows, np.asarray(self.hard.terms.box))
        plain = impacts.plain(self.last)
        stuck = self.hard.outcome is not None and self.hard.outcome.name != "at_rest"
        changes = [impacts.change(k) for k in range(plain)]
        self.last = changes[-1][0] if changes else self.last
        goes_on = plain == count and not stuck
        ended = goes_on and (self.hard.outcome is not None or self.hard.time >= self.until)
        return changes, ended, goes_on


def _shapes_of(system) -> tuple[np.ndarray, Shapes | None]:
    """Semi-axes of all bodies, and their shapes where these are no ellipsoids."""
    stock = system.stock.shape
    axes = round_axes(stock)
    if axes is not None:
        return axes, None
    # Which of them are of revolution matters for degrees of freedom alone.
    shapes = Shapes.of_stack(stock, np.arange(system.n), np.zeros((system.n, 3), bool))
    return shapes.hull, shapes


def _sides(system) -> tuple[Array, Array]:
    return system.walls.normal, system.walls.offset


def _extent(bodies: Bodies) -> np.ndarray:
    """Edges of a box about the origin that holds the bodies now."""
    reach = np.abs(bodies.place).max(axis=0) + bodies.radius.max()
    return 2.0 * reach


class _Impacts:
    """Rows of the loop's log as the queue's contacts: a first partner (a wall, or the smaller number) and a second."""

    def __init__(self, system, rows: np.ndarray, box: np.ndarray):
        self.system, self.n = system, system.n
        self.t, self.loss, self.impulse = rows[:, 0], rows[:, 4], rows[:, 3]
        one, two = rows[:, 1].astype(int), rows[:, 2].astype(int)
        self.wall = two >= self.n
        swap = self.wall | (one > two)  # the loop's body becomes the second
        normal, arm, arm2, gap = np.split(rows[:, BRIEF : BRIEF + 10], (3, 6, 9), axis=1)
        states = rows[:, BRIEF + 10 : BRIEF + 10 + 4 * ROW].reshape(-1, 2, 2, ROW)  # partner, side, numbers
        laps = rows[:, -6:].reshape(-1, 2, 3) * np.where(np.isfinite(box), box, 0.0)
        states[..., :3] += laps[:, :, None, :]
        flip = swap[:, None]
        self.first, self.second = np.where(swap, two, one), np.where(swap, one, two)
        self.normal, self.gap = np.where(flip, -normal, normal), gap[:, 0]
        self.arm1, self.arm2 = np.where(flip, arm2, arm), np.where(flip, arm, arm2)
        flip = swap[:, None, None]
        self.state1, self.state2 = (np.where(flip, states[:, 1 - k], states[:, k]) for k in (0, 1))
        self.told = self._look_at() if len(rows) else np.zeros((0, 6))

    def _look_at(self) -> np.ndarray:
        """Kind, rate, second and third derivative of the gap before; rate after, and what counts as none then."""
        count = len(self.t)
        fill = np.minimum(np.arange(CHUNK), count - 1)
        first = np.where(self.wall, self.second, self.first)  # a wall is no body; its side is not used
        parts = (first, self.second, self.wall, self.normal, self.arm1, self.arm2, self.state1, self.state2)
        found = _meetings(self.system, *(part[fill] for part in parts))
        return np.asarray(found)[:count]

    def plain(self, last: float) -> int:
        """How many of the impacts, from the first on, are plainly impacts."""
        code, _, _, _, after, still = self.told.T
        slow = np.abs(after) <= np.maximum(float(self.system.settle_speed), still)
        before = np.concatenate([[last], self.t[:-1]]) if len(self.t) else self.t
        at_once = self.t - before <= AT_ONCE * np.spacing(np.abs(self.t))
        at_once[:1] &= self.t[:1] <= before[:1]
        # Of several at one instant the first is not plain either.
        at_once[:-1] |= at_once[1:]
        odd = np.flatnonzero((code != NORMAL) | slow | at_once)
        return int(odd[0]) if odd.size else len(self.t)

    def change(self, k: int) -> tuple[float, Change]:
        """Time and change of one impact."""
        first, second = int(self.first[k]), int(self.second[k])
        members = [second] if self.wall[k] else [first, second]
        state = np.stack([self.state1[k, 1], self.state2[k, 1]])[-len(members) :]
        q = np.concatenate([state[:, :3], state[:, 6:10]], axis=1)
        omega = _angular_velocity(state, np.asarray(self.system.stock.inertia)[members])
        v = np.concatenate([state[:, 3:6], omega, np.zeros((len(members), 1))], axis=1)
        lost = 0.0 if self.system.law.lossless else max(float(self.loss[k]), 0.0)
        code, rate, bend, jerk, _, _ = self.told[k]
        data = {
            "body": second,
            "partner": first,
            "label": LABELS[int(code)],
            "impulse": float(self.impulse[k]),
            "point": self.state2[k, 0, :3] + self.arm2[k],
            "normal": self.normal[k],
            "normal_velocity": float(rate),
            "gap_acceleration": float(bend),
            "gap_jerk": float(jerk),
            "force_rate": float("nan"),
            "energy_loss": lost,
        }
        change = Change(
            name="impact",
            index=pair_index(self.system, (first, second)),
            members=tuple(members),
            q=q,
            v=v,
            mode=np.zeros(len(members), int),
            ledger=np.array([lost]),
            data=data,
        )
        return float(self.t[k]), change


def _angular_velocity(state: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Angular velocities in the lab of rows of the loop."""
    turns = rotation_matrices(state[:, 6:10])
    return np.einsum("nij,nj->ni", turns, np.einsum("nij,ni->nj", turns, state[:, 10:13]) / inertia)


@brief_program
def _meetings(system, first, second, wall, normal, arm1, arm2, state1, state2) -> Array:
    """What the queue asks of a touch, for many impacts: before and after each."""

    def body(index, row, side):
        q = jnp.concatenate([row[side, :3], row[side, 6:10]])
        one = system.at(q, jnp.zeros(7), index)
        omega = one.inverse_inertia() @ row[side, 10:13]
        return one.with_motion(one.center, row[side, 3:6], one.quaternion, omega)

    def meeting_at(side, i, j, at_wall, n, arm1, arm2, row1, row2):
        one, two = body(i, row1, side), body(j, row2, side)
        none = jnp.zeros(())
        free = jax.tree.map(
            lambda fixed, moving: jnp.where(at_wall, fixed, moving),
            fixed_side(),
            body_side(one, one.center + arm1, n, none),
        )
        pull = jnp.where(at_wall, system.gravity, 0.0)
        motion = meet(free, body_side(two, two.center + arm2, -n, none, pull), n, none)
        size = two.shape.radius() + jnp.where(at_wall, 0.0, one.shape.radius())
        turning = jnp.maximum(
            jnp.linalg.norm(two.angular_velocity), jnp.where(at_wall, 0.0, jnp.linalg.norm(one.angular_velocity))
        )
        return motion, tolerances_of(motion, turning, size, LENGTH_ERROR * size)

    def describe(given):
        motion, allowed = jax.lax.map(lambda side: meeting_at(side, *given), jnp.arange(2))
        row = [code_of(*_first((motion, allowed))).astype(float), motion.v[0], motion.a_eff[0], motion.gap3[0]]
        return jnp.stack([*row, motion.v[1], allowed.v[1]])

    given = (first, second, wall, normal, arm1, arm2, state1, state2)
    return jax.lax.map(describe, tuple(jnp.asarray(part) for part in given))


def _first(tree):
    return jax.tree.map(lambda leaf: leaf[0], tree)
