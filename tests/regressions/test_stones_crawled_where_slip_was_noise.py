"""Slip below the errors of a step was followed for ever, and a slip that only touches zero ended the run."""

import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Newton
from saltus.shapes import Disc, Ellipsoid, Solid
from saltus.surfaces import Plane
from saltus.systems import BodyOnGround

LEVEL = Plane(0.0, 0.0)


@pytest.mark.slow
def test_a_stop_is_told_above_the_errors_that_the_tolerance_allows():
    stone = BodyOnGround(LEVEL, Solid(Ellipsoid([0.3, 0.25, 0.2]), mass=50.0), Coulomb(0.5), Newton(0.0))
    assert float(stone.precision) == pytest.approx(1e-9)
    assert float(stone.with_tolerance(1e-6).precision) == pytest.approx(1e-5)
    assert float(stone.with_tolerance(1e-12).precision) == pytest.approx(1e-9)
    start = stone.start([0.0, 0.0], velocity=[8.0, 1.0, 0.0], angular_velocity=[0.0, 3.0, 4.0])
    # Bounces and slides that grip again and again; 400 steps are about what the smooth stretches take.
    run = sl.simulate(stone, start, 3.0, rtol=1e-6, atol=1e-7, max_steps=20_000)
    assert run.outcome.name == "finished" and len(run.trajectory.knots.t) < 1000
    assert any(event.name == "grips" for event in run.events)


@pytest.mark.slow
def test_a_slip_that_turns_round_at_zero_goes_on():
    # A disc that whirls down: its slip passes zero with an acceleration of 0.16 m/s2 just after.
    inertia = 0.44 * 0.0375**2 * np.array([0.25, 0.25, 0.5])
    disc = Solid(Disc(0.0375), mass=0.44, principal_inertia=inertia)
    system = BodyOnGround(LEVEL, disc, Coulomb(0.3), Newton(0.0), rolling_friction=1.5e-4)
    turned = [-0.4494230639570737, -0.006888341569620496, -0.08847567746723589, 0.8889001714650356]
    omega = jnp.array([2.7888202353223894, 2.538715646448564, 0.5725542469007784])
    velocity = jnp.array([-0.002712000441187228, -0.02653093916032967, 0.13084837088326257])
    # A little earlier than zero slip, by the acceleration that it has there.
    velocity = velocity + 1e-7 * jnp.array([-1.768, 0.438, 0.0])
    start = system.start([0.0, 0.0], velocity=velocity, quaternion=turned, angular_velocity=omega)
    run = sl.simulate(system, start, 0.02, rtol=1e-8, atol=1e-10)
    assert run.outcome.name == "finished"
