"""Bodies that stay in contact for a while under finite contact forces."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.shapes.body import Body
from saltus.systems.bodies.closed import Closed, closed_pairs, closed_walls

HOLD = 10.0  # rate at which a gap that has opened by rounding is closed again, in units of the motion's own
FLATNESS = 0.1  # see `closed`; for shapes with flats
LEAST_RESISTANCE = 1e-3  # of a contact with friction, below which its force is taken to grow without bound
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
        slack: Force below zero that still counts as none [N].
        sticks: Which of the contacts stick; without friction none does.
        heading: Direction of slip of those that do not, along the two vectors across the normal.
    """

    names: list[tuple[int, int]]
    first: np.ndarray
    second: np.ndarray
    shift: np.ndarray
    slack: np.ndarray
    sticks: np.ndarray
    heading: np.ndarray

    @property
    def n_pairs(self) -> int:
        return len(self.first)


@dataclasses.dataclass(frozen=True)
class Pressed:
    """The contact forces at an instant, and what they come from; forces and accelerations are times kappa.

    Args:
        closed: The contacts.
        others: For each contact the product of the factors of all others.
        kappa: The product of all factors.
        along: Slip of each contact along its plane [m s-1].
        normal: Normal forces [N].
        tangent: Friction forces on the second body, along `closed.across` [N].
        resistance: Normal acceleration per normal force, friction included, over the same without it.
        moved: Accelerations of each body by all contact forces.
    """

    closed: Closed
    others: np.ndarray
    kappa: float
    along: np.ndarray
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
        contacts, n = self.contacts, self.contacts.n_pairs
        flatness = self.flatness if flatness is None else flatness
        table = np.empty((len(marks), 2 * ROW + 6))
        table[:n, :ROW] = rows[contacts.first]
        table[:n, :3] += contacts.shift
        table[n:, :ROW] = 0.0
        table[:, ROW : 2 * ROW] = rows[contacts.second]
        table[:, 2 * ROW :] = marks.reshape(-1, 6)
        found = []
        if n:
            found.append(closed_pairs(self.parts[0], table[:n], self.gravity, flatness))
        if n < len(marks):
            found.append(closed_walls(self.parts[1], table[n:], self.gravity, flatness))
        return Closed.of(found[0] if len(found) == 1 else np.concatenate(found))

    def pressed(self, y: np.ndarray) -> Pressed:
        """The forces that keep the contacts closed, and those that stick from slipping."""
        closed, contacts, count = self.closed(y), self.contacts, len(self.contacts.names)
        kappa = float(np.prod(closed.kappa))
        others = np.array([np.prod(np.delete(closed.kappa, c)) for c in range(count)]) if count > 1 else np.ones(1)
        rate = np.einsum("ci,ci->c", closed.normal, closed.slip)
        along = np.einsum("cai,ci->ca", closed.across, closed.slip)
        hold = HOLD * self.pace
        aim = others * closed.push + kappa * (2.0 * hold * rate + hold**2 * closed.gap)
        rows, columns = closed.levers[:, :, 0], closed.effects[:, :, 0]
        which = np.arange(count)
        plain = np.einsum("csi,csi->c", rows, columns)
        against = np.zeros((count, 2))
        sticks = np.flatnonzero(contacts.sticks)
        if self.mu > 0.0:
            against = np.where(contacts.sticks[:, None], 0.0, -self.mu * self._direction(along))
            columns = columns + np.einsum("ca,csai->csi", against, closed.effects[:, :, 1:])
        if sticks.size:
            lag = np.einsum("cai,ci->ca", closed.across[sticks], others[sticks, None] * closed.drag[sticks])
            lag = lag + kappa * hold * along[sticks]
            aim = np.concatenate([aim, lag[:, 0], lag[:, 1]])
            rows = np.concatenate([rows, closed.levers[sticks, :, 1], closed.levers[sticks, :, 2]])
            columns = np.concatenate([columns, closed.effects[sticks, :, 1], closed.effects[sticks, :, 2]])
            which = np.concatenate([which, sticks, sticks])
        effects = self._spread(columns, which)
        coupling = self._spread(rows, which).reshape(len(which), -1) @ effects.reshape(len(which), -1).T
        forces = _solved(coupling, -aim)
        normal, tangent = forces[:count], forces[:count, None] * against
        if sticks.size:
            tangent[sticks] = forces[count:].reshape(2, -1).T
        resistance = np.diagonal(coupling)[:count] / plain
        moved = np.tensordot(forces, effects, axes=1)
        return Pressed(closed, others, kappa, along, normal, tangent, resistance, moved)

    def _direction(self, along: np.ndarray) -> np.ndarray:
        """Direction of slip; next to no slip it is the one that the contact has set out with."""
        turned = along + BLEND * self.stop * self.contacts.heading
        return turned / np.maximum(np.sqrt(np.sum(turned * turned, axis=1, keepdims=True)), 1e-300)

    def _spread(self, sides: np.ndarray, which: np.ndarray) -> np.ndarray:
        """What belongs to the two sides of contacts put where their bodies are."""
        found = np.zeros((len(which), self.k, 6))
        rows = np.arange(len(which))
        found[rows, self.contacts.second[which]] = sides[:, 1]
        pairs = which < self.contacts.n_pairs
        found[rows[pairs], self.contacts.first[which[pairs]]] = sides[pairs, 0]
        return found

    # ---- the contract of a band ---------------------------------------------------------------

    def rate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rates of the variables and guards."""
        at, rows = self.pressed(y), self._unpacked(y)[0]
        closed, kappa, contacts = at.closed, at.kappa, self.contacts
        spin = np.empty((self.k, 3))
        spin[contacts.first] = closed.spin[: contacts.n_pairs, 0]
        spin[contacts.second] = closed.spin[:, 1]
        change = np.empty((self.k, ROW))
        change[:, :3] = kappa * rows[:, 7:10]
        change[:, 3:7] = 0.5 * kappa * _turning(rows[:, 10:], rows[:, 3:7])
        change[:, 7:10] = kappa * self.gravity + at.moved[:, :3]
        change[:, 10:] = kappa * spin + at.moved[:, 3:]
        marks = at.others[:, None, None] * (closed.move + HOLD * self.pace * closed.miss)
        marks[contacts.n_pairs :, 0] = 0.0  # a wall has no mark
        lost = -np.sum(at.tangent * at.along)
        return np.concatenate([[kappa, lost], change.ravel(), marks.ravel()]), self._guards(at)

    def _guards(self, at: Pressed) -> np.ndarray:
        guards = [at.normal, at.normal + at.kappa * self.contacts.slack]
        if self.mu > 0.0:
            speed, size = (np.sqrt(np.sum(x * x, axis=1)) for x in (at.along, at.tangent))
            guards.append(np.where(self.contacts.sticks, self.mu * at.normal - size, speed - self.stop))
            guards.append(at.resistance - LEAST_RESISTANCE)
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
        y, contacts = y.copy(), self.contacts
        y[:2] = 0.0
        if self.mu > 0.0:
            at = self.closed(y)
            heading = self._direction(np.einsum("cai,ci->ca", at.across, at.slip))
            contacts = dataclasses.replace(contacts, heading=np.where(contacts.sticks[:, None], 0.0, heading))
        return dataclasses.replace(self, start=y, contacts=contacts)


def _solved(coupling: np.ndarray, right: np.ndarray) -> np.ndarray:
    if len(right) == 1:
        return right / coupling[0]
    # A body held more than once over leaves forces undetermined: take those of least size.
    return np.linalg.solve(coupling + 1e-13 * np.diag(np.abs(np.diagonal(coupling))), right)


def _turning(omega: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The quaternion (0, omega) times q."""
    a, b, c = omega.T
    w, x, y, z = q.T
    return np.stack([-a * x - b * y - c * z, a * w + b * z - c * y, b * w + c * x - a * z, c * w + a * y - b * x], axis=1)
