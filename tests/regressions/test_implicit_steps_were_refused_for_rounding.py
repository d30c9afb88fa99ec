"""Implicit steps once took rounding in the search for their stages for divergence: a state between two steps was not a
number, events were passed over, and slip that nearly vanished could not be followed at all."""

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.engines.steppers import stepper
from saltus.scenarios.loader import load

METHODS = ("kvaerno5", "kvaerno3")


def run_of(name, method):
    return load(name, [f"solve.method={method}"]).scenario.simulate()


@pytest.mark.parametrize("method", METHODS)
def test_slip_that_has_nearly_vanished_is_followed(method):
    # Friction against a slip of 1e-6 beside a fast motion: the direction is known to ten digits only.
    def rate(t, y):
        slip = jnp.stack([y[0] - 1.0, y[1] - 2.0])
        return -slip / jnp.sqrt(slip @ slip)

    start = jnp.array([1.0 + 6e-7, 2.0 - 8e-7])
    for length in (1e-9, 1e-8, 1e-7, 5e-7):
        step = stepper(method, 1e-10)(rate, jnp.asarray(0.0), start, jnp.asarray(length))
        np.testing.assert_allclose(step.y, start + length * rate(0.0, start), rtol=0.0, atol=1e-14)


def test_a_ball_on_rails_has_the_events_of_an_explicit_method_and_numbers_between_its_steps():
    implicit, explicit = (run_of("rails-stick-one-by-one", method) for method in ("kvaerno5", "dopri8"))
    assert [event.name for event in implicit.events] == [event.name for event in explicit.events]
    np.testing.assert_allclose(*([event.t for event in run.events] for run in (implicit, explicit)), rtol=1e-9)
    assert np.isfinite(implicit.to_dataset(times=301)["kinetic_energy"]).all()
