"""Every driver gives the same events and the same end.

One run and many, adaptive and constant steps, the kernel, runs that go by mode, and runs of bounded length.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.toys import FLIES, FLIES_HARD, PlaygroundByMode, playground, playground_start

from saltus.engines import EventDriven, FixedStep, batch
from saltus.engines.batch_constant import run_lanes
from saltus.engines.bounded import simulate_bounded
from saltus.engines.step_control import ConstantSteps, steps_of
from saltus.engines.steppers import stepper
from saltus.engines.trial import Status

STEP = 1.0 / 64.0
G = 9.81
FALL = math.sqrt(2.0 / G)  # time in which a ball falls by 1 m


@dataclasses.dataclass(frozen=True)
class Case:
    """A toy, and what is known of its run: outcome, number of events (-1: not known), time of the last one."""

    numbers: dict
    start: dict
    until: float
    outcome: str
    events: int
    last: float
    close: float = 1e-12  # [s]; more only where rounding ends a row of bounces early


def row(restitution: float) -> float:
    """When a ball dropped from 1 m comes to rest."""
    return FALL * (1.0 + restitution) / (1.0 - restitution)


ALL_HARD = {"height": 1.0, "mode": FLIES_HARD}
ONE, HARD = {"height": [1.0], "mode": [FLIES]}, {"height": [1.0], "mode": [FLIES_HARD]}
SHAKEN = {"restitution": 0.5, "shake": 1e-3, "pace": 10.0}
CASES = {
    "twenty_at_once": Case({}, {"height": 1.0, "mode": FLIES}, 1.2, "finished", 20, FALL),
    "twenty_at_once_twice": Case(
        {"restitution": 0.5}, {"height": 1.0, "mode": FLIES_HARD}, 1.0, "finished", 40, 2 * FALL
    ),
    "ties": Case({"marks": [1.0, 1.0, 0.5]}, {}, 2.0, "finished", 3, 1.0),
    "tie_on_the_grid": Case({"marks": [64 * STEP, 2.0, 32 * STEP]}, {}, 1.5, "finished", 2, 1.0),
    "marks_within_a_pause": Case(
        {"marks": [0.5, 0.6, 0.75], "pause": 0.2, "dip": 1.5, "width": 0.1}, {}, 2.0, "finished", 4, 1.4
    ),
    "dip_within_a_step": Case({"dip": 0.71, "width": 0.003}, {}, 1.0, "finished", 1, 0.707, 1e-11),
    "row_that_ends_in_rest": Case({"restitution": 0.5}, ONE, 3.0, "finished", 32, row(0.5)),
    "row_without_a_mode_for_rest": Case({"restitution": 0.5}, HARD, 3.0, "accumulation", 31, row(0.5), 1e-8),
    "no_restitution": Case({"restitution": 0.0}, ONE, 1.0, "finished", 2, FALL),
    "no_restitution_and_no_rest": Case({"restitution": 0.0}, HARD, 1.0, "accumulation", 1, FALL),
    "shaken_to_rest": Case(SHAKEN, ONE, 3.0, "finished", -1, row(0.5), 1e-2),
    "shaken_without_rest": Case(SHAKEN, HARD, 3.0, "accumulation", -1, row(0.5), 1e-2),
    "border": Case({"limit": 0.8}, {}, 2.0, "left_domain", 1, 0.8),
    "start_beyond_a_border": Case({"limit": -0.5}, {}, 2.0, "left_domain", 0, 0.0),
    "end": Case({"last": 0.33}, ONE, 2.0, "finished", 1, 0.33),
    "long_rest": Case({"marks": [1e3, 3.0, 1e3]}, {}, 4.0, "finished", 1, 3.0),
    "start_below_the_floor": Case({}, {"height": [-1.0], "mode": [FLIES]}, 0.5, "finished", 0, 0.0),
}
# A bounded run does not know what follows where events pile up, and has to say that it is not complete.
NOT_COMPLETE = "not complete"
PILE_UP = {name for name in CASES if name.startswith(("row", "no_restitution", "shaken"))}
SYSTEMS = [playground(**case.numbers) for case in CASES.values()]
STARTS = [playground_start(**case.start) for case in CASES.values()]
UNTIL = np.array([case.until for case in CASES.values()])


def _stacked(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _height(system, state):
    return state.q[:1]


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a run ended, whoever ran it."""

    outcome: str
    events: int
    last: float
    state: object


def _singly(engine):
    def all_runs():
        for system, start, until in zip(SYSTEMS, STARTS, UNTIL, strict=True):
            run = engine.run(system, start, float(until))
            yield Ended(run.outcome.name, len(run.events), run.events[-1].t if run.events else 0.0, run.end)

    return all_runs


def _lanes(lanes):
    guards = SYSTEMS[0].guards()
    names = {Status.reached: "finished", Status.accumulation: "accumulation"}
    for k, status in enumerate(np.asarray(lanes.status)):
        by = int(lanes.ended_by[k])
        outcome = guards[by].ends if by >= 0 else names.get(Status(int(status)), Status(int(status)).name)
        state = jax.tree.map(lambda x, k=k: np.asarray(x)[k], lanes.state)
        yield Ended(outcome, int(lanes.events[k]), float(lanes.t_event[k]), state)


def _together(method, control):
    def all_runs():
        settings = batch.BatchSettings(stepper(method), control, _height, 256, 100_000)
        systems = eqx.filter(_stacked(SYSTEMS), eqx.is_array)
        shared = eqx.filter(SYSTEMS[0], eqx.is_array, inverse=True)
        yield from _lanes(batch.run(systems, shared, jax.tree.map(np.asarray, _stacked(STARTS)), UNTIL, settings))

    return all_runs


def _by_mode():
    settings = batch.BatchSettings(stepper("dopri8"), steps_of(1e-10, 1e-12, None, 0.0), _height, 256, 100_000)
    wrapped = _stacked([PlaygroundByMode(system) for system in SYSTEMS])
    systems, shared = eqx.partition(wrapped, eqx.is_array)
    assert batch.goes_apart(shared, settings)
    starts = jax.tree.map(np.asarray, _stacked([PlaygroundByMode.wrap(start) for start in STARTS]))
    for one in _lanes(batch.run(systems, shared, starts, UNTIL, settings)):
        yield dataclasses.replace(one, state=PlaygroundByMode.unwrap(one.state))


@eqx.filter_jit
def _bounded_run(system, start, until):
    return simulate_bounded(system, start, until, max_events=48, max_steps=256)


def _bounded():
    for system, start, until in zip(SYSTEMS, STARTS, UNTIL, strict=True):
        run = _bounded_run(system, start, jnp.asarray(until))
        by, events = int(run.ended_by), int(run.n_events)
        outcome = (system.guards()[by].ends or "") if by >= 0 else "finished" if run.complete else NOT_COMPLETE
        yield Ended(outcome, events, float(run.event_times[events - 1]) if events else 0.0, run.end)


def _by_kernel():
    yield from _lanes(
        run_lanes(
            _stacked(SYSTEMS), _stacked(STARTS), _height, until=UNTIL, step=STEP, max_events=256, device="interpret"
        )
    )


DRIVERS = {
    "one run, adaptive": _singly(EventDriven()),
    "one run, constant steps": _singly(FixedStep(STEP)),
    "many runs, adaptive": _together("dopri8", steps_of(1e-10, 1e-12, None, 0.0)),
    "many runs, constant steps": _together("rk4", steps_of(0.0, 0.0, STEP, 0.0)),
    "many runs, constant steps, restored": _together(
        "rk4", ConstantSteps(jnp.asarray(STEP), jnp.asarray(0.0), project=True)
    ),
    "many runs, by mode": _by_mode,
    "one run, bounded": _bounded,
    "kernel, interpreted": _by_kernel,
}


SLOW = pytest.mark.slow
LONG_TO_COMPILE = ("many runs, constant steps", "kernel, interpreted")  # about a minute each


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=SLOW if name in LONG_TO_COMPILE else ()) for name in DRIVERS]
)
def ended(request):
    return dict(zip(CASES, DRIVERS[request.param](), strict=True))


@pytest.fixture(scope="module")
def alone():
    return dict(zip(CASES, DRIVERS["one run, adaptive"](), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_every_driver_ends_as_it_is_known(ended, name):
    case, found = CASES[name], ended[name]
    if found.outcome == NOT_COMPLETE:
        assert name in PILE_UP and found.events > 0
        assert found.last <= float(found.state.t) <= case.last + case.close  # it stays where it knows no further
        return
    assert found.outcome == case.outcome
    assert found.events == case.events or case.events < 0
    assert found.last == pytest.approx(case.last, abs=case.close)


@pytest.mark.parametrize("name", CASES)
def test_every_driver_ends_where_a_single_run_does(ended, alone, name):
    found, wanted = ended[name], alone[name]
    if found.outcome == NOT_COMPLETE:
        return
    assert (np.asarray(found.state.mode) == np.asarray(wanted.state.mode)).all()
    assert found.outcome == wanted.outcome
    # The motion is a polynomial of second degree, which every method follows; the shaken floor ends a row earlier or
    # later, by as much as a bounce of rounding level lasts.
    close = 1e-6 if name.startswith("shaken") else 1e-9
    np.testing.assert_allclose(found.state.q, wanted.state.q, rtol=0, atol=close)
    # A row of bounces without a mode for rest ends on either side of the last of them.
    speed = np.abs if name == "row_without_a_mode_for_rest" else np.asarray
    np.testing.assert_allclose(speed(found.state.v), speed(wanted.state.v), rtol=0, atol=close)
