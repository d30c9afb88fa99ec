"""Bodies that stay in contact for a while under finite contact forces."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from saltus.shapes.body import Body
from saltus.systems.bodies.closed import Closed, closed_pairs, closed_walls

HOLD = 10.0  # rate at which a gap that has opened by rounding is closed again, in units of the motion's own
FLATNESS = 0.1  # see `closed`; for shapes with flats
BLEND = 1e-3  # of the stopping speed: how sharply friction turns round with the slip
ROW = 13  # place, orientation, velocity, spin


@dataclasses.dataclass(frozen=True)
class Contacts:
    """Closed contacts of a band: pairs first, then walls.

    Args:
        names: The contacts as the crowd knows them.
        first: Number of each pair's first body within the band.
        second: Number of every contact's second body within the band.
        shift: Whole periods by which the first is moved next to the second [m].
        planes: Normal and offset of each wall.
        slack: Force below zero that still counts as none [N].
        sticks: Which of the contacts stick; without friction none does.
        heading: Direction of slip of those that do not, a unit vector.
    """

    names: list[tuple[int, int]]
    first: np.ndarray
    second: np.ndarray
    shift: np.ndarray
    planes: np.ndarray
    slack: np.ndarray
    sticks: np.ndarray
    heading: np.ndarray

    @property
    def n_pairs(self) -> int:
        return len(self.first)


@dataclasses.dataclass(frozen=True)
class Pressed:
    """The contact forces at an instant, and what they come from; forces and rates are times kappa.

    Args:
        rows: The bodies.
        inverse: Inverse inertia of each body in the lab.
        spin: Rate of its free spin.
        closed: The contacts.
        others: For each contact the product of the factors of all others.
        kappa: The product of all factors.
        normal: Normal forces [N].
        tangent: Friction forces on the second body [N].
        resistance: Normal acceleration per normal force, friction included, over the same without it.
        moved: Accelerations of each body by all contact forces.
    """

    rows: np.ndarray
    inverse: np.ndarray
    spin: np.ndarray
    closed: Closed
    others: np.ndarray
    kappa: float
    normal: np.ndarray
    tangent: np.ndarray
    resistance: np.ndarray
    moved: np.ndarray


@dataclasses.dataclass(frozen=True)
class Bond:
    """A few bodies of a crowd that press on each other (`hybrid.crowd.Band`).

    The normal forces keep the second derivative of every closed gap at zero and do no work. With friction, a contact
    either slips against mu times its normal force, or sticks: its slip stays zero. The contact points are followed with
    the motion, so no gap is searched for. Variables: clock, energy lost to friction, rows of the bodies, marks of the
    contacts in the frames of both bodies. The independent variable runs so that dt = kappa ds (`closed`).

    Args:
        members: The bodies, by their numbers in the crowd.
        stock: The same, stacked.
        parts: The bodies and walls of each contact, stacked and filled up for the compiled programs.
        contacts: The contacts.
        start: The variables now.
        gravity: Uniform acceleration [m s-2].
        mu: Coefficient of friction.
        stop: Slip below which a contact is asked whether it sticks [m s-1].
        size: Radius of the largest body [m].
        pace: Rate of the motion; sets how fast errors of the contact are taken back [s-1].
        flatness: See `closed`.
        longest: For how long it may be left alone at a time [s].
    """

    members: tuple[int, ...]
    stock: Body
    parts: tuple
    contacts: Contacts
    start: np.ndarray
    gravity: np.ndarray
    mu: float
    stop: float
    size: float
    pace: float
    flatness: float
    longest: float

    @property
    def k(self) -> int:
        """How many bodies."""
        return len(self.members)

    @property
    def stride(self) -> float:
        """A first step to try."""
        return 1e-2 / self.pace

    @property
    def names(self) -> list[tuple[str, int]]:
        """What each guard tells."""
        count = range(len(self.contacts.names))
        names = [("release", c) for c in count] * 2
        if self.mu > 0.0:
            names += [("slip" if sticks else "stick", c) for c, sticks in enumerate(self.contacts.sticks)]
            names += [("jam", c) for c in count]
        return names

    @property
    def at_once(self) -> np.ndarray:
        """A force that pulls ends its contact at once, and so does one that friction makes grow without bound."""
        count = len(self.contacts.names)
        armed = [np.zeros(count, bool), np.ones(count, bool)]
        if self.mu > 0.0:
            armed += [self.contacts.sticks, np.ones(count, bool)]
        return np.concatenate(armed)

    def _unpacked(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        middle = 2 + ROW * self.k
        return y[2:middle].reshape(self.k, ROW), y[middle:].reshape(-1, 2, 3)

    # ---- contact forces -----------------------------------------------------------------------

    def closed(self, y: np.ndarray, flatness: float | None = None) -> Closed:
        """All contacts as they are."""
        rows, marks = self._unpacked(y)
        n, found = self.contacts.n_pairs, []
        flatness = self.flatness if flatness is None else flatness
        if n:
            ones = rows[self.contacts.first]
            ones[:, :3] += self.contacts.shift
            first, second = self.parts[0]
            found.append(
                closed_pairs(first, second, ones, rows[self.contacts.second[:n]], marks[:n], self.gravity, flatness)
            )
        if n < len(marks):
            planes, second = self.parts[1]
            twos = rows[self.contacts.second[n:]]
            found.append(closed_walls(planes, second, twos, marks[n:, 1], self.gravity, flatness))
        return jax.tree.map(lambda *parts: np.concatenate(parts), *found)

    def pressed(self, y: np.ndarray) -> Pressed:
        """The forces that keep the contacts closed, and those that stick from slipping."""
        rows, closed = self._unpacked(y)[0], self.closed(y)
        turns = _matrices(rows[:, 3:7])
        inertia = np.asarray(self.stock.inertia)
        inverse = np.einsum("kij,kj,klj->kil", turns, 1.0 / inertia, turns)
        tensor = np.einsum("kij,kj,klj->kil", turns, inertia, turns)
        omega = rows[:, 10:]
        spin = -np.einsum("kij,kj->ki", inverse, np.cross(omega, np.einsum("kij,kj->ki", tensor, omega)))
        kappas = closed.kappa
        others = np.array([np.prod(np.delete(kappas, c)) for c in range(len(kappas))])
        kappa, hold = float(np.prod(kappas)), HOLD * self.pace
        n, slip = closed.normal, closed.slip
        rate = np.sum(n * slip, axis=1)
        along = slip - rate[:, None] * n
        sticks = np.flatnonzero(self.contacts.sticks)
        first, second = _tangents(n[sticks])
        held = [self.levers(n, closed), self.levers(first, closed, sticks), self.levers(second, closed, sticks)]
        rows_of = np.concatenate(held)
        columns = rows_of.copy()
        if self.mu > 0.0:
            slips = np.flatnonzero(~self.contacts.sticks)
            against = n[slips] - self.mu * self._direction(along[slips], slips)
            columns[slips] = self.levers(against, closed, slips)
        effects = np.concatenate(
            [columns[..., :3] / np.asarray(self.stock.mass)[:, None], np.einsum("kij,ckj->cki", inverse, columns[..., 3:])],
            axis=-1,
        )
        coupling = np.einsum("cki,dki->cd", rows_of, effects)
        aim = others * closed.push + kappa * (2.0 * hold * rate + hold**2 * closed.gap)
        lag = others[sticks, None] * closed.drag[sticks] + kappa * hold * along[sticks]
        aim = np.concatenate([aim, np.sum(first * lag, axis=1), np.sum(second * lag, axis=1)])
        plain = np.einsum("cki,cki->c", rows_of, self._effects(rows_of, inverse))
        forces = _solved(coupling, -aim, plain)
        count, stuck = len(kappas), len(sticks)
        normal, tangent = forces[:count], np.zeros((count, 3))
        if self.mu > 0.0:
            tangent[slips] = normal[slips, None] * (against - n[slips])
            tangent[sticks] = (
                forces[count : count + stuck, None] * first + forces[count + stuck :, None] * second
            )
        resistance = np.diagonal(coupling)[:count] / plain[:count]
        moved = np.einsum("c,cki->ki", forces, effects)
        return Pressed(rows, inverse, spin, closed, others, kappa, normal, tangent, resistance, moved)

    def _effects(self, levers: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Accelerations of each body per unit of generalised forces."""
        turning = np.einsum("kij,ckj->cki", inverse, levers[..., 3:])
        return np.concatenate([levers[..., :3] / np.asarray(self.stock.mass)[:, None], turning], axis=-1)

    def _direction(self, along: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Direction of slip; next to no slip it is the one that the contact has set out with."""
        turned = along + BLEND * self.stop * self.contacts.heading[which]
        return turned / np.maximum(np.sqrt(np.sum(turned * turned, axis=1, keepdims=True)), 1e-300)

    def levers(self, direction: np.ndarray, closed: Closed, which=None) -> np.ndarray:
        """Generalised directions of unit forces on the second body of contacts, and their opposites on the first."""
        which = np.arange(len(closed.normal)) if which is None else which
        found = np.zeros((len(which), self.k, 6))
        for row, (c, d) in enumerate(zip(which, direction, strict=True)):
            found[row, self.contacts.second[c]] += np.concatenate([d, np.cross(closed.arm2[c], d)])
            if c < self.contacts.n_pairs:
                found[row, self.contacts.first[c]] -= np.concatenate([d, np.cross(closed.arm1[c], d)])
        return found

    # ---- the contract of a band ---------------------------------------------------------------

    def rate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rates of the variables and guards."""
        at = self.pressed(y)
        closed, kappa, rows = at.closed, at.kappa, at.rows
        lost = -np.sum(at.tangent * closed.slip) if self.mu > 0.0 else 0.0
        change = np.empty((self.k, ROW))
        change[:, :3] = kappa * rows[:, 7:10]
        change[:, 3:7] = 0.5 * kappa * _turning(rows[:, 10:], rows[:, 3:7])
        change[:, 7:10] = kappa * self.gravity + at.moved[:, :3]
        change[:, 10:] = kappa * at.spin + at.moved[:, 3:]
        hold = HOLD * self.pace
        marks = np.stack([closed.move1 + hold * closed.miss1, closed.move2 + hold * closed.miss2], axis=1)
        marks = at.others[:, None, None] * marks
        marks[self.contacts.n_pairs :, 0] = 0.0  # a wall has no mark
        return np.concatenate([[kappa, lost], change.ravel(), marks.ravel()]), self._guards(at)

    def _guards(self, at: Pressed) -> np.ndarray:
        guards = [at.normal, at.normal + at.kappa * self.contacts.slack]
        if self.mu > 0.0:
            n, slip = at.closed.normal, at.closed.slip
            along = slip - np.sum(n * slip, axis=1, keepdims=True) * n
            speed, size = (np.sqrt(np.sum(x * x, axis=1)) for x in (along, at.tangent))
            guards.append(np.where(self.contacts.sticks, self.mu * at.normal - size, speed - self.stop))
            guards.append(at.resistance - 1e-3)
        return np.concatenate(guards)

    def clock(self, y: np.ndarray) -> float:
        """Time since the start [s]."""
        return float(y[0])

    def tidied(self, y: np.ndarray) -> np.ndarray:
        """With quaternions of length one."""
        rows, _ = self._unpacked(y)
        rows[:, 3:7] /= np.sqrt(np.sum(rows[:, 3:7] ** 2, axis=1, keepdims=True))
        return y

    def rows(self, y: np.ndarray, whole: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place and orientation; velocities and the sum of normal forces (if `whole`); energy lost to friction."""
        rows, _ = self._unpacked(y)
        on = np.zeros(self.k)
        if whole:
            at = self.pressed(y)
            with np.errstate(divide="ignore"):
                forces = at.normal / at.kappa
            np.add.at(on, self.contacts.second, forces)
            np.add.at(on, self.contacts.first, forces[: self.contacts.n_pairs])
        return rows[:, :7].copy(), np.concatenate([rows[:, 7:], on[:, None]], axis=1), y[1:2].copy()

    def scales(self, y: np.ndarray) -> np.ndarray:
        """Size of each variable."""
        rows, marks = self._unpacked(y)
        size = self.size
        speed = self.pace * size
        row = np.concatenate([np.full(3, size), np.ones(4), np.full(3, speed), np.full(3, self.pace)])
        energy = float(np.sum(np.asarray(self.stock.mass))) * speed**2
        return np.concatenate([[1.0 / self.pace, energy], np.tile(row, self.k), np.full(marks.size, size)])

    def onward(self, y: np.ndarray) -> Bond:
        """The band from here on; contacts that slip set out with the slip they have."""
        y = y.copy()
        y[:2] = 0.0
        contacts = self.contacts
        if self.mu > 0.0:
            closed = self.closed(y)
            along = closed.slip - np.sum(closed.normal * closed.slip, axis=1, keepdims=True) * closed.normal
            heading = self._direction(along, np.arange(len(along)))
            contacts = dataclasses.replace(contacts, heading=np.where(contacts.sticks[:, None], 0.0, heading))
        return dataclasses.replace(self, start=y, contacts=contacts)


def _solved(coupling: np.ndarray, right: np.ndarray, own: np.ndarray) -> np.ndarray:
    if len(right) == 1:
        return right / coupling[0]
    # A body held more than once over leaves forces undetermined: take those of least size.
    return np.linalg.solve(coupling + 1e-13 * np.diag(own), right)


def _tangents(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors across each normal."""
    helper = np.where(np.abs(n[:, :1]) < 0.7, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(n, helper)
    first = first / np.sqrt(np.sum(first * first, axis=1, keepdims=True))
    return first, np.cross(n, first)


def _matrices(q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions that are nearly of length one."""
    w, x, y, z = (q / np.sqrt(np.sum(q * q, axis=1, keepdims=True))).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def _turning(omega: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The quaternion (0, omega) times q."""
    w, v = q[:, :1], q[:, 1:]
    return np.concatenate([-np.sum(omega * v, axis=1, keepdims=True), w * omega + np.cross(omega, v)], axis=1)
