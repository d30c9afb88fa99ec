"""Foresees the contacts of many bodies: a coarse search among neighbours, then the exact one."""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus.contacts.classify import LABELS
from saltus.contacts.first_contact import first_contact
from saltus.contacts.gap import gap
from saltus.contacts.wall import wall_contact, wall_gap
from saltus.hybrid import Outcome, State
from saltus.hybrid.crowd import Band, Change, Upcoming
from saltus.systems.bodies.touch import PARADOXES, resolve_compiled

BYSTANDERS = 4  # free bodies that a band may keep an eye on
CHUNK = 256
OVERLAP = 1e-11  # of the size; deeper overlaps at the start are refused


class Schedule:
    """The plan of a crowd of rigid bodies.

    Every body has an anchor, the place of its last look-out, and free room around it. Bodies whose
    rooms are apart cannot touch before one of them leaves its room and looks out again.
    """

    def __init__(self, system, start: State, until: float):
        self.system, self.until = system, until
        self.radius = np.asarray(jax.vmap(lambda shape: shape.radius())(system.shapes))
        self.period = None if system.period is None else np.asarray(system.period)
        self.gravity = np.asarray(system.gravity)
        self.anchor = np.array(start.q[:, :3])
        self.room = 0.35 * float(np.mean(self.radius)) if system.n > 12 else np.inf
        if self.period is not None:
            # A room must not reach round the box to another image of the same body.
            free = float(np.min(self.period)) / 2.0 - 2.0 * float(self.radius.max())
            if free <= 0.0:
                raise ValueError(
                    f"The periodic box is too small: its shortest edge {float(self.period.min()):g} m must exceed four "
                    f"times the largest radius {float(self.radius.max()):g} m. Take a larger box or smaller bodies."
                )
            self.room = min(self.room, free / 2.0)
        self.escapes: dict[tuple[int, int], tuple[float, float]] = {}  # pair: (time of touch, wait)
        self.passing: set[tuple[int, int]] = set()
        # Bodies that touch at the start are looked at before anything moves.
        self.touching = set(touching(system, start))

    # ---- what is to come ----------------------------------------------------------------------

    def foresee(self, members, t, q, v, mode) -> list[Upcoming]:
        """Contacts and look-outs that concern these members."""
        members = [member for member in members if mode[member] == 0]
        self.anchor[members] = q[members, :3]
        leave = t + self._stay(q, v)
        events = [Upcoming(float(leave[i]), "look-out", (i,)) for i in members if leave[i] < np.inf]
        events += [Upcoming(t, "touch", _bodies_of(pair, self.system), pair) for pair in sorted(self.touching)]
        self.touching, waiting = set(), self.touching
        pairs = [pair for pair in self._neighbours(members, mode) if pair not in waiting]
        horizons = np.array([min(leave[i], leave[j], self.until) for i, j in pairs]) - t
        events += self._contacts(pairs, horizons, t, q, v)
        walls = [(self.system.n + wall, i) for i in members for wall in range(self.system.n_walls)]
        walls = [pair for pair in walls if pair not in waiting]
        horizons = np.array([min(leave[i], self.until) for _, i in walls]) - t
        events += self._contacts(walls, horizons, t, q, v)
        return events

    def _stay(self, q, v) -> np.ndarray:
        """How long each body stays within its room."""
        if not np.isfinite(self.room):
            return np.full(len(q), np.inf)
        left = np.maximum(self.room - np.linalg.norm(q[:, :3] - self.anchor, axis=1), 0.0)
        speed, pull = np.linalg.norm(v[:, :3], axis=1), float(np.linalg.norm(self.gravity))
        return 2.0 * left / np.maximum(speed + np.sqrt(speed**2 + 2.0 * pull * left), 1e-300)

    def _image(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Whole periods to be added to `second` so that it is nearest to `first`."""
        if self.period is None:
            return np.zeros(np.broadcast(first, second).shape)
        return -self.period * np.round((second - first) / self.period)

    def _neighbours(self, members, mode) -> list[tuple[int, int]]:
        """Pairs of a member and another body whose rooms meet; each pair once, the smaller number first."""
        found: set[tuple[int, int]] = set()
        everyone = np.arange(self.system.n)
        for i in members:
            apart = self.anchor - self.anchor[i]
            apart = apart + self._image(self.anchor[i], self.anchor)
            near = np.linalg.norm(apart, axis=1) < self.radius + self.radius[i] + 2.0 * self.room
            for j in everyone[near & (everyone != i) & (mode == 0)]:
                found.add((min(i, int(j)), max(i, int(j))))
        return sorted(found)

    def _contacts(self, pairs, horizons, t, q, v) -> list[Upcoming]:
        events = []
        for begin in range(0, len(pairs), CHUNK):
            part = slice(begin, begin + CHUNK)
            events += self._search(pairs[part], horizons[part], t, q, v)
        return events

    def _search(self, pairs, horizons, t, q, v) -> list[Upcoming]:
        """The exact search for one block of pairs of the same sort."""
        count = len(pairs)
        size = max(4, 1 << max(count - 1, 0).bit_length())
        first, second = np.array(pairs, int).T
        shifts = np.zeros((count, 3))
        begins = np.array([self._wait(pair, t) for pair in pairs])
        walls = first[0] >= self.system.n
        if not walls:
            shifts = self._image(q[second, :3], q[first, :3])
        rows = np.minimum(np.arange(size), count - 1)
        # What fills the block up has no time to search in.
        horizons = np.where(np.arange(size) < count, horizons[rows], -1.0)
        search = _search_walls if walls else _search_pairs
        happens, times, certified = search(
            self.system, first[rows], second[rows], q, v, shifts[rows], begins[rows], horizons
        )
        if not np.asarray(certified)[:count].all():
            lost = pairs[int(np.argmin(np.asarray(certified)[:count]))]
            raise RuntimeError(f"The search for the contact of {lost} took too many steps after t = {t:.9g} s.")
        events = []
        for k in np.flatnonzero(np.asarray(happens)[:count]):
            pair = (int(first[k]), int(second[k]))
            members = _bodies_of(pair, self.system)
            sort = "emergence" if pair in self.passing else "touch"
            events.append(Upcoming(t + float(times[k]), sort, members, pair))
        return events

    def _wait(self, pair, t: float) -> float:
        """How long two bodies that have just touched need not be looked at."""
        touched, wait = self.escapes.get(pair, (-np.inf, 0.0))
        if pair in self.passing:
            return wait
        return max(touched + wait - t, 0.0)

    # ---- what happens -------------------------------------------------------------------------

    def happen(self, event: Upcoming, q, v, mode) -> Change:
        """A look-out changes nothing; a touch is resolved."""
        if event.kind == "look-out":
            (i,) = event.members
            self.anchor[i] = q[i, :3]
            return Change(None, 0, (i,), q[[i]], v[[i]], mode[[i]], np.zeros(1), {})
        return self.touch(event.detail, event.t, q, v, mode)

    def touch(self, pair: tuple[int, int], t: float, q, v, mode) -> Change:
        """Two bodies, or a wall and a body, have met."""
        system, (first, second) = self.system, pair
        sustain = system.paradox == "sustain"
        one, two, shift = self._partners(pair, q, v)
        came = resolve_compiled(one, two, system.law, system.gravity, system.settle_speed, sustain)
        code, stays = int(came.code), bool(came.stays)
        members = [second] if first >= system.n else [first, second]
        freed = [i for i in range(system.n) if mode[i] > 0 and (i in members or mode[i] - 1 in members)]
        everyone = [*members, *(i for i in freed if i not in members)]
        new_q, new_v, new_mode = q[everyone].copy(), v[everyone].copy(), np.zeros(len(everyone), int)
        bodies = [came.second] if first >= system.n else [came.first, came.second]
        for k, body in enumerate(bodies):
            new_v[k] = np.concatenate([np.asarray(body.velocity), np.asarray(body.angular_velocity)])
        if stays:
            new_mode[members.index(second)] = first + 1
            if first < system.n:
                new_mode[members.index(first)] = second + 1
        self.escapes[pair] = (t, float(came.escape))
        data = self._data(pair, came, shift)
        name = _name(code, stays)
        outcome = None
        if code in PARADOXES and system.paradox == "stop":
            outcome = Outcome(
                "paradox",
                f"Stopped at t = {t:.9g} s: bodies {first} and {second} touch in a paradox ({LABELS[code]}), from "
                'which free motion would drive them into each other. Set paradox = "sustain" to go on.',
            )
        if code in PARADOXES and system.paradox == "pass":
            self.passing.add(pair)
        index = pair_index(system, pair)
        return Change(
            name, index, tuple(everyone), new_q, new_v, new_mode, np.array([data["energy_loss"]]), data, outcome
        )

    def _partners(self, pair, q, v):
        system, (first, second) = self.system, pair
        two = system.at(jnp.asarray(q[second]), jnp.asarray(v[second]), second)
        if first >= system.n:
            return system.wall(first - system.n), two, np.zeros(3)
        shift = self._image(q[second, :3], q[first, :3])
        place = np.concatenate([q[first, :3] + shift, q[first, 3:]])
        return system.at(jnp.asarray(place), jnp.asarray(v[first]), first), two, shift

    def _data(self, pair, came, shift) -> dict:
        first, second = pair
        motion, separation = came.before.motion, came.before.separation
        impulse = np.asarray(came.impulse)
        normal = np.asarray(separation.normal)
        velocity = (np.asarray(motion.u) + np.asarray(came.after.motion.u)) / 2.0
        return {
            "body": second,
            "partner": first,
            "label": LABELS[int(came.code)],
            "impulse": float(impulse @ normal),
            "point": np.asarray(separation.point2),
            "normal": normal,
            "normal_velocity": float(motion.v),
            "gap_acceleration": float(motion.a_eff),
            "gap_jerk": float(motion.gap3),
            "force_rate": float(came.force_rate) if bool(came.stays) else float("nan"),
            # The work of an impulse is that at the mean of the velocities before and after.
            "energy_loss": max(-float(impulse @ velocity), 0.0) if _dissipates(self.system) else 0.0,
        }

    # ---- members in contact -------------------------------------------------------------------

    def bands(self, t, q, v, mode, until) -> list[Band]:
        """Bodies in contact, with the free ones that could reach them soon."""
        bound = [i for i in range(self.system.n) if mode[i] > 0]
        reach = np.full(self.system.n, np.inf)
        pull = np.linalg.norm(self.gravity)
        for i in bound:
            apart = q[:, :3] - q[i, :3] + self._image(q[i, :3], q[:, :3])
            distance = np.linalg.norm(apart, axis=1) - self.radius - self.radius[i]
            speed = np.linalg.norm(v[:, :3], axis=1) + 2.0 * np.linalg.norm(v[i, :3]) + pull
            reach = np.minimum(reach, np.maximum(distance, 0.0) / np.maximum(speed, 1e-300))
        reach[bound] = np.inf
        order = [int(i) for i in np.argsort(reach) if np.isfinite(reach[i])]
        beyond = reach[order[BYSTANDERS]] if len(order) > BYSTANDERS else np.inf
        until = min(until, t + max(beyond, 1e-3)) if np.isfinite(beyond) else until
        near = [i for i in order[:BYSTANDERS] if t + reach[i] < until]
        members = [*bound, *near]
        small = self._part(members, q, v)
        return [Band(small, tuple(members), len(bound), self._renumbered(mode, members), until)]

    def _part(self, members, q, v):
        bodies = [self.system.at(jnp.asarray(q[i]), jnp.asarray(v[i]), i) for i in members]
        return self.system.like(bodies)

    def _renumbered(self, mode, members) -> np.ndarray:
        """Partners by their numbers in the band; walls are counted on from its bodies."""
        n, found = self.system.n, []
        for i in members:
            partner = mode[i] - 1
            if partner < 0:
                found.append(0)
            else:
                found.append((members.index(partner) if partner < n else partner - n + len(members)) + 1)
        return np.array(found, int)

    def banded(self, band: Band, name, index, t, q, v, mode) -> Change:
        """A release, or a touch within a band."""
        first, second = band.system.pairs()[index]
        numbers = [*band.members, *(self.system.n + wall for wall in range(self.system.n_walls))]
        first, second = numbers[first], numbers[second]
        if first < self.system.n and first > second:
            first, second = second, first
        if name == "touch":
            return self.touch((first, second), t, q, v, mode)
        members = [second] if first >= self.system.n else [first, second]
        one, two, _ = self._partners((first, second), q, v)
        came = resolve_compiled(one, two, self.system.law, self.system.gravity, self.system.settle_speed, True)
        self.escapes[(first, second)] = (t, float(came.escape))
        data = {**self._data((first, second), came, None), "impulse": 0.0, "energy_loss": 0.0, "label": "release"}
        zeros = np.zeros(len(members), int)
        index = pair_index(self.system, (first, second))
        return Change("release", index, tuple(members), q[members], v[members], zeros, np.zeros(1), data)


def _bodies_of(pair: tuple[int, int], system) -> tuple[int, ...]:
    """The bodies of a pair; the first of it may be a wall."""
    return pair if pair[0] < system.n else pair[1:]


def _dissipates(system) -> bool:
    return type(system.law).__name__ != "Elastic"


def _name(code: int, stays: bool) -> str:
    if code in PARADOXES:
        return "paradox"
    if stays:
        return "contact"
    return "impact" if LABELS[code] == "normal" else "tangential"


def pair_index(system, pair: tuple[int, int]) -> int:
    """Place of a pair in `system.pairs()`, without listing them."""
    first, second = pair
    n = system.n
    if first >= n:
        return n * (n - 1) // 2 + (first - n) * n + second
    return first * n - first * (first + 1) // 2 + second - first - 1


@eqx.filter_jit
def _search_pairs(system, first, second, q, v, shifts, begins, horizons):
    q, v = jnp.asarray(q), jnp.asarray(v)

    def one(i, j, shift, begin, horizon):
        place = jnp.concatenate([q[i, :3] + shift, q[i, 3:]])
        found = first_contact(system.at(place, v[i], i), system.at(q[j], v[j], j), horizon, begin=begin)
        return found.happens, found.time, found.certified

    return jax.vmap(one)(*(jnp.asarray(x) for x in (first, second, shifts, begins, horizons)))


@eqx.filter_jit
def _search_walls(system, first, second, q, v, shifts, begins, horizons):
    q, v = jnp.asarray(q), jnp.asarray(v)

    def one(wall, i, begin, horizon):
        body = system.at(q[i], v[i], i)
        found = wall_contact(system.wall(wall - system.n), body, horizon, gravity=system.gravity, begin=begin)
        return found.happens, found.time, found.certified

    return jax.vmap(one)(*(jnp.asarray(x) for x in (first, second, begins, horizons)))


def overlaps(system, state: State) -> list[tuple[int, int, float]]:
    """Pairs that overlap: body, partner (walls counted on from the bodies), depth."""
    return [(second, first, -g) for (first, second), g, size in close_pairs(system, state) if g < -OVERLAP * size]


def touching(system, state: State) -> list[tuple[int, int]]:
    """Pairs that touch."""
    return [pair for pair, g, size in close_pairs(system, state) if g <= OVERLAP * size]


def close_pairs(system, state: State) -> list[tuple[tuple[int, int], float, float]]:
    """Pairs whose bounding balls meet, with their gaps and sizes."""
    q = np.asarray(state.q)
    radius = np.asarray(jax.vmap(lambda shape: shape.radius())(system.shapes))
    pairs, places, found = [], [], []
    for i, j in itertools.combinations(range(system.n), 2):
        apart = q[i, :3] - q[j, :3]
        if system.period is not None:
            apart = apart - np.asarray(system.period) * np.round(apart / np.asarray(system.period))
        if np.linalg.norm(apart) <= (radius[i] + radius[j]) * (1.0 + 1e-9):
            pairs.append((i, j))
            places.append(q[j, :3] + apart)
    if pairs:
        first, second = np.array(pairs).T
        gaps = np.asarray(_pair_gaps(system, state, first, second, np.array(places)))
        found += [(pair, float(g), radius[list(pair)].sum()) for pair, g in zip(pairs, gaps, strict=True)]
    if system.n_walls:
        gaps = np.asarray(_wall_gaps(system, state))
        for i, wall in itertools.product(range(system.n), range(system.n_walls)):
            found.append(((system.n + wall, i), float(gaps[i, wall]), radius[i]))
    return found


@eqx.filter_jit
def _pair_gaps(system, state, first, second, places):
    def one(i, j, place):
        body = eqx.tree_at(lambda b: b.center, system.body(state, i), place)
        return gap(body, system.body(state, j)).gap

    return jax.lax.map(lambda row: one(*row), (jnp.asarray(first), jnp.asarray(second), jnp.asarray(places)))


@eqx.filter_jit
def _wall_gaps(system, state):
    def of(i):
        return jax.vmap(lambda wall: wall_gap(wall, system.body(state, i)).gap)(system.walls)

    return jax.vmap(of)(jnp.arange(system.n))
