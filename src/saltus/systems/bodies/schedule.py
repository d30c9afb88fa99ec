"""Foresees the contacts of many bodies: a coarse search among neighbours, then the exact one."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from saltus.contacts.classify import LABELS
from saltus.hybrid import Outcome, State
from saltus.hybrid.members import Change, ForeseenEvent
from saltus.laws.impact import Elastic
from saltus.numerics import rotation
from saltus.systems.bodies import ahead as flight
from saltus.systems.bodies.binding import Hold, band_of, bond_of, groups
from saltus.systems.bodies.bond import Bond
from saltus.systems.bodies.lying import LyingBody
from saltus.systems.bodies.network import Network
from saltus.systems.bodies.passing import emergence
from saltus.systems.bodies.searches import (
    CHUNK,
    OVERLAP,
    close_pairs,
    contacts_of_pairs,
    contacts_of_walls,
    image_shift,
    pair_index,
    placed_pair,
    prepare_search,
    touching_pairs,
)
from saltus.systems.bodies.state import ImpactLosses, motion_of, place_of
from saltus.systems.bodies.touch import PARADOXES, resolve
from saltus.systems.bodies.watch import touches

OPENED = 1e-12  # of the size: a gap that is no rounding
PILE_UP = 20  # touches of one contact at one instant after which its bounces are over, if it is slow
SEARCHES = 50  # of `first_contact.MAX_STEPS` steps each that come to no end, one after the other

Contact = tuple[int, int]  # two bodies, or a wall (counted on from the bodies) and a body


class Schedule:
    """The plan of a crowd of rigid bodies.

    Every body has an anchor, the place of its last look-out, and free room around it. Bodies whose
    rooms are apart cannot touch before one of them leaves its room and looks out again.
    """

    DEEP = OVERLAP

    def __init__(self, system, start: State, until: float):
        self.system, self.until = system, until
        self.radius = np.asarray(system.radii())
        self.inertia = np.asarray(system.stock.inertia)
        self.period = None if system.period is None else np.asarray(system.period)
        self.gravity = np.asarray(system.gravity)
        self.mu = float(system.law.lasting_friction())
        self.restitution = float(system.law.lasting_restitution())
        self.stop = max(float(system.settle_speed), 1e-10)
        self.anchor = np.array(start.q.centre)
        self.room = _room(self.radius, self.period, system.n)
        self.escapes: dict[Contact, tuple[float, float]] = {}  # time of touch, and how long not to look
        self.passing: set[Contact] = set()
        self.bonds: dict[Contact, Hold] = {}
        # Bodies that touch at the start are looked at before anything moves.
        self.touching = set(touching_pairs(system, start))
        if self.touching:
            prepare_search(system, start)
        self.leaving: set[Contact] = set()
        self.repeats: dict[Contact, tuple[float, int]] = {}  # when it last touched, and how often at that instant
        self.exhausted = 0  # searches since the last event that took too many steps
        self.flight: flight.Ahead | None = None  # the loop that is ahead of the queue, while it is
        self.grounded = not flight.can_run(system)  # whether something must happen here before the loop may go on

    # ---- what is to come ----------------------------------------------------------------------

    def ahead(self, t: float, paths) -> tuple[list[tuple[float, Change]], bool] | None:
        """The next impacts of bodies that all fly freely, found together, and whether the end is reached.

        None where the loop of `systems.bodies.ahead` cannot go on: events are then to be foreseen one by one.
        """
        if self.grounded or not self._all_free(t):
            self.flight = None
            return None
        if self.flight is None:
            q, v = paths.at(range(self.system.n), t)
            self.flight = flight.Ahead(self.system, t, q, v, self.until)
        changes, ended, goes_on = self.flight.next()
        self.grounded = not goes_on
        self.escapes, self.exhausted = {}, 0
        return changes, ended

    def _all_free(self, t: float) -> bool:
        """Whether no bodies touch for longer than an instant, or have only just parted without a rate."""
        busy = self.bonds or self.passing or self.touching or self.leaving
        return not busy and not any(self.wait(contact, t) > 0.0 for contact in self.escapes)

    def foresee(self, members, t, q, v, paths) -> list[ForeseenEvent]:
        """Contacts and look-outs that concern these members."""
        waiting, self.touching = self.touching, set()
        leaving, self.leaving = self.leaving, set()
        events = [ForeseenEvent(t, "touch", self.bodies_of(contact), contact) for contact in sorted(waiting)]
        events += [ForeseenEvent(t, "release", self.bodies_of(contact), contact) for contact in sorted(leaving)]
        self.anchor[members] = place_of(q[members]).centre
        leave = t + self._stay(q, v)
        for i in range(self.system.n):
            leg = paths.leg(i)
            leave[i] = leave[i] if leg is None else leg.end
        alone = [i for i in members if paths.leg(i) is None]
        events += [ForeseenEvent(float(leave[i]), "look-out", (i,)) for i in alone if leave[i] < np.inf]
        told = {*waiting, *leaving, *self.bonds}
        pairs = [pair for pair in self._neighbours(members) if pair not in told]
        walls = [(self.system.n + wall, i) for i in members for wall in range(self.system.n_walls)]
        walls = [wall for wall in walls if wall not in told]
        for contacts in (pairs, walls):
            inside = [contact for contact in contacts if contact in self.passing]
            events += [self._emergence(contact, t, q, v) for contact in inside]
            rest = [contact for contact in contacts if contact not in self.passing]
            bound = [contact for contact in rest if any(paths.leg(i) for i in self.bodies_of(contact))]
            events += self._watch(bound, leave, t, paths)
            free = [contact for contact in rest if contact not in set(bound)]
            horizons = np.array([min(self.until, *(leave[i] for i in self.bodies_of(contact))) - t for contact in free])
            for begin in range(0, len(free), CHUNK):
                part = slice(begin, begin + CHUNK)
                events += self._search(free[part], horizons[part], t, q, v)
        return events

    def bodies_of(self, contact: Contact) -> tuple[int, ...]:
        """The bodies of a contact: two, or the one at a wall."""
        return contact if contact[0] < self.system.n else contact[1:]

    def shift(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Whole periods by which rows of first bodies are to be moved next to the second."""
        return image_shift(self.period, place_of(second).centre, place_of(first).centre)

    def longest_leg(self, members, v) -> float:
        """For how long bodies in contact surely stay within their rooms [s]."""
        if not np.isfinite(self.room):
            return np.inf
        motion = motion_of(v[members])
        moves, turns = (np.linalg.norm(part, axis=1).max() for part in (motion.velocity, motion.turning))
        speed = moves + turns * self.room
        pull = float(np.linalg.norm(self.gravity))
        return 0.5 * self.room / max(speed + np.sqrt(pull * self.room), 1e-300)

    def _stay(self, q, v) -> np.ndarray:
        """How long each body stays within its room, on its own."""
        if not np.isfinite(self.room):
            return np.full(len(q), np.inf)
        left = np.maximum(self.room - np.linalg.norm(place_of(q).centre - self.anchor, axis=1), 0.0)
        speed, pull = np.linalg.norm(motion_of(v).velocity, axis=1), float(np.linalg.norm(self.gravity))
        return 2.0 * left / np.maximum(speed + np.sqrt(speed**2 + 2.0 * pull * left), 1e-300)

    def _neighbours(self, members) -> list[Contact]:
        """Pairs of a member and another body whose rooms meet; each pair once, the smaller number first."""
        found: set[Contact] = set()
        everyone = np.arange(self.system.n)
        for i in members:
            apart = self.anchor - self.anchor[i] + image_shift(self.period, self.anchor[i], self.anchor)
            near = np.linalg.norm(apart, axis=1) < self.radius + self.radius[i] + 2.0 * self.room
            for j in everyone[near & (everyone != i)]:
                found.add((min(i, int(j)), max(i, int(j))))
        return sorted(found)

    def _search(self, contacts: list[Contact], horizons, t, q, v) -> list[ForeseenEvent]:
        """The exact search for one block of contacts of the same sort."""
        if not contacts:
            return []
        first, second = np.array(contacts, int).T
        begins = np.array([self.wait(contact, t) for contact in contacts])
        if first[0] >= self.system.n:
            found = contacts_of_walls(self.system, first - self.system.n, second, q, v, begins, horizons)
            size = self.radius[second]
        else:
            shifts = self.shift(q[first], q[second])
            found = contacts_of_pairs(self.system, first, second, q, v, shifts, begins, horizons)
            size = self.radius[first] + self.radius[second]
        happens, times, certified, widths, last = found
        deep = np.flatnonzero(widths < -OVERLAP * size)
        if deep.size:
            k = deep[np.argmin(widths[deep])]
            return [self._overlap_event(contacts[k], t, float(-widths[k]))]
        events = []
        for k in np.flatnonzero(happens | ~certified):
            # A search that takes too many steps is sure up to the time that it has reached. Bodies that are then as
            # good as touching are taken to touch, without an approach; others are looked at again from there.
            near = happens[k] or last[k] <= OPENED * size[k]
            self.exhausted += not near
            kind = "touch" if near else "look-out" if self.exhausted <= SEARCHES else "endless"
            events.append(ForeseenEvent(t + float(times[k]), kind, self.bodies_of(contacts[k]), contacts[k]))
        return events

    def _watch(self, contacts: list[Contact], leave, t: float, paths) -> list[ForeseenEvent]:
        """The search where one of the bodies is in contact with another."""
        events = []
        ends = np.array([min(self.until, *(leave[i] for i in self.bodies_of(contact))) for contact in contacts])
        for end in np.unique(ends):
            some = [contact for contact, its in zip(contacts, ends, strict=True) if its == end]
            found, reached, deep = touches(self, some, t, float(end), paths)
            if deep is not None:
                return [self._overlap_event(deep[0], t, deep[1])]
            events += [ForeseenEvent(when, "touch", self.bodies_of(contact), contact) for when, contact in found]
            if reached < end and not found:
                members = {i for contact in some for i in self.bodies_of(contact)}
                events += [ForeseenEvent(reached, "look-out", (i,)) for i in sorted(members) if paths.leg(i)]
        return events

    def wait(self, contact: Contact, t: float) -> float:
        """How long two bodies that have just touched need not be looked at."""
        touched, wait = self.escapes.get(contact, (-np.inf, 0.0))
        return max(touched + wait - t, 0.0)

    def _emergence(self, contact: Contact, t, q, v) -> ForeseenEvent:
        """When two bodies that pass through each other are apart again; if never, a moment that never comes."""
        moment = emergence(*self.partners(contact, q, v), self.system.gravity, self.until - t)
        return ForeseenEvent(t + moment, "emergence", self.bodies_of(contact), contact)

    def _overlap_event(self, contact: Contact, t: float, depth: float) -> ForeseenEvent:
        return ForeseenEvent(t, "overlap", self.bodies_of(contact), (contact, depth))

    def _overlap(self, contact: Contact, t: float, depth: float) -> Outcome:
        return Outcome(
            "overlap",
            f"At t = {t:.9g} s {self._partners(contact)} overlap by {depth:.3g} m, which should not be: what follows "
            "would be wrong. Please report the scenario.",
        )

    def _endless(self, contact: Contact, t: float) -> Outcome:
        return Outcome(
            "too_many_steps",
            f"Stopped at t = {t:.9g} s: the search for the next contact of {self._partners(contact)} takes too many "
            "steps. Look for bodies that turn very quickly next to each other, and for numbers that differ by many "
            "powers of ten.",
        )

    def _partners(self, contact: Contact) -> str:
        first, second = contact
        if first < self.system.n:
            return f"bodies {first} and {second}"
        return f"body {second} and wall {first - self.system.n}"

    def judge(self, t: float, q, v) -> Outcome | None:
        """Whether any two bodies overlap in the last state."""
        state = State.of(t, place_of(q), motion_of(v), ImpactLosses(np.zeros(())), np.zeros(len(q), int))
        for contact, gap, size in close_pairs(self.system, state):
            if gap < -OVERLAP * size and contact not in self.passing:
                return self._overlap(contact, t, -gap)
        return None

    # ---- what happens -------------------------------------------------------------------------

    def happen(self, event: ForeseenEvent, q, v, mode) -> Change:
        """A look-out changes nothing; a touch is resolved; a release or an emergence is told."""
        members = list(event.members)
        if event.kind == "look-out":
            return _no_change(None, 0, members, q, v, mode, {})
        if event.kind == "touch":
            return self.touch(event.detail, event.t, q, v)
        if event.kind == "overlap":
            contact, depth = event.detail
            told = self._tell("overlap", contact, event.t, q, v)
            return dataclasses.replace(told, outcome=self._overlap(contact, event.t, depth))
        contact = event.detail
        if event.kind == "endless":
            told = self._tell("endless", contact, event.t, q, v)
            return dataclasses.replace(told, outcome=self._endless(contact, event.t))
        if event.kind == "emergence":
            self.passing.discard(contact)
        told = self._tell(event.kind, contact, event.t, q, v)
        if event.kind == "emergence":
            self.escapes[contact] = (event.t, 1e-6 * max(self.until - event.t, 0.0))
        return told

    def touch(self, contact: Contact, t: float, q, v) -> Change:
        """Two bodies, or a wall and a body, have met."""
        self.exhausted, self.grounded = 0, not flight.can_run(self.system)
        system, members = self.system, list(self.bodies_of(contact))
        sustain = system.paradox == "sustain"
        came = resolve(*self.partners(contact, q, v), system.law, system.gravity, system.settle_speed, sustain)
        code, new_v = int(came.code), v.copy()
        bodies = [came.second] if len(members) == 1 else [came.first, came.second]
        for member, body in zip(members, bodies, strict=True):
            new_v[member] = np.concatenate([np.asarray(body.velocity), np.asarray(body.angular_velocity), [0.0]])
        stays, escape, lost, everyone = bool(came.stays), float(came.escape), float(came.energy_loss), members
        others, over = self._contacts_joined_to(contact), self._piles_up(contact, t)
        self.bonds.pop(contact, None)
        if others or over:
            stays, escape, new_v, more, everyone = self._among(contact, others, q, new_v, over)
            lost += more
            # What stuck may slip now, and who lay or rested is on the move.
            self.bonds |= {other: self._hold(other, q, new_v) for other in others if other in self.bonds}
        if stays:
            self.bonds[contact] = self._hold(contact, q, new_v)
        if code in PARADOXES and system.paradox == "pass":
            self.passing.add(contact)
        self._forget(everyone)
        self.escapes[contact] = (t, escape)
        data = self._data(contact, came, stays, lost)
        return Change(
            name=_name(code, stays),
            index=pair_index(system, contact),
            members=tuple(everyone),
            q=q[everyone],
            v=new_v[everyone],
            mode=self._modes(everyone),
            ledger=np.array([data["energy_loss"]]),
            data=data,
            outcome=self._stop(contact, code, t),
        )

    def _piles_up(self, contact: Contact, t: float) -> bool:
        """Whether a contact touches over and over at one instant, as the middle one of three bodies may."""
        last, count = self.repeats.get(contact, (-np.inf, 0))
        self.repeats[contact] = (t, count + 1 if t == last else 0)
        return self.repeats[contact][1] > PILE_UP

    def _contacts_joined_to(self, contact: Contact) -> list[Contact]:
        """The contacts that hang together with one, by bodies in contact; without itself."""
        both = {*self.bonds, contact}
        group = next(contacts for _, contacts in groups(both, self.bodies_of) if contact in contacts)
        return [other for other in group if other != contact]

    def _among(self, contact: Contact, others: list[Contact], q, v, over: bool):
        """What a touch does to the contacts that hang on it, and whether it stays itself.

        Contacts that now approach meet in an impact of their own, at once; those that part are told to be released; of
        the rest the rates that are left are taken out. With `over` a slow contact stays whether it presses or not.

        Returns:
            Whether the contact stays, how long it need not be looked at if not [s], all velocities, the energy that
            was taken out [J], and the bodies concerned.
        """
        network = Network.of(self, [contact, *others], q, v)
        rates = network.rates
        slow = np.maximum(float(self.system.settle_speed), network.rate_errors)
        still = np.abs(rates) <= slow
        for other, rate, rests in zip(others, rates[1:], still[1:], strict=True):
            if not rests:
                self.bonds.pop(other)
                (self.touching if rate < 0.0 else self.leaving).add(other)
        stays, escape = False, 0.0
        if still[0]:
            rest = network.part([k for k in range(len(rates)) if still[k]])
            forces, left, errors = rest.presses()
            stays = bool(over or forces[0] > 0.0 or left[0] <= errors[0])
            escape = 0.0 if stays else float(np.sqrt(2.0 * OPENED * self.radius[contact[1]] / left[0]))
        kept = [k for k in range(len(rates)) if still[k] and (stays or k > 0)]
        lost, new_v = 0.0, v
        if kept:
            new_v = v.copy()
            new_v[network.members], lost = network.part(kept).calm(v[network.members])
        return stays, escape, new_v, lost, network.members

    def _hold(self, contact: Contact, q, v) -> Hold:
        """What is to be known of a contact that has begun to last; friction holds it if it does not slip."""
        meeting = Network.of(self, [contact], q, v).meetings[0]
        u, n, mobility = (np.asarray(x) for x in (meeting.motion.u, meeting.separation.normal, meeting.mobility))
        slack = float(meeting.tolerances.a_eff) / float(n @ mobility @ n)
        if self.mu == 0.0:
            return Hold(slack)
        return Hold(slack, bool(np.linalg.norm(u - n * (n @ u)) <= self.stop))

    def _forget(self, members) -> None:
        """Forget how long bodies that have just touched need not be looked at: their velocities are new."""
        members = set(members)
        self.escapes = {pair: wait for pair, wait in self.escapes.items() if not members & set(self.bodies_of(pair))}

    def _modes(self, members) -> np.ndarray:
        bound = {i for bond in self.bonds for i in self.bodies_of(bond)}
        resting = {bond[1] for bond, hold in self.bonds.items() if hold.rests}
        return np.array([int(i in bound) + int(i in resting) for i in members])

    def _stop(self, contact: Contact, code: int, t: float) -> Outcome | None:
        if code not in PARADOXES or self.system.paradox != "stop":
            return None
        return Outcome(
            "paradox",
            f"Stopped at t = {t:.9g} s: {self._partners(contact)} touch in a paradox ({LABELS[code]}), from which free "
            'motion would drive them into each other. Set paradox = "sustain" to go on.',
        )

    def partners(self, contact: Contact, q, v):
        """The two partners where they are, the first next to the second."""
        first, second = contact
        if first >= self.system.n:
            return self.system.wall(first - self.system.n), placed_pair(self.system, second, second, q, v, np.zeros(3))[
                1
            ]
        return placed_pair(self.system, first, second, q, v, self.shift(q[first], q[second]))

    def _data(self, contact: Contact, came, stays: bool, lost: float) -> dict:
        """What the event of a touch tells (`event_quantities`)."""
        motion, at = came.before.motion, came.before.separation
        return {
            "body": contact[1],
            "partner": contact[0],
            "label": LABELS[int(came.code)],
            "impulse": float(np.asarray(came.impulse) @ np.asarray(at.normal)),
            "point": np.asarray(at.point2),
            "normal": np.asarray(at.normal),
            "normal_velocity": float(motion.v),
            "gap_acceleration": float(motion.a_eff),
            "gap_jerk": float(motion.gap3),
            "force_rate": float(came.force_rate) if stays else float("nan"),
            "energy_loss": 0.0 if self.system.law.lossless else lost,
        }

    def _tell(self, name: str, contact: Contact, t: float, q, v) -> Change:
        """An event that changes no velocity."""
        system, members = self.system, list(self.bodies_of(contact))
        came = resolve(*self.partners(contact, q, v), Elastic(), system.gravity, jnp.zeros(()), True)
        if name == "release":
            self.bonds.pop(contact, None)
            self._forget(members)
            # A gap that opens at a rate is seen to open. How long it stays so hangs on what holds the two bodies, too.
            opens = float(came.before.motion.v) > float(came.before.tolerances.v)
            self.escapes[contact] = (t, 0.0 if opens else float(came.escape))
        data = {**self._data(contact, came, False, 0.0), "impulse": 0.0, "label": name}
        return _no_change(name, pair_index(system, contact), members, q, v, self._modes(range(system.n)), data)

    # ---- members in contact -------------------------------------------------------------------

    def bands(self, members, t, q, v) -> list[Bond | LyingBody]:
        """The bands of bodies in contact to which some of these belong."""
        found = groups(self.bonds, self.bodies_of)
        return [band_of(self, bodies, contacts, q, v) for bodies, contacts in found if {*bodies} & {*members}]

    def happen_within(self, band: Bond | LyingBody, name, index, t, q, v, mode) -> Change:
        """A release, a body that lies down or comes to rest, or a change of friction: slip begins or ends."""
        contact = band.contacts.names[index]
        if name == "release":
            return self._tell("release", contact, t, q, v)
        if name in ("clap", "lie", "rest"):
            return self._on_face(name, contact, t, q, v)
        members = list(band.members)
        here = bond_of(self, members, band.contacts.names, q, v)
        if name == "jam":
            told = self._tell("jam", contact, t, q, v)
            return dataclasses.replace(told, outcome=self._jam_outcome(contact, t))
        held = here.grip(index)
        at = held.contact_forces(held.start)
        force = float(np.linalg.norm(at.tangent[index]))
        hold = self.bonds[contact]
        hold.sticks = name == "stick" and bool(force <= self.mu * at.normal[index])
        hold.creeps = not hold.sticks
        hold.heading = np.zeros(2) if hold.sticks else -at.tangent[index] / max(force, 1e-300)
        new_q, new_v, _ = held.rows(held.start)
        lost = held.energy(here.start) - held.energy(held.start)
        told = self._tell("stick" if hold.sticks else "slip", contact, t, q, v)
        return dataclasses.replace(
            told, members=tuple(members), q=new_q, v=new_v, mode=self._modes(members), ledger=np.array([lost])
        )

    def _on_face(self, name: str, contact: Contact, t: float, q, v) -> Change:
        """A face claps onto a wall; a body rocks too little to be followed and lies; it slides too slowly and rests."""
        member, hold = contact[1], self.bonds[contact]
        bond, row = bond_of(self, [member], [contact], q, v), v[member]
        if bond.face is None:
            raise ValueError(f"Body {member} has no face with which it could lie on a wall.")
        motion = motion_of(row)
        hold.inside, hold.lies, hold.rests = True, name != "clap", name == "rest"
        if name == "clap":
            quaternion = jnp.asarray(place_of(q[member]).quaternion)
            arm = np.asarray(rotation.rotate(quaternion, jnp.asarray(bond.start[-3:])))
            velocity, omega = bond.face.clap(motion.velocity, motion.turning, arm, hold.sticks)
        else:
            velocity, omega = bond.face.without_rocking(motion.velocity, motion.turning, hold.sticks)
        new_v = np.array([[*velocity, *omega, motion.contact_force]]) if name != "rest" else np.zeros((1, len(row)))
        lost = self._kinetic(member, q, row) - self._kinetic(member, q, new_v[0])
        told = self._tell(name, contact, t, q, v)
        if lost < 0.0:  # spin and slip may be coupled so that the face gives instead of taking: then it passes
            return told
        return dataclasses.replace(told, v=new_v, mode=self._modes([member]), ledger=np.array([lost]))

    def _kinetic(self, member: int, q, row) -> float:
        return float(self.system.at(jnp.asarray(q[member]), jnp.asarray(row), member).kinetic_energy())

    def _jam_outcome(self, contact: Contact, t: float) -> Outcome:
        return Outcome(
            "ill_posed",
            f"At t = {t:.9g} s friction presses {self._partners(contact)} together the harder the more it acts, and no "
            "finite force answers it (Painlevé's paradox). Take a smaller mu.",
        )


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


def _no_change(name, index, members, q, v, mode, data) -> Change:
    return Change(name, index, tuple(members), q[members], v[members], mode[members], np.zeros(1), data)


def _name(code: int, stays: bool) -> str:
    if code in PARADOXES:
        return "paradox"
    if stays:
        return "contact"
    return "impact" if LABELS[code] == "normal" else "tangential"
