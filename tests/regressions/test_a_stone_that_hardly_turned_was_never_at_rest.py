"""Slow turning under rolling friction was followed in steps of microseconds; a bowl of one curvature ended a run."""

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.contacts.ground import GroundTouch
from saltus.ensembles.compute.building import sample_values
from saltus.ensembles.compute.task import ScenarioWork
from saltus.numerics.components import Sym2, zeros
from saltus.scenarios.keys import with_values
from saltus.scenarios.loader import load
from saltus.systems.ground_body.mechanics import SLIDE


def touching(bend, radii):
    zero = zeros(())
    return GroundTouch(jnp.zeros(2), jnp.zeros(()), zero, zero, (zero, zero), Sym2(*bend), Sym2(*radii))


@pytest.mark.parametrize("noise", [0.0, 1e-17, -1e-17, 1e-16])
def test_equal_curvatures_are_a_single_contact_whatever_the_rounding(noise):
    assert float(touching((1.0, noise, 1.0), (0.1, 0.0, 0.1)).singleness) == pytest.approx(0.9, abs=1e-7)


@pytest.mark.slow
@pytest.mark.optimised
def test_a_stone_that_slides_and_hardly_turns_comes_to_rest():
    # As the ground bends its contact wanders, and it turns with it, by less than 1e-3 rad/s for eight seconds.
    rockfall = load("rockfall")
    values = sample_values(ScenarioWork(rockfall.text).draw(0, 64), 52)
    run = with_values(rockfall.scenario, values).simulate()
    assert run.outcome.name == "at_rest"
    knots = run.trajectory.knots
    turning = np.linalg.norm(np.asarray(knots.v.turning), axis=1)
    creeps = (np.asarray(knots.mode) == SLIDE) & (turning < 3e-3)
    assert np.ptp(np.asarray(knots.t)[creeps]) > 5.0
    assert len(turning) < 10_000  # 100,000 steps did not suffice
