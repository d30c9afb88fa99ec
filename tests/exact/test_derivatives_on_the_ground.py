"""Derivatives of a body on the ground through its events: first impact, landing place and speed of rolling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Soil
from saltus.shapes import Ball, Ellipsoid, Solid
from saltus.surfaces import Paraboloid, Plane
from saltus.systems import BodyOnGround

TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def differences(function, numbers, step=1e-5):
    """Central differences of fresh runs, improved once: two steps whose errors of second order cancel."""
    columns = []
    for k in range(len(numbers)):
        unit = np.eye(len(numbers))[k]
        near, far = (
            (function(numbers + h * unit) - function(numbers - h * unit)) / (2.0 * h) for h in (step, 2.0 * step)
        )
        columns.append((4.0 * near - far) / 3.0)
    return np.stack(columns, axis=-1)


@pytest.mark.slow
def test_first_impact_of_a_tumbling_stone_in_a_bowl_moves_with_its_throw_as_fresh_runs_do():
    solid = Solid(Ellipsoid([0.3, 0.2, 0.15]), density=2600.0)
    system = BodyOnGround(Paraboloid(0.05, 0.08), solid, Coulomb(0.5), Soil(0.4, 0.5))
    numbers = np.array([1.2, -0.7, 0.5, 1.5, -2.0])  # velocity x, y, z; height; turning

    def start(numbers):
        vx, vy, vz, height, turning = numbers
        return system.start([0.5, -0.3], [vx, vy, vz], [0.9, 0.2, 0.3, -0.1], [0.3, turning, 1.0], height)

    def place_and_time(event_time, after):
        return jnp.append(after.q[7:9], event_time)

    def fresh(numbers):
        run = sl.simulate(system, start(numbers), 0.9, **TIGHT)
        assert run.events[0].name == "landing"
        return np.append(np.asarray(run.events[0].after.q[7:9]), run.events[0].t)

    run = sl.simulate(system, start(numbers), 0.9, **TIGHT)

    def replayed(numbers):
        again = run.replay(system, start(numbers))
        return place_and_time(again.event_times[0], jax.tree.map(lambda x: x[0], again.after))

    slopes = np.asarray(jax.jacfwd(replayed)(jnp.asarray(numbers)))
    np.testing.assert_allclose(slopes, differences(fresh, numbers), rtol=1e-6, atol=1e-6)
    assert np.abs(slopes).max() > 0.5  # none of it trivial


@pytest.mark.slow
def test_speed_of_rolling_after_the_grip_depends_on_slope_and_friction_as_the_closed_form_does():
    def speed(slope, mu, v, t):
        """Slides with g (sin - mu cos) until the slip v - w r, which falls with 7/2 mu g cos, is gone; then rolls."""
        angle = jnp.arctan(slope)
        pull, grip = 9.81 * jnp.sin(angle), 9.81 * mu * jnp.cos(angle)
        gripped = v / (3.5 * grip - pull)
        return v + (pull - grip) * gripped + 5.0 / 7.0 * pull * (t - gripped)

    def system(slope, mu):
        return BodyOnGround(Plane(-slope, 0.0), Solid(Ball(0.2), mass=3.0), Coulomb(mu), Soil(0.4, 0.5))

    def start(numbers):
        slope, mu, v = numbers
        along = jnp.stack([1.0, 0.0, -slope]) * jax.lax.rsqrt(1.0 + slope**2)
        return system(slope, mu).start([0.0, 0.0], v * along)

    numbers = jnp.array([0.2, 0.4, 2.0])
    run = sl.simulate(system(*numbers[:2]), start(numbers), 1.0, **TIGHT)
    assert [event.name for event in run.events] == ["grips"]

    def replayed(numbers):
        end = run.replay(system(*numbers[:2]), start(numbers)).end
        return jnp.sqrt(jnp.sum(end.v[:3] ** 2))

    assert float(replayed(numbers)) == pytest.approx(float(speed(*numbers, 1.0)), rel=1e-10)
    wanted = jax.jacfwd(lambda numbers: speed(*numbers, 1.0))(numbers)
    # How rough the plane is does not matter for the speed in the end: that derivative is zero to rounding.
    np.testing.assert_allclose(jax.jacfwd(replayed)(numbers), wanted, rtol=1e-6, atol=1e-12)
