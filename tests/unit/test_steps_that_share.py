"""Steps of systems whose rate, projection and guards share what they see: in one loop, with the same results."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.engines.fire import GuardCourse
from saltus.engines.flat import FlatSystem
from saltus.engines.step_control import AdaptiveSteps
from saltus.engines.steppers import ExplicitStepper
from saltus.laws.friction import Coulomb
from saltus.laws.impact import RoughNewton
from saltus.numerics.runge_kutta import RK4
from saltus.shapes import Ellipsoid, Solid
from saltus.surfaces import Paraboloid
from saltus.systems import BodyOnGround
from saltus.systems.ground_body.mechanics import FLIGHT, REST, ROLL, SKID, SLIDE
from saltus.systems.short_time import after_short_time, see_after_short_time

STEPPER: ExplicitStepper = RK4
CONTROL = AdaptiveSteps(jnp.asarray(1e-8), jnp.asarray(1e-8))
LENGTH = 1e-3  # [s]


@pytest.fixture(scope="module")
def stone() -> BodyOnGround:
    solid = Solid(Ellipsoid([0.3, 0.2, 0.15]), mass=2.0)
    return BodyOnGround(Paraboloid(0.1, 0.07), solid, Coulomb(0.4), RoughNewton(0.3, 0.4), rolling_friction=0.02)


@pytest.fixture(scope="module")
def sliding(stone):
    return stone.start([0.5, 0.3], [0.7, -0.2, 0.0], [0.9, 0.2, 0.3, 0.1], [1.0, 2.0, 0.5])


@eqx.filter_jit
def in_mode(stone, state, mode):
    """The state in another mode of contact, with what that one holds at rest."""
    return stone.project(state.replace(mode=mode))


def vector(state):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves((state.q, state.v, state.ledger))])


@pytest.mark.parametrize("mode", [SLIDE, SKID, ROLL, REST])
def test_a_step_in_one_loop_ends_where_step_and_projection_do(stone, sliding, mode):
    state = in_mode(stone, sliding, jnp.asarray(mode))
    flat = FlatSystem(stone, state)
    assert CONTROL.at_once(STEPPER, flat)
    y, h = flat.vector(state), jnp.asarray(LENGTH)
    end, step = eqx.filter_jit(CONTROL.take)(flat, STEPPER, state.t, y, h)
    plain = STEPPER(flat.rate, state.t, y, h)
    assert np.asarray(end) == pytest.approx(np.asarray(flat.project(state.t + h, plain.y)), rel=1e-13, abs=1e-14)
    assert np.asarray(step.error) == pytest.approx(np.asarray(plain.error), rel=1e-9, abs=1e-14)
    assert np.asarray(step.rate_after) == pytest.approx(np.asarray(plain.rate_after), rel=1e-11, abs=1e-12)


@pytest.mark.slow
def test_derivatives_of_any_kind_go_through_a_step_in_one_loop(stone, sliding):
    state = in_mode(stone, sliding, jnp.asarray(ROLL))
    flat = FlatSystem(stone, state)

    def end(y):
        return CONTROL.take(flat, STEPPER, state.t, y, jnp.asarray(LENGTH))[0]

    def end_of_plain(y):
        step = STEPPER(flat.rate, state.t, y, jnp.asarray(LENGTH))
        return flat.project(state.t + LENGTH, step.y)

    y = flat.vector(state)
    direction, weights = np.random.default_rng(3).normal(size=(2, y.size))
    wanted, forwards = (jax.jit(lambda y, f=f: jax.jvp(f, (y,), (direction,))[1])(y) for f in (end_of_plain, end))
    backwards = jax.jit(jax.grad(lambda y: weights @ end(y)))(y)
    assert np.asarray(forwards) == pytest.approx(np.asarray(wanted), rel=1e-9, abs=1e-10)
    assert float(backwards @ direction) == pytest.approx(float(weights @ wanted), rel=1e-9)


@pytest.mark.parametrize("mode", [FLIGHT, SLIDE, ROLL])
def test_what_is_seen_after_a_short_time_is_what_is_there(stone, sliding, mode):
    state = in_mode(stone, sliding, jnp.asarray(mode))
    later, seen = eqx.filter_jit(see_after_short_time)(stone, state, LENGTH, lambda seen: seen)
    assert vector(later) == pytest.approx(
        vector(eqx.filter_jit(after_short_time)(stone, state, LENGTH)), rel=1e-13, abs=1e-14
    )
    assert float(later.t) == float(state.t) + LENGTH
    there = stone.see(later)
    assert float(seen.sight.touch.gap) == pytest.approx(float(there.sight.touch.gap), abs=1e-15)
    assert float(seen.forces.load) == pytest.approx(float(there.forces.load), rel=1e-12)


@pytest.mark.parametrize("mode", [SLIDE, ROLL])
def test_slopes_of_guards_along_the_flow_are_their_differences(stone, sliding, mode):
    state = in_mode(stone, sliding, jnp.asarray(mode))
    course = eqx.filter_jit(GuardCourse.of)(stone, state)
    flat, small = FlatSystem(stone, state), 1e-5
    y, rate = flat.vector(state), flat.rate(state.t, flat.vector(state))
    ahead, behind = (np.asarray(flat.guards(state.t + h, y + h * rate)) for h in (small, -small))
    assert np.asarray(course.values) == pytest.approx(np.asarray(flat.guards(state.t, y)), rel=1e-12, abs=1e-15)
    assert np.asarray(course.slopes) == pytest.approx((ahead - behind) / (2.0 * small), rel=1e-6, abs=1e-7)
