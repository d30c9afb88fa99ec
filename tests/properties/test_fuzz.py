"""Any numbers in a scenario: a run ends with a named outcome, in bounded work, and says where it is not accurate."""

import copy
import random

import pytest
from tests.mutants import SWITCHES, faults, mutant, neighbour, run_mutant

from saltus.scenarios import entries, load

# One scenario of each kind with few parts; mutants of one share its programs. What is kept chooses a program.
FRICTION = {"mu": 0.25, "spot_radius": 0.05}
BASES = {
    "sliding": {
        "kind": "sliding", "gravity": 9.81, "surface": {"type": "paraboloid", "a": 0.3, "b": 0.5},
        "masses": [{"mass": 1.0, "position": [0.3, 0.1], "velocity": [0.0, 0.8]},
                   {"mass": 2.0, "position": [0.5, -0.2], "velocity": [0.1, 0.7]}],
        "rods": [{"between": [0, 1]}], "friction": {"mu": 0.2}, "solve": {"until": 3.0, "project": True},
    },
    "chain": {
        "kind": "chain", "links": 3, "overhang": 0.2, "mass": [1.0, 1.5, 1.0, 2.0], "length": [1.0, 0.8, 1.2],
        "gravity": 9.81, "table_friction": 0.1, "edge_friction": 0.05, "solve": {"until": 2.0},
    },
    "rails": {
        "kind": "rails", "mass": 1.0, "radius": 0.5, "half_angle": 0.5, "slope": 0.05, "friction": FRICTION,
        "start": {"velocity": 2.0, "angular_velocity": [0.1, 0.2, 0.3]}, "solve": {"until": 1.0},
    },
    "plane_ball": {
        "kind": "plane_ball", "mass": 0.17, "radius": 0.2, "slope": 0.01, "friction": FRICTION,
        "start": {"velocity": [1.0, 0.3], "angular_velocity": [0.5, 0.2, 10.0]}, "solve": {"until": 3.0},
    },
    "butterfly": {
        "kind": "butterfly", "mass": 0.05, "radius": 0.025, "half_angle": 0.6,
        "profile": {"type": "butterfly", "a": 0.11, "b": 0.03},
        "turning": {"type": "sinusoid", "amplitude": 0.1, "frequency": 4.0},
        "friction": {"mu": 0.25, "model": "coulomb"}, "start": {"speed": 0.1}, "solve": {"until": 0.5},
    },
    "raft": {
        "kind": "sliding", "surface": {"type": "plane", "slope_x": -0.5}, "friction": {"mu": 0.3},
        "masses": [{"mass": 1.0, "position": [0.0, 0.0]}, {"mass": 2.0, "position": [1.0, 0.0]}],
        "rods": [{"between": [0, 1], "stiffness": 1000.0, "damping": 1.0, "strength": 5.0}], "solve": {"until": 0.5},
    },
    "bodies": {
        "kind": "bodies", "gravity": [0.0, 0.0, -9.81],
        "bodies": [{"shape": {"axes": [0.5, 0.3, 0.4]}, "density": 1.0, "center": [0.0, 0.0, 1.0],
                    "velocity": [1.0, 0.2, 0.0], "angular_velocity": [1.0, 2.0, 0.5]},
                   {"shape": {"axes": [0.3, 0.3, 0.6]}, "density": 2.0, "center": [2.0, 0.1, 1.2],
                    "velocity": [-1.0, 0.0, 0.5]}],
        "walls": [{"normal": [0.0, 0.0, 1.0], "offset": 0.0}],
        "impact": {"restitution": 0.6}, "solve": {"until": 1.0},
    },
    "ground_body": {
        "kind": "ground_body", "surface": {"type": "plane", "slope_x": -0.3},
        "body": {"shape": {"axes": [0.5, 0.4, 0.3]}, "density": 2700.0, "position": [0.0, 1.0], "height": 0.5,
                 "velocity": [2.0, -0.5, 0.0], "angular_velocity": [0.0, 3.0, 1.0]},
        "friction": {"mu": 0.6, "model": "coulomb", "rolling_friction": 0.06},
        "impact": {"restitution": 0.4, "settle_height": 1e-3}, "solve": {"until": 2.0},
    },
}  # fmt: skip
FEWER = {"bodies": 3, "ground_body": 3}  # their runs take longer


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow if k == "ground_body" else ()) for k in BASES])
def test_any_numbers_end_with_a_named_outcome(kind):
    rng = random.Random(f"quick {kind}")
    wrong = {}
    for number in range(FEWER.get(kind, 16)):
        scenario = mutant(BASES[kind], rng, SWITCHES)  # those are changed in the long test only
        if found := faults(scenario):
            wrong[number] = found, scenario
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_any_numbers_in_any_scenario_end_with_a_named_outcome(part):
    # 10 000 in all; bodies and gases take long per program, and have their own tests: few of them here.
    names = [name for name in entries() if name != "box-of-ellipsoids"]
    wrong = {}
    for index, name in enumerate(names):
        if index % 20 != part:
            continue
        scenario = load(name, []).scenario
        base = scenario.model_dump(mode="json", exclude_none=True, exclude={"ensemble"})
        rng = random.Random(f"long {name}")
        for number in range(20 if scenario.kind == "bodies" else 290):
            changed = mutant(base, rng)
            if found := faults(changed):
                wrong[name, number] = found, changed
    assert not wrong


# Whose first events are no matter of chaos: a body that tumbles soon loses its digits.
STEADY = (
    "sticking-pair", "paraboloid-friction", "bowl-pendulum-friction", "expression-surface", "triangle-saddle",
    "chain", "chain-string", "chain-friction", "plane-spin-down", "plane-rest", "billiard-roll",
    "rails-lost", "rails-to-rest", "rails-stick-one-by-one", "butterfly-roll", "tippe-top",
)  # fmt: skip
NO_END = ("accumulation", "stalled", "not_finite", "too_many_steps", "inaccurate")


def first_events(run):
    """The first three: not those whose time is a matter of the tolerance, nor a stop at which a mass only turns round.

    Of such a stop a loose tolerance may see nothing.
    """
    turns = "stop", "slip"
    told = [e for e in run.events if e.name not in ("creeps", "spins") and (e.name, e.data.get("into")) != turns]
    return [(e.name, e.index, float(e.t)) for e in told[:3]]


@pytest.mark.slow
@pytest.mark.parametrize("name", STEADY)
def test_what_happens_does_not_depend_on_the_tolerance(name):
    base = load(name, []).scenario.model_dump(mode="json", exclude_none=True, exclude={"ensemble"})
    rng = random.Random(f"tolerance {name}")
    for _ in range(12):
        fine = neighbour(base, rng)
        coarse = copy.deepcopy(fine)
        coarse["solve"].update(rtol=1e-8, atol=1e-10)
        runs = [run_mutant(scenario) for scenario in (fine, coarse)]
        if any(isinstance(run, str) for run in runs):  # a neighbour that cannot be
            continue
        assert not {run.outcome.name for run in runs} & set(NO_END), fine
        for one, other in zip(*map(first_events, runs), strict=True):
            assert one[2] == pytest.approx(other[2], rel=1e-4, abs=1e-4), fine
            assert one[:2] == other[:2] or one[2] == pytest.approx(other[2], abs=1e-6), fine
