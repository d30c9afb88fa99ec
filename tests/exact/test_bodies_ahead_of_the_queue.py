"""Bodies that fly freely go from impact to impact in one compiled loop, and as the queue of events would have it."""

import numpy as np
import pytest

from saltus import scenarios
from saltus.scenarios.loader import load
from saltus.simulation import simulate
from saltus.systems.bodies import ahead, schedule

CASES = {
    "box": ("box-of-ellipsoids", ["solve.until=1.0"], 25),
    "periodic": ("box-of-ellipsoids", ["solve.until=2.0", "box.periodic=true", "impact.restitution=0.9"], 15),
    "rough": ("box-of-ellipsoids", ["solve.until=1.0", "impact.restitution=0.7", "impact.mu=0.3"], 20),
    "falling": ("box-of-ellipsoids", ["solve.until=0.7", "gravity=[0.0, 0.0, -9.81]"], 20),
    "rounded boxes": (
        "box-of-ellipsoids",
        ["fill.shape.exponents=[2.0, 4.0, 6.0]", "fill.count=8", "solve.until=1.0", "impact.restitution=0.9"],
        10,
    ),
    "pair": ("ellipsoids", [], 1),
    "egg": ("bouncing-egg", [], 13),
}


def run(name: str, changes: list[str]):
    scenario = load(name, changes).scenario
    system, start = scenario.build()
    return simulate(system, start, scenario.solve.until)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_impacts_are_those_of_the_queue(case, monkeypatch):
    name, changes, least = CASES[case]
    quick = run(name, changes)
    monkeypatch.setattr(ahead, "can_run", lambda system: False)
    slow = run(name, changes)
    assert len(quick.events) == len(slow.events) >= least
    assert quick.trajectory.outcome == slow.trajectory.outcome
    # Times differ by what counts as touching (1e-14 m over the speed); each impact may magnify that tenfold at most.
    for k, (mine, theirs) in enumerate(zip(quick.events, slow.events, strict=True)):
        allowed = min(1e-13 * 2.0**k, 1e-8)
        assert (mine.name, mine.index, mine.members) == (theirs.name, theirs.index, theirs.members)
        assert mine.t == pytest.approx(theirs.t, abs=allowed)
        assert set(mine.data) == set(theirs.data) and mine.data["label"] == theirs.data["label"]
        for key in ("impulse", "normal", "point", "normal_velocity", "gap_acceleration", "energy_loss"):
            assert np.asarray(mine.data[key]) == pytest.approx(np.asarray(theirs.data[key]), abs=1e3 * allowed)


def test_a_box_of_ellipsoids_needs_no_search_of_the_queue(monkeypatch):
    def never(*_):
        raise AssertionError("The queue has searched for contacts.")

    monkeypatch.setattr(schedule.Schedule, "foresee", never)
    quick = run("box-of-ellipsoids", ["solve.until=0.3"])
    assert len(quick.events) >= 10 and quick.outcome.name == "finished"
    for event in quick.events[:3]:
        # A state put together by closed-form flight up to the impact is the one that the loop has struck.
        i = event.members[-1]
        before, after = event.before, event.after
        np.testing.assert_allclose(before.q[i], after.q[i], atol=1e-13)


def test_the_queue_takes_over_where_a_ball_comes_to_rest_and_hands_back():
    text = """
        kind = "bodies"
        gravity = [0.0, 0.0, -9.81]
        bodies = [{ shape = { axes = [0.5, 0.5, 0.5] }, center = [0.0, 0.0, 1.0] }]
        walls = [{ normal = [0.0, 0.0, 1.0], offset = 0.0 }]
        impact = { restitution = 0.5, settle_speed = 1e-3 }
        solve = { until = 2.0 }
    """
    run = scenarios.loads(text).simulate()
    names = [event.name for event in run.events]
    assert names[0] == "impact" and names[-1] == "contact" and set(names) == {"impact", "contact"}
    # Each bounce keeps half of the speed sqrt(2 g h), h = 0.5 m.
    speed = np.sqrt(9.81)
    assert len(names) == int(np.ceil(np.log2(speed / 1e-3)))
    assert float(run.end.q.centre[0, 2]) == pytest.approx(0.5, abs=1e-12)
