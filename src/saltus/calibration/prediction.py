"""What a scenario says of the observations, and how that depends on its parameters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.calibration.observation import Moment, Sighting
from saltus.errors import ScenarioError
from saltus.hybrid import State
from saltus.scenarios.base import Scenario
from saltus.scenarios.loader import validate
from saltus.scenarios.replace import replace_keys

if TYPE_CHECKING:
    from saltus.simulation import Run

UNTRACEABLE = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
DIFFERENCE = 1e-5  # of a parameter, by which it is changed where a run cannot be replayed


class UnseenError(ScenarioError):
    """A run in which something that was observed does not happen."""


@dataclasses.dataclass(frozen=True)
class Results:
    """The results of a system by name: what they are, their shapes, and the labels of their dimensions."""

    kind: str
    quantities: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    labels: dict[str, list]

    @staticmethod
    def of(system, state: State) -> Results:
        """The results of a system; none of them is computed."""
        shapes = {name: one.shape for name, one in eqx.filter_eval_shape(system.observe, state).items()}
        return Results(system.kind, system.quantities(), shapes, system.coordinates())


@dataclasses.dataclass(frozen=True)
class Model:
    """A scenario, the keys that may change, and what was seen of it."""

    scenario: Scenario
    keys: tuple[str, ...]
    seen: tuple[Sighting, ...]

    def with_values(self, values) -> Scenario:
        """The scenario with these parameters, checked."""
        plain = replace_keys(self.scenario, dict(zip(self.keys, map(float, values), strict=True)))
        return validate(plain.model_dump(exclude_unset=True) | {"kind": plain.kind})

    def run(self, values) -> Run:
        """A run with these parameters; `ScenarioError` where there is none."""
        return self.with_values(values).simulate()

    def predict(self, run: Run) -> np.ndarray:
        """What a run says of each observation."""
        where = _Where.of(run, self.seen)
        states = run.states(where.times) if where.times.size else None
        after = [jax.tree.map(np.asarray, run.events[k].after) for k in where.events]
        after = jax.tree.map(lambda *leaves: np.stack(leaves), *after) if after else None
        moments = np.array([float(run.events[k].t) for k in where.events])
        return np.asarray(self._pick(run.system, where, states, run.end, after, moments))

    def jacobian(self, run: Run, values) -> tuple[np.ndarray, str]:
        """Derivatives of the predictions by the parameters, and how they were found."""
        try:
            return self._replay(run, np.asarray(values, float)), "replay"
        except NotReplayable:
            return self._differences(np.asarray(values, float)), "differences"

    def _replay(self, run: Run, values: np.ndarray) -> np.ndarray:
        where = _Where.of(run, self.seen)

        def of(x):
            try:
                system, start = replace_keys(self.scenario, dict(zip(self.keys, x, strict=True))).build()
            except UNTRACEABLE as reason:
                raise NotReplayable(str(reason)) from reason
            # Every number of the start is made to depend on the parameters, so that all stretches share one program.
            start = _make_dependent(start, x[0])
            try:
                again = run.replay(system, start, where.times if where.times.size else None)
            except ValueError as reason:
                raise NotReplayable(str(reason)) from reason
            after, moments = _rows((again.after, again.event_times), np.array(where.events, int))
            return self._pick(system, where, again.states, again.end, after, moments)

        return np.asarray(jax.jacfwd(of)(jnp.asarray(values)))

    def _differences(self, values: np.ndarray) -> np.ndarray:
        """Central differences of fresh runs, for runs that cannot be replayed."""
        columns = []
        for k, value in enumerate(values):
            step = np.zeros(len(values))
            step[k] = DIFFERENCE * max(abs(value), 1e-3)
            high, low = (self.predict(self.run(values + sign * step)) for sign in (1.0, -1.0))
            columns.append((high - low) / (2.0 * step[k]))
        return np.stack(columns, axis=1)

    def _pick(self, system, where: _Where, states, end: State, after: State | None, moments) -> Array:
        """Of the results at all moments the observed numbers."""
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(self.seen):
            numbers.setdefault(one.what, []).append(number)
        numbers = dict(sorted(numbers.items()))  # as JAX hands dictionaries over
        places = {
            what: np.array([(where.rows[n], *self.seen[n].index) for n in chosen], int).T
            for what, chosen in numbers.items()
        }
        order = np.argsort(np.concatenate(list(numbers.values())))
        parts = [part for part in (states, after) if part is not None]
        return _observe(system, parts, end, (where.times, moments), places, order)


class NotReplayable(Exception):  # noqa: N818 - a message between two functions, never an error of the user's
    """A run that cannot be taken again with traced numbers."""


@eqx.filter_jit
def _observe(system, parts: list[State], end: State, clock, places: dict[str, np.ndarray], order) -> Array:
    """What is seen at `places` (moment and index, one column each) of each quantity, brought into `order`."""
    parts = [*parts, jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], end)]
    states = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
    found = jax.vmap(system.observe)(states) if set(places) - {"time"} else {}
    found = {**found, "time": jnp.concatenate([*clock, jnp.asarray(end.t)[None]])}
    return jnp.concatenate([found[what][tuple(place)] for what, place in places.items()])[order]


@eqx.filter_jit
def _make_dependent(start: State, number) -> State:
    return jax.tree.map(lambda leaf: leaf + 0.0 * number if eqx.is_inexact_array(leaf) else leaf, start)


@eqx.filter_jit
def _rows(given, numbers):
    return jax.tree.map(lambda leaf: leaf[numbers], given)


@dataclasses.dataclass(frozen=True)
class _Where:
    """Where in a run the observations are: times, events by their numbers, and the end, in that order."""

    times: np.ndarray
    events: list[int]
    rows: list[int]

    @staticmethod
    def of(run: Run, seen: tuple[Sighting, ...]) -> _Where:
        moments = list(dict.fromkeys(one.moment for one in seen))
        at_times = [moment for moment in moments if moment.time is not None]
        at_events = [moment for moment in moments if moment.event is not None]
        begin, end = float(run.trajectory.start.t), float(run.end.t)
        times = np.array([moment.time for moment in at_times], float)
        for t in times:
            if not begin <= t <= end:
                raise UnseenError(
                    f"There is an observation at t = {t:g} s, but the run covers {begin:g} to {end:.6g} s "
                    f"({run.outcome.name}). Change `solve.until`, the first guess, or leave the observation out."
                )
        events = [_number_of(run, moment) for moment in at_events]
        order = {moment: row for row, moment in enumerate([*at_times, *at_events])}
        rows = [order.get(one.moment, len(order)) for one in seen]
        return _Where(times, events, rows)


def _number_of(run: Run, moment: Moment) -> int:
    """Which event of the run is meant."""
    fits = [
        number for number, event in enumerate(run.events)
        if event.name == moment.event and moment.index in (None, event.index)
    ]  # fmt: skip
    try:
        return fits[moment.occurrence]
    except IndexError:
        names = ", ".join(dict.fromkeys(f"{event.name}[{event.index}]" for event in run.events)) or "none"
        raise UnseenError(
            f"The observed {moment} does not happen in the run, which has {len(fits)} of that sort. "
            f"Its events: {names}."
        ) from None
