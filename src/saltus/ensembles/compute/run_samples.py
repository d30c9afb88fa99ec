"""Run some samples of a scenario and keep what is asked of each: together where that is possible, else one by one.

What a sample gives depends on its numbers alone, not on the others of its chunk.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from saltus.diagnostics.accuracy import Promise
from saltus.ensembles.compute import building, outputs
from saltus.ensembles.compute.outputs import FAILED, OUTCOME_NAMES, Column
from saltus.ensembles.store.layout import lanes_for, plain
from saltus.errors import ScenarioError
from saltus.hybrid.outcome import OUTCOMES
from saltus.scenarios.base import Scenario
from saltus.scenarios.keys import with_values
from saltus.scenarios.replace import replace_keys

Values = Mapping[str, np.ndarray]
Progress = Callable[[int], None]

MAX_EVENTS = 256  # events of a run after which it is left to the engine for single runs, which sees events pile up
MAX_EVENTS_APART = 4096  # the same where each mode has a program of its own: stones that bounce down a mountain
SHORT = 1e-8  # part of a run below which a step is too short to hold an extreme of its own
PER_STEP = 8  # looks per step at a run by itself, for its extremes
MAX_STEPS = 100_000  # steps after which it is
SUCCEEDS = np.array([OUTCOMES.get(name, False) for name in OUTCOME_NAMES])


def columns(scenario: Scenario) -> dict[str, Column]:
    """What is kept of every sample of this scenario, by name."""
    return outputs.columns(*scenario.assemble())


def run(scenario: Scenario, values: Values, progress: Progress | None = None) -> dict[str, np.ndarray]:
    """Run the samples with these values and keep their outputs.

    Args:
        scenario: The scenario; the values replace its own.
        values: For each dotted key its values, one per sample.
        progress: Called with the number of samples that have ended since the last call.

    Returns:
        The columns of `columns`, with the samples as first axis.
    """
    work = _work(scenario)
    values = building.in_radians(scenario, values)
    tell = progress or (lambda count: None)
    count = len(next(iter(values.values())))
    kept = {name: np.zeros((count, *one.shape), one.dtype) for name, one in work.columns.items()}
    left = []
    for rows, words in _alike(values, count):
        numbers = {key: column[rows] for key, column in values.items() if key not in words}
        left += [rows[work.together(words, numbers, rows, kept, tell)]]
    for row in np.sort(np.concatenate(left)):
        work.alone(building.sample_values(values, row), row, kept)
        tell(1)
    return kept


@dataclasses.dataclass(frozen=True)
class OverTime:
    """What samples show over time.

    Args:
        shown: Quantities by name, with the samples and the times as first axes.
        alone: Which samples must be run alone: what is shown of those does not count.
        paths: Of stones over a terrain the path of each of the others by its number (`io.stone_path`).
    """

    shown: dict[str, np.ndarray]
    alone: np.ndarray
    paths: dict[int, dict[str, np.ndarray]]


def over_time(scenario: Scenario, values: Values, times: np.ndarray) -> OverTime | None:
    """What samples with these values show at rising times, in the very runs of `run`; None if all must run alone."""
    return _work(scenario).over_time(building.in_radians(scenario, values), times)


def _alike(values: Values, count: int) -> Iterator[tuple[np.ndarray, dict]]:
    """The samples in groups with the same words and whole numbers: those decide what is built."""
    choices = {key: column for key, column in values.items() if column.dtype.kind != "f"}
    groups: dict[tuple, list[int]] = {}
    for row in range(count) if choices else ():
        groups.setdefault(tuple(plain(column[row]) for column in choices.values()), []).append(row)
    if not choices:
        groups[()] = list(range(count))
    for chosen, rows in groups.items():
        yield np.array(rows), dict(zip(choices, chosen, strict=True))


_works: dict[str, _Work] = {}


def _work(scenario: Scenario) -> _Work:
    """The work of a scenario; the last one is kept for the chunks that follow."""
    text = scenario.model_dump_json(exclude={"ensemble"})
    if text not in _works:
        _works.clear()
        _works[text] = _Work(scenario)
    return _works[text]


class _Work:
    """What the chunks of one ensemble have in common, so that it is compiled once."""

    def __init__(self, scenario: Scenario):
        self.scenario = scenario
        self.system, self.start = scenario.assemble()
        self.columns = outputs.columns(self.system, self.start)
        self.peaks = outputs.peaks(self.system)
        self.length = 0
        self._builders: dict[tuple, building.Builder | None] = {}

    # ---- together -----------------------------------------------------------------------------

    def together(self, words, numbers: Values, rows, kept, tell: Progress) -> np.ndarray:
        """Run samples at once; which of them (by their place among `rows`) must be run alone."""
        scenario = replace_keys(self.scenario, words)
        builder = self._builder(scenario, words, tuple(numbers))
        if builder is None:
            return np.arange(len(rows))
        good = building.valid(scenario, numbers)
        filled = {key: self._fill(column) for key, column in numbers.items()}
        stack = builder.build(np.stack(list(filled.values()), axis=1))
        good &= stack.good[: len(rows)]
        until = self._fill(building.end_times(scenario, numbers))
        good &= ~self._run(scenario, stack, good, until, rows, kept, tell)
        return np.flatnonzero(~good)

    def _fill(self, column: np.ndarray) -> np.ndarray:
        """A column with its last value repeated up to the length of the longest so far: little is compiled."""
        self.length = max(self.length, lanes_for(len(column)))
        return np.concatenate([column, np.repeat(column[-1:], self.length - len(column))])

    def _builder(self, scenario: Scenario, words, keys) -> building.Builder | None:
        """The builder of these samples; None where each must be built by itself."""
        from saltus.hybrid import AbstractSystem

        chosen = (tuple(words.items()), keys)
        if chosen not in self._builders:
            able = bool(keys) and isinstance(self.system, AbstractSystem) and building.same_options(scenario, keys)
            builder = building.Builder(scenario, keys) if able else None
            self._builders[chosen] = builder if builder is not None and builder.works() else None
        return self._builders[chosen]

    def _run(
        self, scenario, stack: building.Stack, good, until, rows, kept, tell: Progress, keep_knots=None
    ) -> np.ndarray:
        """Run the good ones of a stack and keep what they give; which of them must be run alone.

        Those are the ones that met a limit of the batch, and those whose energies at the end raise doubts: a single
        run looks at its energies throughout, and says what it finds.
        """
        from saltus.engines import batch
        from saltus.engines.trial import Status

        goes = np.concatenate([good, np.zeros(len(until) - len(good), bool)])
        lanes = batch.run(
            stack.varying, stack.shared, stack.start, until, self._settings(scenario), tell, goes, keep_knots
        )
        found = {name: np.asarray(column) for name, column in _at_end(stack, lanes.state).items()}
        rests = found.pop(outputs.RESTS)
        outcome = _outcomes(lanes, until, rests, stack, self._bounds(scenario, until))
        found |= {
            "outcome": outcome,
            outputs.STOPPED: outputs.has_stopped(rests, lanes.state.t, outcome, until),
            "stop_time": outputs.stop_times(rests, lanes.state.t, lanes.t_event),
            "events": lanes.events,
        }
        for k, name in enumerate(self.peaks):
            found[outputs.about_peak(self.system, name)[0]] = lanes.largest[:, k]
        suspect = SUCCEEDS[outcome] & self._misses_energy(scenario, found.pop(outputs.MISSING, 0.0))
        left = goes & (((lanes.status == Status.full) & SUCCEEDS[outcome]) | suspect)
        done = np.flatnonzero(goes & ~left)
        for name, column in found.items():
            _keep(kept[name], rows[done], np.asarray(column)[done])
        return left[: len(rows)]

    def _misses_energy(self, scenario: Scenario, missing) -> np.ndarray:
        """Whether more energy is missing than the tolerances promise (or it is no number)."""
        options = scenario.options()
        promise = Promise(None if options["step"] is not None else options["rtol"])
        return ~(np.asarray(missing) <= promise.relative)

    def _settings(self, scenario: Scenario):
        from saltus.engines import batch
        from saltus.engines.choice import Options, parts_for

        options = Options(**scenario.options())
        _, stepper, control = parts_for(self.system, options, self.start.t)
        limit = min(MAX_EVENTS_APART if getattr(self.system, "apart", ()) else MAX_EVENTS, options.max_events)
        return batch.BatchSettings(stepper, control, outputs.watch(self.peaks), limit, MAX_STEPS)

    def _bounds(self, scenario: Scenario, until) -> tuple[int, np.ndarray]:
        """Events and steps after which runs to these times end, whoever computes them."""
        from saltus.engines.budget import MAX_STEPS, most_steps
        from saltus.engines.choice import Options

        options = Options(**scenario.options())
        steps = [most_steps(end, options.max_steps or MAX_STEPS) for end in until]
        return options.max_events, np.array(steps)

    def over_time(self, values: Values, times: np.ndarray) -> OverTime | None:
        """See `over_time` of the module."""
        from saltus.engines import batch
        from saltus.engines.batch_times import Courses
        from saltus.io import stone_path
        from saltus.io.dataset import observe

        builder = self._builder(self.scenario, {}, tuple(values))
        if builder is None or any(column.dtype.kind != "f" for column in values.values()):
            return None
        count = len(next(iter(values.values())))
        stack = builder.build(np.stack([self._fill(column) for column in values.values()], axis=1))
        settings = self._settings(self.scenario)
        if not batch.goes_apart(stack.shared, settings):
            return None
        good = building.valid(self.scenario, values) & stack.good[:count]
        courses = Courses(stack.varying, stack.shared, settings, stack.start)
        kept = {name: np.zeros((count, *one.shape), one.dtype) for name, one in self.columns.items()}
        until = self._fill(building.end_times(self.scenario, values))
        left = self._run(self.scenario, stack, good, until, np.arange(count), kept, lambda done: None, courses.keep)
        alone = left | ~good
        shown = {name: column[:count] for name, column in courses.at(times).items()}
        paths = {
            row: stone_path.path_along(courses.system(row), courses.knots(row), observe)
            for row in np.flatnonzero(~alone).tolist()
        }
        return OverTime(shown, alone, paths)

    # ---- alone --------------------------------------------------------------------------------

    def alone(self, values: dict, row: int, kept) -> None:
        """Run one sample by itself."""
        try:
            scenario = with_values(self.scenario, values)
            done = scenario.simulate()
        except ScenarioError:
            self._fail(row, kept)
            return
        system, trajectory = done.system, done.trajectory
        ends = _at_end_of_one(system, trajectory.start, trajectory.end)
        kept["outcome"][row] = OUTCOME_NAMES.index(done.outcome.name)
        rests, last = ends.pop(outputs.RESTS), done.events[-1].t if done.events else 0.0
        kept["stop_time"][row], kept["events"][row] = outputs.stop_times(rests, done.end.t, last), len(done.events)
        code, until = kept["outcome"][row], scenario.end_time
        kept[outputs.STOPPED][row] = outputs.has_stopped(rests, done.end.t, code, until)
        for name, value in _largest(system, trajectory, self.peaks).items():
            kept[outputs.about_peak(system, name)[0]][row] = value
        ends.pop(outputs.MISSING, None)
        for name, column in ends.items():
            _keep(kept[name], [row], np.asarray(column)[None])

    def _fail(self, row: int, kept) -> None:
        for name, column in self.columns.items():
            kept[name][row] = _nothing(column.dtype)
        kept["outcome"][row] = OUTCOME_NAMES.index(FAILED)


def _nothing(dtype: np.dtype) -> float | int:
    """What stands where there is no number."""
    return math.nan if dtype.kind == "f" else -1


def _keep(column: np.ndarray, rows, values: np.ndarray) -> None:
    """Put values into rows of a column; another number of bodies than the scenario's has no place there."""
    column[rows] = values if values.shape[1:] == column.shape[1:] else _nothing(column.dtype)


def _largest(system, trajectory, names) -> dict[str, float]:
    """The largest sizes of these quantities along a run: of parabolas through some looks in every step."""
    import jax.numpy as jnp

    from saltus.io.dataset import observe
    from saltus.numerics.peaks import highest

    knots = np.asarray(trajectory.knots.t)
    first, last = knots[:-1], knots[1:]
    flows = last - first > SHORT * (knots[-1] - knots[0])  # in the shortest ones something may have jumped
    first, last = (first[flows], last[flows]) if flows.any() else (knots[:1], knots[-1:])
    times = first + (last - first) * (np.arange(PER_STEP) / PER_STEP)[:, None]
    within = observe(system, trajectory.states(times.ravel()))
    ends = observe(system, trajectory.states(last, side="before"))
    known, found = system.quantities(), {}
    for name in names:
        looks = np.concatenate([within[name], ends[name]])
        sizes = outputs.sizes(np, looks, known[name].dims).reshape(len(looks), -1).max(axis=1, initial=0.0)
        found[name] = float(np.max(highest(jnp.asarray(sizes.reshape(PER_STEP + 1, -1)))))
    return found


def _outcomes(lanes, until, rests, stack: building.Stack, bounds) -> np.ndarray:
    """Code of the outcome of each lane; one that a limit of the batch has stopped may yet succeed alone."""
    import equinox as eqx
    import jax

    from saltus.engines.trial import Status

    guards = eqx.combine(jax.tree.map(lambda leaf: leaf[0], stack.varying), stack.shared).guards()
    by_guard = np.array([OUTCOME_NAMES.index(guard.ends or "finished") for guard in guards] or [0])
    at_rest = np.isinf(until) & rests
    names = np.where(at_rest, OUTCOME_NAMES.index("at_rest"), OUTCOME_NAMES.index("finished"))
    for status in (Status.stalled, Status.not_finite, Status.accumulation):
        names = np.where(lanes.status == status, OUTCOME_NAMES.index(status.name), names)
    full = lanes.status == Status.full
    for name, count, bound in (("steps", lanes.steps, bounds[1]), ("events", lanes.events, bounds[0])):
        names = np.where(full & (count >= bound), OUTCOME_NAMES.index(f"too_many_{name}"), names)
    return np.where(lanes.ended_by >= 0, by_guard[lanes.ended_by], names)


@functools.cache
def _programs():
    import equinox as eqx
    import jax

    from saltus.engines.batch import each
    from saltus.programs import program

    def of_many(shared, varying, start, end):
        def one(values):
            varying, start, end = values
            return outputs.at_end(eqx.combine(varying, shared), start, end)

        return each(one, (varying, start, end), jax.default_backend() == "cpu")

    return program(of_many), program(outputs.at_end)


def _at_end(stack: building.Stack, end):
    return _programs()[0](stack.shared, stack.varying, stack.start, end)


def _at_end_of_one(system, start, end):
    return _programs()[1](system, start, end)
