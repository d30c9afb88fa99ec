"""A search for a contact that takes too many steps once ended the run with a bare error."""

import numpy as np
import pytest

import saltus
from saltus.laws.impact import Newton
from saltus.scenarios import load
from saltus.shapes import Ball, Body
from saltus.systems import RigidBodies
from saltus.systems.bodies import schedule

SURE = 0.1  # s, for which the search is sure before it gives up


def balls():
    return [Body(Ball(0.5)), Body(Ball(0.5), center=[2.0, 0.0, 0.0], velocity=[-1.0, 0.0, 0.0])]


def run_with_short_searches(monkeypatch, how_many, last):
    real, given_up = schedule.contacts_of_pairs, []

    def short(*arguments):
        happens, times, certified, widths, ends = real(*arguments)
        if len(given_up) == how_many:
            return happens, times, certified, widths, ends
        given_up.append(arguments)
        return np.array([False]), np.array([SURE]), np.array([False]), widths, np.array([last])

    monkeypatch.setattr(schedule, "contacts_of_pairs", short)
    monkeypatch.setattr(schedule.flight, "can_run", lambda system: False)  # balls in free flight need no such search
    bodies = balls()
    system = RigidBodies(bodies, law=Newton(0.5))
    return saltus.simulate(system, system.start(bodies), 1.5), given_up


@pytest.mark.slow
def test_it_goes_on_from_where_it_was_sure(monkeypatch):
    run, given_up = run_with_short_searches(monkeypatch, 3, last=0.9)
    assert len(given_up) == 3 and run.outcome.name == "finished"
    assert [event.name for event in run.events] == ["impact"]
    assert run.events[0].t == pytest.approx(1.0, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("before", [0.3, 1.0])
def test_bodies_that_come_to_a_paradox_from_its_past_meet_in_it(before):
    system, start = load("paradox", []).scenario.build()
    touching = system.bodies(start)
    known = saltus.simulate(system, start, 0.2)
    past = [body.after(-before) for body in touching]
    run = saltus.simulate(system, system.start(past), before + 0.2)
    assert run.outcome.name == "finished"
    assert [event.name for event in run.events] == [event.name for event in known.events] == ["paradox", "release"]
    # The gap closes with the third power of time: rounding of 4e-15 m leaves some 1e-5 s, of the touch alone.
    assert run.events[0].t == pytest.approx(before, abs=2e-5)
    assert run.events[1].t - before == pytest.approx(known.events[1].t, abs=1e-9)
