"""A mass that turns round against friction was let go so slowly that the error of the next step stopped it again.

The run ended with the outcome "accumulation", or with hundreds of stops, where the mass just slides on.
"""

import copy

import numpy as np
import pytest

from saltus.scenarios.kinds import model_of

WAVY = {
    "kind": "sliding", "gravity": 9.221539574120529,
    "surface": {"type": "expression", "z": "a*(x**2 + y**2) + h*cos(k*x)*cos(k*y)",
                "parameters": {"a": 0.3383598294268271, "h": 0.01787658705944863, "k": 5.527555237101627}},
    "masses": [{"mass": 1.2495931570790122, "position": [0.5031874851406, 0.0], "velocity": [0.0, 1.346751755912584]},
               {"mass": 1.7925350404237452, "position": [0.28760597241462765, 0.2543039499759917],
                "velocity": [-0.34043489442721037, 0.6281444047797982]}],
    "rods": [{"between": [0, 1]}], "friction": {"mu": 0.05},
    "solve": {"until": 7.0, "rtol": 1e-10, "atol": 1e-12, "project": True},
}  # fmt: skip
BOWL = {
    "kind": "sliding", "gravity": 9.341168559635163, "surface": {"type": "sphere", "radius": 1.2077011861494682},
    "masses": [{"mass": 1.1688974496936908, "position": [0.42652701865704623, -0.1084145261974085]},
               {"mass": 0.9502200878406508, "position": [0.48665264233822564, 0.09418180171002644]}],
    "rods": [{"between": [0, 1]}], "friction": {"mu": 0.02},
    "solve": {"until": 10.462324727210339, "rtol": 1e-10, "atol": 1e-12},
}  # fmt: skip


def run(scenario, **solve):
    changed = copy.deepcopy(scenario)
    changed["solve"].update(solve)
    return model_of("sliding").model_validate(changed).simulate()


@pytest.mark.parametrize("scenario", [WAVY, BOWL])
def test_it_slides_on_until_friction_holds_it(scenario):
    ended = run(scenario)
    assert ended.outcome.name == "finished"
    assert [(event.name, event.data["into"]) for event in ended.events] == [("stop", "slip"), ("stop", "stick")]


def test_where_and_when_does_not_depend_on_the_tolerance():
    fine, *others = (run(WAVY, rtol=tolerance, atol=tolerance) for tolerance in (1e-12, 1e-10, 1e-8))
    for other in others:
        assert [event.t for event in other.events] == pytest.approx([event.t for event in fine.events], abs=2e-6)
        np.testing.assert_allclose(other.end.q, fine.end.q, atol=1e-6)


def test_the_time_of_the_event_is_that_of_the_stop():
    # Where it is let go a moment later, that is not the time at which it stopped.
    turn = run(WAVY).events[0]
    speed, before = np.linalg.norm(turn.before.v[0]), float(turn.before.t)
    assert 0.0 < turn.t - before < 1e-7
    assert speed < 2e-9
    assert turn.t < float(turn.after.t) <= turn.t + 1e-6
