"""Packings: bodies that grow while they collide until they jam (Lubachevsky and Stillinger)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from saltus import checks
from saltus.gas.states import Species, bodies_of, freedoms, lattice, scale_velocities, thermal
from saltus.starts.gas import APART
from saltus.systems.gas.bodies import Bodies
from saltus.systems.gas.hard_bodies import HardBodies
from saltus.systems.gas.overlap import gaps

FULL = 0.85  # volume fraction of the box at full size, never reached
FASTEST = 10.0  # rate of growth over the speed of the bodies
HOT = 1.5  # temperature over the wanted one at which velocities are scaled down
TOUCHING = 20.0  # a gap below this many mean gaps of a jammed packing (1 / pressure of the size) is a contact


@dataclasses.dataclass(frozen=True)
class Packing:
    """A jammed packing.

    Args:
        bodies: The bodies, at the size that was asked for.
        box: Edge lengths of the periodic box [m].
        volume_fraction: Of the bodies in it.
        contacts_per_body: Mean number of near contacts of a body.
        compressibility: p V / (N kT) at the end.
        collisions: How many it took.
        jammed: Whether the wanted compressibility was reached.
        deepest: The largest overlap ever found at a contact, at the size that was asked for [m].
    """

    bodies: Bodies
    box: np.ndarray
    volume_fraction: float
    contacts_per_body: float
    compressibility: float
    collisions: int
    jammed: bool
    deepest: float


def compress(
    species: Sequence[Species],
    *,
    rate: float = 0.02,
    compressibility: float = 1000.0,
    seed: int = 0,
    most: int = 40_000,
    report: Callable[[float, int], None] | None = None,
) -> Packing:
    """Bodies in a cubic periodic box, compressed until they jam.

    Args:
        species: What bodies.
        rate: Rate at which they grow, in units of their speed over their size; slow ones end denser.
        compressibility: p V / (N kT) at which they count as jammed; the volume fraction is then about 3 / this below
            the limit.
        seed: The same seed gives the same packing.
        most: Contacts per body after which to give up.
        report: Called with the volume fraction and the number of contacts.
    """
    checks.positive("rate", rate)
    checks.between("rate", rate, 0.0, FASTEST, "Faster bodies jam before they have moved.")
    checks.between("compressibility", compressibility, 10.0, 1e9)
    bodies = bodies_of(species, seed)
    edge = (bodies.volume / FULL) ** (1 / 3)
    box = np.full(3, edge)
    place, spacing = lattice(bodies.n, box, np.random.default_rng([seed, 3]))
    bodies = thermal(dataclasses.replace(bodies, place=place), float(bodies.mass.mean()), seed)
    count = freedoms(bodies)[1]
    begin = APART * spacing / float(bodies.radius.max())
    pace = rate / float(np.mean(np.prod(bodies.axes, axis=1) ** (1 / 3)))
    hard = HardBodies(bodies, box, scale=begin, growth=pace, largest=1.0)
    factor, temperature = 1.0, float(bodies.mass.mean())
    while factor < compressibility and int(hard.fluid.tally.contacts) < most * bodies.n and hard.outcome is None:
        before = hard.time
        done = hard.advance((1.0 - hard.scale) / pace, contacts=20 * bodies.n)
        snapshot = hard.snapshot()
        heat = 2.0 * sum(float(part.sum()) for part in snapshot.energies()) / count
        factor = 1.0 + float(done.virial) / (3.0 * bodies.n * heat * (hard.time - before))
        if heat > HOT * temperature:
            hard.restart(scale_velocities(snapshot, temperature, count))
        if report is not None:
            report(bodies.volume * hard.scale**3 / edge**3, int(hard.fluid.tally.contacts))
    return _packing(hard, edge, factor, factor >= compressibility)


def _packing(hard: HardBodies, edge: float, factor: float, jammed: bool) -> Packing:
    """The packing that the bodies have come to, at their own size again."""
    size, bodies = hard.scale, hard.snapshot()
    near = gaps(bodies, hard.box, size)
    small = TOUCHING / factor * float(np.mean(np.prod(bodies.axes * size, axis=1) ** (1 / 3)))
    place = bodies.place - edge * np.floor(bodies.place / edge + 0.5)
    return Packing(
        bodies=dataclasses.replace(bodies, place=place / size),
        box=hard.box / size,
        volume_fraction=bodies.volume * size**3 / edge**3,
        contacts_per_body=2.0 * float(np.sum(near < small)) / bodies.n,
        compressibility=factor,
        collisions=int(hard.fluid.tally.contacts),
        jammed=jammed,
        deepest=max(0.0, -float(hard.fluid.tally.deepest)) / size,
    )
