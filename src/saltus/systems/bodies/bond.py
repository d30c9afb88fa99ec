"""Bodies that stay in contact for a while under finite contact forces."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from saltus.shapes.body import Body
from saltus.systems.bodies.closed import WIDTH, ClosedContacts, closed_pairs, closed_walls, fill_rows
from saltus.systems.bodies.columns import (
    ARGUMENTS,
    CENTRE,
    CLOCK,
    HEAD,
    LOST,
    MOTION,
    PLACE,
    QUATERNION,
    ROW,
    TURNING,
    VELOCITY,
    marks_in,
    rows_in,
    with_unit_quaternions,
)
from saltus.systems.bodies.lying import Face, turning

HOLD = 10.0  # rate at which a gap that has opened by rounding is closed again, in units of the motion's own
FLATNESS = 0.1  # see `closed`; for shapes with flats
LEAST_RESISTANCE = 1e-3  # of a contact with friction, below which its force is taken to grow without bound
CREEP = 1e-4  # of the speed of the motion, below which slip that has just begun is taken to keep its direction
BLEND = 1e-3  # of the stopping speed: how sharply friction turns round with the slip
TOGETHER = 5  # places that are looked at together: as many as a step asks for, so that nothing more is compiled
LEFT = 1e-3  # of the reach of a spot, by which a contact must be outside to have left it


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
        creeps: Which have only begun to slip: so slowly that the direction of slip is at all times the one that the
            forces keep. Followed in time it would be stiff.
    """

    names: list[tuple[int, int]]
    first: np.ndarray
    second: np.ndarray
    shift: np.ndarray
    slack: np.ndarray
    sticks: np.ndarray
    heading: np.ndarray
    creeps: np.ndarray

    @property
    def n_pairs(self) -> int:
        return len(self.first)


@dataclasses.dataclass(frozen=True)
class ContactForces:
    """The contact forces at an instant, and what they come from; forces and accelerations are times kappa.

    Within a band each has an axis more, the first: several places are looked at together.

    Args:
        closed: The contacts.
        others: For each contact the product of the factors of all others.
        kappa: The product of all factors.
        along: Slip of each contact along its plane [m s-1].
        direction: The direction that friction takes it to have.
        normal: Normal forces [N].
        tangent: Friction forces on the second body, along `closed.across` [N].
        resistance: Normal acceleration per normal force, friction included, over the same without it.
        moved: Accelerations of each body by all contact forces.
    """

    closed: ClosedContacts
    others: np.ndarray
    kappa: np.ndarray
    along: np.ndarray
    direction: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray
    resistance: np.ndarray
    moved: np.ndarray


@dataclasses.dataclass(frozen=True)
class Bond:
    """A few bodies of a crowd that press on each other (`hybrid.members.Band`).

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
        face: The face with which a single body is turned to its only wall, if it can come to lie on it.
        inside: Whether the contact is within the spot of that face.
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
    face: Face | None = None
    inside: bool = False

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
        return names if self.face is None else [*names, ("lie", 0), ("clap", 0)]

    @property
    def at_once(self) -> np.ndarray:
        """A force that pulls ends its contact at once, and so does one that friction makes grow without bound."""
        count = len(self.contacts.names)
        armed = [np.zeros(count, bool), np.ones(count, bool)]
        if self.mu > 0.0:
            armed += [self.contacts.sticks, np.ones(count, bool)]
        if self.face is not None:
            armed.append(np.array([True, False]))
        return np.concatenate(armed)

    def _unpack(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rows_in(y, self.k), marks_in(y, self.k)

    @functools.cached_property
    def _held_ways(self) -> tuple[np.ndarray, np.ndarray]:
        """What is held: every normal, then what sticks along both ways across. Contact and way of each."""
        count, sticks = len(self.contacts.names), np.flatnonzero(self.contacts.sticks)
        which = np.concatenate([np.arange(count), sticks, sticks])
        return which, np.repeat([0, 1, 2], [count, len(sticks), len(sticks)])

    @functools.cached_property
    def _seats(self) -> np.ndarray:
        """One where a side (second axis) of a contact is a body of the band (third axis), else zero."""
        contacts, seats = self.contacts, np.zeros((len(self.contacts.names), 2, self.k))
        seats[np.arange(contacts.n_pairs), 0, contacts.first] = 1.0
        seats[np.arange(len(seats)), 1, contacts.second] = 1.0
        return seats

    @functools.cached_property
    def _parts_together(self) -> tuple:
        """The bodies and walls of each contact, once for each place that is looked at together."""
        n, count = self.contacts.n_pairs, len(self.contacts.names)
        return tuple(_repeat(*each) for each in zip(self.parts, (n, count - n), strict=True))

    # ---- contact forces -----------------------------------------------------------------------

    def closed_contacts(self, y: np.ndarray, flatness: float | None = None) -> ClosedContacts:
        """All contacts as they are."""
        return ClosedContacts.of(self._contact_rows(y[None], self.flatness if flatness is None else flatness)[0])

    def _contact_rows(self, ys: np.ndarray, flatness: float) -> np.ndarray:
        """All contacts as they are in each of several places; the compiled programs know one place, or `TOGETHER`."""
        if len(ys) not in (1, TOGETHER):
            whole = len(ys) - len(ys) % TOGETHER
            cuts = [*range(TOGETHER, whole + 1, TOGETHER), *range(whole + 1, len(ys))]
            return np.concatenate([self._contact_rows(some, flatness) for some in np.split(ys, cuts) if len(some)])
        n, count = self.contacts.n_pairs, len(self.contacts.names)
        table, known = self._tables(ys), self.parts if len(ys) == 1 else self._parts_together
        found = np.empty((len(ys), count, WIDTH))
        for parts, rows, closed in ((known[0], slice(0, n), closed_pairs), (known[1], slice(n, count), closed_walls)):
            if rows.stop > rows.start:
                asked = table[:, rows].reshape(-1, table.shape[-1])
                found[:, rows] = closed(parts, asked, self.gravity, flatness).reshape(len(ys), -1, WIDTH)
        return found

    def _tables(self, ys: np.ndarray) -> np.ndarray:
        """What the compiled programs are told of each contact in each place."""
        rows, marks = self._unpack(ys)
        contacts, n = self.contacts, self.contacts.n_pairs
        table = np.empty((*marks.shape[:2], 2 * ROW + 6))
        table[:, :n, :ROW] = rows[:, contacts.first]
        table[:, :n, CENTRE] += contacts.shift
        table[:, n:, :ROW] = 0.0
        table[:, :, ROW : 2 * ROW] = rows[:, contacts.second]
        table[:, :, 2 * ROW :] = marks.reshape(*marks.shape[:2], 6)
        return table

    def contact_forces(self, y: np.ndarray) -> ContactForces:
        """The forces that keep the contacts closed, and those that stick from slipping."""
        return _only_place(self._contact_forces(y[None]))

    def _contact_forces(self, ys: np.ndarray) -> ContactForces:
        """Forces such that the gaps stay closed, and that what sticks does not slip, in each of several places.

        One linear system for the normal forces and the friction of contacts that stick; friction of those that slip is
        mu times the normal force against the slip. A gap and a rate left by errors are driven back to zero at the rate
        `HOLD`. Where a contact creeps, the direction of its slip follows from the forces themselves.
        """
        contacts, count = self.contacts, len(self.contacts.names)
        closed = ClosedContacts.of(self._contact_rows(ys, self.flatness))
        kappa, hold = np.prod(closed.kappa, axis=1), HOLD * self.pace
        others = np.stack([np.prod(np.delete(closed.kappa, c, axis=1), axis=1) for c in range(count)], axis=1)
        rate = np.einsum("pci,pci->pc", closed.normal, closed.slip)
        along = np.einsum("pcai,pci->pca", closed.across, closed.slip)
        aim = others * closed.push + kappa[:, None] * (2.0 * hold * rate + hold**2 * closed.gap)
        lag = np.einsum("pcai,pci->pca", closed.across, others[:, :, None] * closed.drag)
        held = (lag + (kappa * hold)[:, None, None] * along)[:, contacts.sticks]
        aim = np.concatenate([aim, held[:, :, 0], held[:, :, 1]], axis=1)
        which, rows, columns = self._held_directions(closed)
        plain = np.einsum("pcsi,pcsi->pc", rows[:, :count], columns[:, :count])
        rows = self._spread(rows, which)

        def under(direction):
            """Forces and their effects if friction is against these directions of slip."""
            against = np.where(contacts.sticks[:, None], 0.0, -self.mu * direction)
            pushed = columns.copy()
            pushed[:, :count] += np.einsum("pca,pcsai->pcsi", against, closed.effects[:, :, :, 1:])
            effects = self._spread(pushed, which)
            coupling = rows @ effects.transpose(0, 2, 1)
            forces = _solve(coupling, -aim)
            tangent = forces[:, :count, None] * against
            tangent[:, contacts.sticks] = forces[:, count:].reshape(len(forces), 2, -1).transpose(0, 2, 1)
            resistance = np.diagonal(coupling, axis1=1, axis2=2)[:, :count] / plain
            return forces[:, :count], tangent, resistance, np.einsum("pm,pmi->pi", forces, effects)

        direction = self._direction(along)
        for c in np.flatnonzero(contacts.creeps).tolist():
            sides = self._spread(closed.levers[:, c, :, 1:].transpose(0, 2, 1, 3), np.array([c, c]))
            direction[:, c] = _steady(direction, c, lambda tried, c=c, sides=sides: (
                lag[:, c] + np.einsum("pai,pi->pa", sides, under(tried)[3])
            ))  # fmt: skip
        normal, tangent, resistance, moved = under(direction)
        moved = moved.reshape(-1, self.k, 6)
        return ContactForces(closed, others, kappa, along, direction, normal, tangent, resistance, moved)

    def grip(self, c: int) -> Bond:
        """The band with the contact `c` sticking, and without the slip that it still has."""
        sticks = self.contacts.sticks.copy()
        sticks[c] = True
        held = dataclasses.replace(self, contacts=dataclasses.replace(self.contacts, sticks=sticks))
        y, closed = self.start.copy(), ClosedContacts.of(held._contact_rows(self.start[None], self.flatness))
        which, rows, columns = held._held_directions(closed)
        effects = held._spread(columns, which)
        coupling = held._spread(rows, which) @ effects.transpose(0, 2, 1)
        along = np.einsum("pcai,pci->pca", closed.across, closed.slip)[:, sticks]
        across = np.einsum("pci,pci->pc", closed.normal, closed.slip)
        rates = np.concatenate([across, along[:, :, 0], along[:, :, 1]], axis=1)
        moved = np.einsum("pm,pmi->pi", _solve(coupling, -rates), effects).reshape(self.k, 6)
        rows_in(y, self.k)[:, MOTION] += moved
        return dataclasses.replace(held, start=y)

    def _held_directions(self, closed: ClosedContacts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of which contact each direction is that is held (`_held_ways`); levers and effects of each, by sides."""
        which, way = self._held_ways
        levers, effects = (sides.transpose(0, 1, 3, 2, 4)[:, which, way] for sides in (closed.levers, closed.effects))
        return which, levers, effects

    def _direction(self, along: np.ndarray) -> np.ndarray:
        """Direction of slip; next to no slip it is the one that the contact has set out with."""
        turned = along + BLEND * self.stop * self.contacts.heading
        return turned / np.maximum(np.sqrt(np.sum(turned * turned, axis=-1, keepdims=True)), 1e-300)

    def _spread(self, sides: np.ndarray, which: np.ndarray) -> np.ndarray:
        """What belongs to the two sides of contacts put where their bodies are: one row for each, all bodies in it."""
        found = np.einsum("msk,pmsi->pmki", self._seats[which], sides)
        return found.reshape(*found.shape[:2], -1)

    # ---- the contract of a band ---------------------------------------------------------------

    def rate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rates of the variables and guards."""
        at = self._contact_forces(y[None])
        return self._rates(at, y[None])[0], self._guards(at, y)

    def rates(self, ys: np.ndarray) -> np.ndarray:
        """Rates of the variables at several places: the compiled programs are called once for all."""
        return self._rates(self._contact_forces(ys), ys)

    def _rates(self, at: ContactForces, ys: np.ndarray) -> np.ndarray:
        """How all variables change: time and energy lost, then rows of the bodies, then marks of the contacts."""
        rows, _ = self._unpack(ys)
        closed, kappa, contacts = at.closed, at.kappa[:, None, None], self.contacts
        spin = np.empty((len(ys), self.k, 3))
        spin[:, contacts.first] = closed.spin[:, : contacts.n_pairs, 0]
        spin[:, contacts.second] = closed.spin[:, :, 1]
        change = np.empty(ys.shape)
        change[:, CLOCK] = at.kappa
        change[:, LOST] = -np.sum(at.tangent * at.along, axis=(1, 2))
        rate, run = self._unpack(change)
        rate[:, :, CENTRE] = kappa * rows[:, :, VELOCITY]
        rate[:, :, QUATERNION] = 0.5 * kappa * turning(rows[:, :, TURNING], rows[:, :, QUATERNION])
        rate[:, :, VELOCITY] = kappa * self.gravity + at.moved[:, :, :3]
        rate[:, :, TURNING] = kappa * spin + at.moved[:, :, 3:]
        run[:] = at.others[:, :, None, None] * (closed.move + HOLD * self.pace * closed.miss)
        run[:, contacts.n_pairs :, 0] = 0.0  # a wall has no mark
        return change

    def _guards(self, at: ContactForces, y: np.ndarray) -> np.ndarray:
        """The guards in one place, in the order of `names`: release (twice), slip or stick, jam, those of a face."""
        (normal,), (tangent,) = at.normal, at.tangent
        guards = [normal, normal + at.kappa * self.contacts.slack]
        if self.mu > 0.0:
            speed, size = (np.sqrt(np.sum(x * x, axis=1)) for x in (at.along[0], tangent))
            guards.append(np.where(self.contacts.sticks, self.mu * normal - size, speed - self.stop))
            guards.append(at.resistance[0] - LEAST_RESISTANCE)
        if self.face is not None:
            row, mark = rows_in(y, self.k)[0], marks_in(y, self.k)[0, 1]
            energy = self.face.rocking_energy(row[CENTRE], row[VELOCITY], row[TURNING])
            guards.append([energy / self.face.limit - 1.0, 1.0 if self.inside else self.face.outside(mark)])
        return np.concatenate(guards)

    def clock(self, y: np.ndarray) -> Any:
        """Time since the start [s]."""
        return y[..., CLOCK]

    def tidy(self, y: np.ndarray) -> np.ndarray:
        """With quaternions of length one; of one place or of several."""
        return with_unit_quaternions(y, self.k)

    def rows(self, y: np.ndarray, whole: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place and orientation; velocities and the sum of normal forces (if `whole`); energy lost to friction."""
        forces = self._normal_forces(y[None])[0] if whole else np.zeros(self.k)
        return self._row(y, forces)

    def several_rows(self, ys: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Places, velocities with forces, and energies lost, as `rows` gives them, at several places."""
        return [self._row(y, forces) for y, forces in zip(ys, self._normal_forces(ys), strict=True)]

    def _normal_forces(self, ys: np.ndarray) -> np.ndarray:
        """The sum of normal forces on each body, in each of several places [N]."""
        at, on = self._contact_forces(ys), np.zeros((self.k, len(ys)))
        with np.errstate(divide="ignore"):
            forces = (at.normal / at.kappa[:, None]).T
        np.add.at(on, self.contacts.second, forces)
        np.add.at(on, self.contacts.first, forces[: self.contacts.n_pairs])
        return on.T

    def _row(self, y: np.ndarray, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, _ = self._unpack(y)
        return rows[:, PLACE].copy(), np.concatenate([rows[:, MOTION], forces[:, None]], axis=1), y[[LOST]]

    def scales(self, y: np.ndarray) -> np.ndarray:
        """Size of each variable."""
        _, marks = self._unpack(y)
        size = self.size
        speed = self.pace * size
        row = np.concatenate([np.full(3, size), np.ones(4), np.full(3, speed), np.full(3, self.pace)])
        energy = float(np.sum(np.asarray(self.stock.mass))) * speed**2
        return np.concatenate([[1.0 / self.pace, energy], np.tile(row, self.k), np.full(marks.size, size)])

    def energy(self, y: np.ndarray) -> float:
        """Kinetic energy [J]."""
        rows, _ = self._unpack(y)
        bodies = [jax.tree.map(lambda leaf, k=k: leaf[k], self.stock) for k in range(self.k)]
        places = [[jnp.asarray(row[part]) for part in ARGUMENTS] for row in rows]
        moving = (body.with_motion(*place) for body, place in zip(bodies, places, strict=True))
        return sum(float(body.kinetic_energy()) for body in moving)

    def onward(self, y: np.ndarray) -> Bond:
        """The band from here on; contacts that slip set out with the slip they have."""
        y, contacts = y.copy(), self.contacts
        y[:HEAD] = 0.0
        if self.mu > 0.0:
            at = self.contact_forces(y)
            speed = np.sqrt(np.sum(at.along**2, axis=1))
            heading = np.where(contacts.sticks[:, None], 0.0, at.direction)
            creeps = contacts.creeps & (speed < CREEP * self.pace * self.size)
            contacts = dataclasses.replace(contacts, heading=heading, creeps=creeps)
        inside = self.inside and self.face is not None and self.face.outside(marks_in(y, self.k)[0, 1]) < LEFT
        return dataclasses.replace(self, start=y, contacts=contacts, inside=inside)


def _only_place(found):
    """What was found in a single place, without the axis over places."""
    parts = {one.name: getattr(found, one.name) for one in dataclasses.fields(found)}
    return type(found)(**{
        name: part[0] if isinstance(part, np.ndarray) else _only_place(part) for name, part in parts.items()
    })  # fmt: skip


def _repeat(parts: tuple, count: int) -> tuple:
    """The bodies and walls of so many contacts `TOGETHER` times, as many as the compiled programs take."""
    which = fill_rows(np.tile(np.arange(count), TOGETHER)) if count else []
    return jax.tree.map(lambda leaf: np.asarray(leaf)[which], parts)


def _steady(directions: np.ndarray, c: int, acceleration) -> np.ndarray:
    """The direction of slip of contact `c` along which its slip grows, in each place: Newton's method on the angle."""

    def turning_at(angle):
        way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        tried = directions.copy()
        tried[:, c] = way
        grows = acceleration(tried)
        return way[:, 0] * grows[:, 1] - way[:, 1] * grows[:, 0], np.linalg.norm(grows, axis=1)

    angle = np.arctan2(directions[:, c, 1], directions[:, c, 0])
    going = np.ones(len(angle), bool)
    for _ in range(8):
        value, size = turning_at(angle)
        slope = (turning_at(angle + 1e-6)[0] - turning_at(angle - 1e-6)[0]) / 2e-6
        step = np.where(slope != 0.0, -value / np.where(slope != 0.0, slope, 1.0), 0.0)
        angle = angle + np.where(going, np.clip(step, -0.5, 0.5), 0.0)
        going &= ~(np.abs(step) < 1e-11) & (size != 0.0)
        if not going.any():
            break
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _solve(coupling: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Forces from linear systems, one for each place."""
    if right.shape[1] == 1:
        return right / coupling[:, 0]
    # A body held more than once over leaves forces undetermined: take those of least size.
    size = np.abs(np.diagonal(coupling, axis1=1, axis2=2))
    softer = coupling + 1e-13 * size[:, :, None] * np.eye(size.shape[1])
    return np.linalg.solve(softer, right[:, :, None])[:, :, 0]
