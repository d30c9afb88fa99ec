"""A step of a few members that move together, driven from Python.

Their equations change with every contact, so nothing of a step is compiled; the band compiles what is costly in its
rates. One step is one leg: the queue asks for the next when it comes to its end.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from saltus.engines.guard_test import may_pass
from saltus.engines.steppers import ExplicitStepper, stepper
from saltus.hybrid import Outcome
from saltus.hybrid.members import Band
from saltus.numerics.on_host import Interpolation, root_between
from saltus.numerics.runge_kutta import HostStep, growth

METHOD = "dopri8"
SHORTEST = 1e-13  # of the time of the run or of the step first tried, below which a step is given up
SNAP = 1e-12  # of the time left, within which a step ends with it
EPS = float(np.finfo(float).eps)
POINTS = (0.25, 0.5, 0.75)  # places along a step that its interpolation goes through, beside both ends
FARTHEST = (0.125, 0.875)  # places at which it is farthest off: five times as far as between the inner points
AS_GOOD = 0.1  # of the error allowed, within which an interpolation stands for a step
MOST = 4.0  # by which a step may be longer than the one before


def _method() -> ExplicitStepper:
    method = stepper(METHOD)
    if not isinstance(method, ExplicitStepper):
        raise TypeError(f"Legs need an explicit method, got {METHOD!r}.")
    return method


class Leg:
    """One step of a band.

    Method, growth of steps, guard test and roots are those of all engines, by NumPy; the loop over tries is its own,
    since that of `advance` is compiled for one system. A band has other equations at every change of contacts, each of
    which would have to be compiled anew.

    Guards are tested as in every step (`guard_test.may_pass`), but at the stages alone and without a margin: their
    values come with the rates, a dozen in a step and no two farther apart than 0.28 of it, while looks between them
    would cost as many rates again. A guard that is down at a stage and up at the end halves the step. A dip that begins
    and ends between two stages is overlooked; a contact that lets go for so short a time is taken to last.

    Args:
        band: What moves.
        begin: Time at its start [s].
        until: Time at which it ends at the latest [s].
        rtol: Error allowed per step, relative to the size of each variable.
        stride: A step to try first, in the band's own variable; that of the band if None.

    Attributes:
        end: Time at its end [s].
        event: Name and number of the guard that ends it, or None.
        outcome: Why the run cannot go on after it, or None.
        stages: Variables and rates at the stages of the step.
    """

    def __init__(self, band: Band, begin: float, until: float, rtol: float, stride: float | None = None):
        self.band, self.begin, self.end, self.rtol = band, begin, begin, rtol
        self.event: tuple[str, int] | None = None
        self.outcome: Outcome | None = None
        self.size, self.y = 0.0, band.start
        self._last = (-np.inf, band.start)
        self.next_stride = band.stride if stride is None else stride
        rate, guards = band.rate(band.start)
        self.stages = [(band.start, rate)]
        due = np.flatnonzero(band.at_once & (guards < 0.0))
        if due.size:
            self.event = band.names[int(due[np.argmin(guards[due])])]
        else:
            self._go(min(until - begin, band.longest), rate, guards)

    def rows(self, t: float, whole: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Configurations, velocities and ledger at a time between begin and end."""
        return self.band.rows(self._at(t), whole)

    def sketch(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Configurations and velocities at a time, by interpolation: about as accurate as the step, and quick."""
        if t >= self.end or t <= self.begin:
            return self.band.rows(self._at(t), whole=False)[:2]
        return self.band.rows(self._on_course(np.array([t]))[0], whole=False)[:2]

    def samples(self, times: Sequence[float]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """As `rows` at each time, by interpolation where it is as good as a step: ten times as quick."""
        asked = np.asarray(times, float)
        within = (self.begin < asked) & (asked < self.end)
        if within.any() and self._course_holds:
            ys = np.empty((len(asked), len(self.band.start)))
            ys[within] = self._on_course(asked[within])
            for k in np.flatnonzero(~within):
                ys[k] = self._at(asked[k])
        else:
            ys = np.array([self._at(t) for t in asked])

        def one_by_one(ys: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            return [self.band.rows(y) for y in ys]

        return getattr(self.band, "several_rows", one_by_one)(ys)

    def _on_course(self, times: np.ndarray) -> np.ndarray:
        """The variables at several times, one row for each, by interpolation."""
        course, wanted, passed = self._course, times - self.begin, self.end - self.begin

        def late(sizes):
            return self.band.clock(course(sizes)) - wanted

        sizes = wanted * self.size / passed  # right where the variable is time
        if (np.abs(late(sizes)) > 1e-13 * passed).any():
            sizes = root_between(late, np.zeros_like(sizes), np.full_like(sizes, self.size), 1e-15 * self.size, 4 * EPS)
        return self.band.tidy(course(sizes))

    @functools.cached_property
    def _course_holds(self) -> bool:
        """Whether the interpolation is within a tenth of the error allowed, where it is farthest from its points."""
        scale = self.rtol * self.band.scales(self.band.start)
        taken = zip(FARTHEST, self._looks[len(POINTS) :], strict=True)
        misses = [(self.band.tidy(self._course(part * self.size)) - step.y) / scale for part, step in taken]
        return all(bool(np.sqrt(np.mean(miss**2)) <= AS_GOOD) for miss in misses)

    @functools.cached_property
    def _looks(self) -> list[HostStep]:
        """Shorter steps, to the inner points of the interpolation and to where it is farthest off."""
        return self._steps([part * self.size for part in (*POINTS, *FARTHEST)])

    @functools.cached_property
    def _course(self) -> Interpolation:
        """The variables along the step, from values and rates at five of its points."""
        ends = [self.stages[0], self.stages[-1]]
        inner = self._looks[: len(POINTS)]
        found = [ends[0], *((step.y, step.rates[-1]) for step in inner), (self.y, ends[1][1])]
        places = np.array([0.0, *POINTS, 1.0]) * self.size
        return Interpolation(places, np.array([y for y, _ in found]), np.array([rate for _, rate in found]))

    def _at(self, t: float) -> np.ndarray:
        """The variables at a time; the last answer is kept, since several ask in turn."""
        if t >= self.end or t <= self.begin:
            return self.y if t >= self.end else self.band.start
        if self._last[0] != t:
            size = self._size_for(t - self.begin, self.size, self.end - self.begin)
            self._last = (t, self._step(size)[0])
        return self._last[1]

    def onward(self, rtol: float, until: float) -> Leg:
        """The next leg of the same band."""
        return Leg(self.band.onward(self.y), self.end, until, rtol, self.next_stride)

    def _size_for(self, wanted: float, longest: float, passed: float) -> float:
        """How long a step takes a certain time, if one of length `longest` takes `passed`."""

        def late(size):
            return self.band.clock(self._step(size)[0]) - wanted

        guess = wanted * longest / passed  # right where the variable is time
        miss = late(guess)
        if abs(miss) <= 1e-14 * passed:
            return guess
        low, high = (0.0, guess) if miss > 0.0 else (guess, longest)
        return root_between(late, low, high, 1e-15 * longest, 1e-14)

    def _step(self, size: float, first: tuple | None = None):
        """Where a step leads, its error in units of what is allowed, variables, rates and guards at its stages."""
        guards = []

        def rate(y):
            found, values = self.band.rate(y) if guards or first is None else first
            guards.append(values)
            return found

        step = _method().by_numpy(rate, self.band.start, size)
        scale = self.rtol * self.band.scales(self.band.start)
        with np.errstate(over="ignore", invalid="ignore"):
            error = float(np.sqrt(np.mean((step.error / scale) ** 2)))
        return self.band.tidy(step.y), error, step.places, step.rates, np.array(guards)

    def _steps(self, sizes: list[float]) -> list[HostStep]:
        """Steps of several lengths, for which the band is asked at once."""

        def one_by_one(ys: np.ndarray) -> np.ndarray:
            return np.array([self.band.rate(y)[0] for y in ys])

        together = getattr(self.band, "rates", one_by_one)
        steps = _method().several_by_numpy(together, self.band.start, np.array(sizes))
        return [step._replace(y=self.band.tidy(step.y)) for step in steps]

    def _go(self, left: float, rate: np.ndarray, first: np.ndarray) -> None:
        """Take the longest step that is accurate, ends in time and shows no event but at its end."""
        size = self.next_stride
        least = SHORTEST * max(abs(self.begin), left)
        for _ in range(200):
            y, error, ys, rates, guards = self._step(size, (rate, first))
            passed = self.band.clock(y)
            if not error <= 1.0:
                size *= 0.2 if not np.isfinite(error) else max(0.2, growth(error, _method().order))
            elif passed > left * (1.0 + SNAP):
                size = self._size_for(left, size, passed)
            else:
                passes = (first > 0.0) & may_pass(guards.min(axis=0), guards.max(axis=0), 0.0)
                down = passes & (guards[-1] <= 0.0)
                dips = passes & ~down
                if not dips.any() or passed <= least:
                    self._accept(size, y, ys, rates)
                    if passed >= left * (1.0 - SNAP):
                        self.end = self.begin + left
                    self.next_stride = size * min(MOST, growth(max(error, 1e-12), _method().order))
                    if down.any():
                        self._locate(np.flatnonzero(down))
                    return
                size *= 0.5
            if size <= SHORTEST * self.band.stride and passed <= least:
                break
        self.outcome = Outcome(
            "stalled",
            f"The forces of the contacts at t = {self.begin:.9g} s change too fast to be followed, between "
            f"{self._who()}. Change the start a little, or take rounder shapes.",
        )

    def _who(self) -> str:
        return "members " + " and ".join(str(member) for member in self.band.members)

    def _accept(self, size: float, y: np.ndarray, ys: list, rates: np.ndarray) -> None:
        self.size, self.y, self.end = size, y, self.begin + self.band.clock(y)
        self.stages = list(zip(ys, rates, strict=True))

    def _parts(self, size: float):
        y, _, ys, rates, _ = self._step(size)
        return y, ys, rates

    def _locate(self, down: np.ndarray) -> None:
        """End the step at the earliest zero of the guards that are positive at its start, and down at its end."""
        for k in down.tolist():
            if self.event is None or self._guard(self.size, k) <= 0.0:  # else its zero is later
                size = root_between(lambda size, k=k: self._guard(size, k), 0.0, self.size, 1e-15 * self.size, 1e-14)
                self.event = self.band.names[k]
                self._accept(size, *self._parts(size))

    def _guard(self, size: float, k: int) -> float:
        """A guard at the end of a step of this length."""
        return float(self._step(size)[4][-1, k])
