"""Chains of all lengths and laws as runs of one compiled program."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings

import numpy as np

from saltus import systems
from saltus.hybrid import Event
from saltus.papers.memo import memoise
from saltus.papers.vrbik import finite_force
from saltus.simulation import Run, simulate

OVERHANG = 1e-4  # Y at the start, printed
LAWS = ("limit", "plastic", "printed", "frozen")
LONGEST, QUICK_LONGEST = 40, 12
SIZES = (*range(1, 13), *range(14, 21, 2), *range(24, LONGEST + 1, 4))
QUICK_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
# Particles beyond the end of a shorter chain have no mass to speak of; 1e-30 of a unit changes no digit.
NOTHING = 1e-30
FORCES = (1e2, 1e3, 1e4, 1e5, 1e6)
FINITE_LINKS = 3
CONTINUUM = (31, 63, 127)


@dataclasses.dataclass(frozen=True)
class Slide:
    """A chain of n links that has slid off."""

    links: int
    run: Run
    crossings: tuple[Event, ...]

    @property
    def exit_time(self) -> float:
        """When the last particle left the table."""
        return float(self.crossings[-1].t)

    @property
    def losses(self) -> np.ndarray:
        """Energy lost at each crossing; negative where it is created."""
        return np.array([event.data["energy_loss"] for event in self.crossings], float)


def chain(links: int, law: str, longest: int, **options) -> systems.Chain:
    """A chain of `links` links as part of one with `longest`, whose other particles have no mass."""
    mass = np.where(np.arange(longest + 1) <= links, options.pop("mass", 1.0), NOTHING)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*creates energy.*")
        return systems.Chain(longest, mass=mass, gravity=1.0, engagement=law, ends_off_table=True, **options)


def slide(moving: systems.Chain, start, links: int, rtol: float = 1e-10) -> Slide:
    """Run until `links` particles have crossed the edge."""
    for spare in (1, 3, 8, 30, 200):
        run = simulate(moving, start, math.inf, rtol=rtol, atol=1e-2 * rtol, max_events=links + spare)
        crossings = tuple(event for event in run.events if event.name in ("crossing", "exit"))
        if len(crossings) >= links:
            return Slide(links, run, crossings[:links])
    raise RuntimeError(f"The chain of {links} links did not leave the table.")


class Workbench:
    """Runs that claims and figures share."""

    def __init__(self, quick: bool = False):
        self.quick = quick
        self.longest = QUICK_LONGEST if quick else LONGEST
        self.sizes = QUICK_SIZES if quick else SIZES

    @memoise
    def slide_of(self, links: int, law: str = "limit", overhang: float = OVERHANG) -> Slide:
        """A chain as the article starts it."""
        moving = chain(links, law, self.longest)
        # Already hanging particles start straight down; the first one lies flat in the air, as printed.
        return slide(moving, moving.start(overhang), links)

    @functools.cached_property
    def table(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Exit times and energies lost, for every law and size."""
        found = {}
        for law in LAWS:
            slid = [self.slide_of(links, law) for links in self.sizes]
            found[law] = np.array([one.exit_time for one in slid]), np.array([one.losses.sum() for one in slid])
        return found

    @memoise
    def finite(self, force: float) -> finite_force.Slide:
        """A short chain with no law of the jerk."""
        return finite_force.slide(FINITE_LINKS, OVERHANG, force)

    @memoise
    def short(self, law: str) -> tuple[float, np.ndarray]:
        """A short chain with a law of the jerk: exit time and velocities then."""
        moving = chain(FINITE_LINKS, law, FINITE_LINKS)
        slid = slide(moving, moving.start(OVERHANG), FINITE_LINKS, rtol=1e-12)
        return slid.exit_time, np.asarray(moving.observe(slid.crossings[-1].after)["velocity"])

    @memoise
    def many(self, links: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """A chain of unit length with many links: share over the edge, speed, time, and energy lost."""
        longest = CONTINUUM[-1]
        moving = chain(links, "limit", longest, mass=1.0 / (links + 1), length=1.0 / links)
        slid = slide(moving, moving.start(1.0 / 8.0), links - int(links / 8.0), rtol=1e-7)
        over = np.array([event.data["particle"] - 1 for event in slid.crossings]) / links
        speed = np.array([event.data["table_speed"] for event in slid.crossings])
        times = np.array([event.t for event in slid.crossings])
        return over, speed, times, float(slid.losses.sum())
