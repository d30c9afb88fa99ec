"""Foresees the contacts of many bodies: a coarse search among neighbours, then the exact one."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from saltus.contacts.classify import LABELS
from saltus.hybrid import Outcome, State
from saltus.hybrid.crowd import Band, Change, Upcoming
from saltus.laws.impact import Elastic
from saltus.systems.bodies.binding import band_of
from saltus.systems.bodies.passing import emergence
from saltus.systems.bodies.searches import (
    CHUNK,
    contacts_of_pairs,
    contacts_of_walls,
    image_shift,
    placed_pair,
    touching,
)
from saltus.systems.bodies.touch import PARADOXES, resolve

Contact = tuple[int, int]  # two bodies, or a wall (counted on from the bodies) and a body


class Schedule:
    """The plan of a crowd of rigid bodies.

    Every body has an anchor, the place of its last look-out, and free room around it. Bodies whose
    rooms are apart cannot touch before one of them leaves its room and looks out again.
    """

    def __init__(self, system, start: State, until: float):
        self.system, self.until = system, until
        self.radius = np.asarray(system.radii())
        self.period = None if system.period is None else np.asarray(system.period)
        self.gravity = np.asarray(system.gravity)
        self.anchor = np.array(start.q[:, :3])
        self.room = _room(self.radius, self.period, system.n)
        self.escapes: dict[Contact, tuple[float, float]] = {}  # time of touch, and how long not to look
        self.passing: set[Contact] = set()
        self.bonds: set[Contact] = set()
        # Bodies that touch at the start are looked at before anything moves.
        self.touching = set(touching(system, start))

    # ---- what is to come ----------------------------------------------------------------------

    def foresee(self, members, t, q, v, mode) -> list[Upcoming]:
        """Contacts and look-outs that concern these members."""
        waiting, self.touching = self.touching, set()
        events = [Upcoming(t, "touch", self._bodies(contact), contact) for contact in sorted(waiting)]
        members = [member for member in members if mode[member] == 0]
        self.anchor[members] = q[members, :3]
        leave = t + self._stay(q, v)
        events += [Upcoming(float(leave[i]), "look-out", (i,)) for i in members if leave[i] < np.inf]
        pairs = [pair for pair in self._neighbours(members, mode) if pair not in waiting]
        walls = [(self.system.n + wall, i) for i in members for wall in range(self.system.n_walls)]
        walls = [wall for wall in walls if wall not in waiting]
        for contacts in (pairs, walls):
            inside = [contact for contact in contacts if contact in self.passing]
            events += [self._emerging(contact, t, q, v) for contact in inside]
            rest = [contact for contact in contacts if contact not in self.passing]
            horizons = np.array([min(self.until, *(leave[i] for i in self._bodies(contact))) - t for contact in rest])
            for begin in range(0, len(rest), CHUNK):
                part = slice(begin, begin + CHUNK)
                events += self._search(rest[part], horizons[part], t, q, v)
        return events

    def _bodies(self, contact: Contact) -> tuple[int, ...]:
        return contact if contact[0] < self.system.n else contact[1:]

    def _stay(self, q, v) -> np.ndarray:
        """How long each body stays within its room."""
        if not np.isfinite(self.room):
            return np.full(len(q), np.inf)
        left = np.maximum(self.room - np.linalg.norm(q[:, :3] - self.anchor, axis=1), 0.0)
        speed, pull = np.linalg.norm(v[:, :3], axis=1), float(np.linalg.norm(self.gravity))
        return 2.0 * left / np.maximum(speed + np.sqrt(speed**2 + 2.0 * pull * left), 1e-300)

    def _neighbours(self, members, mode) -> list[Contact]:
        """Pairs of a member and another free body whose rooms meet; each pair once, the smaller number first."""
        found: set[Contact] = set()
        everyone = np.arange(self.system.n)
        for i in members:
            apart = self.anchor - self.anchor[i] + image_shift(self.period, self.anchor[i], self.anchor)
            near = np.linalg.norm(apart, axis=1) < self.radius + self.radius[i] + 2.0 * self.room
            for j in everyone[near & (everyone != i) & (mode == 0)]:
                found.add((min(i, int(j)), max(i, int(j))))
        return sorted(found)

    def _search(self, contacts: list[Contact], horizons, t, q, v) -> list[Upcoming]:
        """The exact search for one block of contacts of the same sort."""
        if not contacts:
            return []
        first, second = np.array(contacts, int).T
        begins = np.array([self._wait(contact, t) for contact in contacts])
        if first[0] >= self.system.n:
            found = contacts_of_walls(self.system, first - self.system.n, second, q, v, begins, horizons)
        else:
            shifts = image_shift(self.period, q[second, :3], q[first, :3])
            found = contacts_of_pairs(self.system, first, second, q, v, shifts, begins, horizons)
        happens, times, certified = found
        if not certified.all():
            lost = contacts[int(np.argmin(certified))]
            raise RuntimeError(f"The search for the contact of {lost} took too many steps after t = {t:.9g} s.")
        hits = np.flatnonzero(happens)
        return [Upcoming(t + float(times[k]), "touch", self._bodies(contacts[k]), contacts[k]) for k in hits]

    def _wait(self, contact: Contact, t: float) -> float:
        """How long two bodies that have just touched need not be looked at."""
        touched, wait = self.escapes.get(contact, (-np.inf, 0.0))
        return max(touched + wait - t, 0.0)

    def _emerging(self, contact: Contact, t, q, v) -> Upcoming:
        """When two bodies that pass through each other are apart again; if never, a moment that never comes."""
        moment = emergence(*self._partners(contact, q, v), self.system.gravity, self.until - t)
        return Upcoming(t + moment, "emergence", self._bodies(contact), contact)

    # ---- what happens -------------------------------------------------------------------------

    def happen(self, event: Upcoming, q, v, mode) -> Change:
        """A look-out changes nothing; a touch is resolved; a release or an emergence is told."""
        members = list(event.members)
        if event.kind == "look-out":
            return _unchanged(None, 0, members, q, v, mode, {})
        if event.kind == "touch":
            return self.touch(event.detail, event.t, q, v, mode)
        contact = event.detail
        if event.kind == "emergence":
            self.passing.discard(contact)
            self.escapes[contact] = (event.t, 1e-6 * max(self.until - event.t, 0.0))
        return self._told(event.kind, contact, event.t, q, v, mode)

    def touch(self, contact: Contact, t: float, q, v, mode) -> Change:
        """Two bodies, or a wall and a body, have met."""
        system, members = self.system, list(self._bodies(contact))
        sustain = system.paradox == "sustain"
        partners = self._partners(contact, q, v)
        came = resolve(*partners, system.law, system.gravity, system.settle_speed, sustain)
        code, stays = int(came.code), bool(came.stays)
        new_v = v[members].copy()
        bodies = [came.second] if len(members) == 1 else [came.first, came.second]
        for k, body in enumerate(bodies):
            new_v[k] = np.concatenate([np.asarray(body.velocity), np.asarray(body.angular_velocity), [0.0]])
        # Whatever else these bodies were in contact with is looked at again, with their new velocities.
        others = {bond for bond in self.bonds if bond != contact and set(self._bodies(bond)) & set(members)}
        self.bonds -= {contact, *others}
        self.touching |= others
        if stays:
            self.bonds.add(contact)
        if code in PARADOXES and system.paradox == "pass":
            self.passing.add(contact)
        self.escapes[contact] = (t, float(came.escape))
        everyone = [*members, *sorted({i for bond in others for i in self._bodies(bond)} - set(members))]
        data = self._data(contact, came)
        return Change(
            name=_name(code, stays),
            index=pair_index(system, contact),
            members=tuple(everyone),
            q=q[everyone],
            v=np.concatenate([new_v, v[everyone[len(members) :]]]),
            mode=self._modes(everyone),
            ledger=np.array([data["energy_loss"]]),
            data=data,
            outcome=self._stop(contact, code, t),
        )

    def _modes(self, members) -> np.ndarray:
        bound = {i for bond in self.bonds for i in self._bodies(bond)}
        return np.array([int(i in bound) for i in members])

    def _stop(self, contact: Contact, code: int, t: float) -> Outcome | None:
        if code not in PARADOXES or self.system.paradox != "stop":
            return None
        first, second = contact
        pair = f"bodies {first} and {second}" if first < self.system.n else f"body {second} and a wall"
        return Outcome(
            "paradox",
            f"Stopped at t = {t:.9g} s: {pair} touch in a paradox ({LABELS[code]}), from which free motion would "
            'drive them into each other. Set paradox = "sustain" to go on.',
        )

    def _partners(self, contact: Contact, q, v):
        first, second = contact
        if first >= self.system.n:
            return self.system.wall(first - self.system.n), placed_pair(self.system, second, second, q, v, np.zeros(3))[
                1
            ]
        return placed_pair(self.system, first, second, q, v, image_shift(self.period, q[second, :3], q[first, :3]))

    def _data(self, contact: Contact, came) -> dict:
        motion, at = came.before.motion, came.before.separation
        lossless = isinstance(self.system.law, Elastic)
        return {
            "body": contact[1],
            "partner": contact[0],
            "label": LABELS[int(came.code)],
            "impulse": float(came.impulse @ at.normal),
            "point": np.asarray(at.point2),
            "normal": np.asarray(at.normal),
            "normal_velocity": float(motion.v),
            "gap_acceleration": float(motion.a_eff),
            "gap_jerk": float(motion.gap3),
            "force_rate": float(came.force_rate) if bool(came.stays) else float("nan"),
            "energy_loss": 0.0 if lossless else float(came.energy_loss),
        }

    def _told(self, name: str, contact: Contact, t: float, q, v, mode) -> Change:
        """An event that changes no velocity."""
        system, members = self.system, list(self._bodies(contact))
        came = resolve(*self._partners(contact, q, v), Elastic(), system.gravity, jnp.zeros(()), True)
        if name == "release":
            self.bonds.discard(contact)
            self.escapes[contact] = (t, float(came.escape))
        data = {**self._data(contact, came), "impulse": 0.0, "label": name, "force_rate": float("nan")}
        return _unchanged(name, pair_index(system, contact), members, q, v, self._modes(range(system.n)), data)

    # ---- members in contact -------------------------------------------------------------------

    def band(self, t, q, v, mode, until) -> Band | None:
        """Bodies in contact, with the free ones that could reach them soon."""
        return band_of(self, t, q, v, until) if self.bonds else None

    def banded(self, band: Band, name, index, t, q, v, mode) -> Change:
        """A release, or a touch within a band."""
        contact = band.contacts[name][index]
        if name == "release":
            return self._told("release", contact, t, q, v, mode)
        return self.touch(contact, t, q, v, mode)


def _room(radius: np.ndarray, period: np.ndarray | None, n: int) -> float:
    """How far a body may go from its anchor before it looks out again."""
    room = 0.35 * float(np.mean(radius)) if n > 12 else np.inf
    if period is None:
        return room
    # A room must not reach round the box to another image of the same body.
    free = float(np.min(period)) / 2.0 - 2.0 * float(radius.max())
    if free <= 0.0:
        raise ValueError(
            f"The periodic box is too small: its shortest edge {float(period.min()):g} m must exceed four "
            f"times the largest radius {float(radius.max()):g} m. Take a larger box or smaller bodies."
        )
    return min(room, free / 2.0)


def _unchanged(name, index, members, q, v, mode, data) -> Change:
    return Change(name, index, tuple(members), q[members], v[members], mode[members], np.zeros(1), data)


def _name(code: int, stays: bool) -> str:
    if code in PARADOXES:
        return "paradox"
    if stays:
        return "contact"
    return "impact" if LABELS[code] == "normal" else "tangential"


def pair_index(system, contact: Contact) -> int:
    """Number of a contact: pairs of bodies in order, then the bodies of each wall."""
    first, second = contact
    n = system.n
    if first >= n:
        return n * (n - 1) // 2 + (first - n) * n + second
    return first * n - first * (first + 1) // 2 + second - first - 1
