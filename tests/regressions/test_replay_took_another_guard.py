"""A replay with traced numbers fired guards by their number in a list that the numbers shorten."""

import jax
import jax.numpy as jnp
import pytest

from saltus.scenarios import load
from saltus.scenarios.replace import replace_keys


def test_a_ball_on_rails_whose_friction_is_traced_fires_the_guards_of_its_run():
    # With friction known to be small no rail can be lost, and four guards are left out.
    scenario = load("rails-stick-one-by-one", ["solve.until=2.0"]).scenario
    run = scenario.simulate()

    def place(mu):
        again = run.replay(*replace_keys(scenario, {"friction.mu": mu}).build())
        return again.end.q[0], again.end.q[0]

    slope, there = jax.jacfwd(place, has_aux=True)(jnp.asarray(scenario.friction.mu))
    assert float(there) == pytest.approx(float(run.end.q[0]), rel=1e-11)
    ends = [
        replace_keys(scenario, {"friction.mu": scenario.friction.mu + h}).simulate().end.q[0] for h in (1e-4, -1e-4)
    ]
    assert float(slope) == pytest.approx(float(ends[0] - ends[1]) / 2e-4, rel=1e-5)


def test_a_system_without_the_guard_of_an_event_is_refused():
    run = load("rails-stick-one-by-one", ["solve.until=2.0"]).scenario.simulate()
    system, start = load("plane-spin-down").scenario.build()
    with pytest.raises(ValueError, match="'slip_ends', which the BallOnPlane to replay does not have"):
        run.replay(system, start)
