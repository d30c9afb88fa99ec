"""Derivatives of a run of bodies once compiled a program for the first impact, one for the others, and all of it again
at the next call."""

import jax
import pytest

from saltus.scenarios import load
from saltus.scenarios.replace import replace_keys
from saltus.systems.bodies import impact_replay


@pytest.mark.slow
def test_all_impacts_and_all_calls_share_one_program(monkeypatch):
    traced, struck = [], impact_replay.strike

    def counted(*args):
        traced.append(1)
        return struck(*args)

    monkeypatch.setattr(impact_replay, "strike", counted)
    scenario = load("bouncing-egg", ["solve.until=1.2"]).scenario
    run = scenario.simulate()
    assert len(run.events) >= 3

    def height(restitution):
        return run.replay(*replace_keys(scenario, {"impact.restitution": restitution}).build()).end.q[0, 2]

    own = float(scenario.impact.restitution)
    slopes = {float(jax.grad(height)(own)) for _ in range(2)}
    assert len(traced) == 1
    assert len(slopes) == 1
