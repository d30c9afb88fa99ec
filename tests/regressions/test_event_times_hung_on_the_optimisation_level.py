"""Events of a program that XLA compiles without optimisations are where they are with them.

One number was computed in several places of such a program, with other roundings: near a root its sign differed from
place to place, and the search ended beside the root, by up to 1e-4 m of a bouncing ball.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.toys import BouncingBall

from saltus.engines import batch
from saltus.engines.step_control import steps_of
from saltus.engines.steppers import stepper
from saltus.hybrid import State

N, UNTIL, GRAVITY = 256, 1.2, 9.81


@pytest.fixture
def without_optimisations():
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def _height(system, state):
    return state.q[:1]


def _bounced(height: float, restitution: float) -> float:
    """Height at `UNTIL`, which is before the ball comes to rest."""
    t = np.sqrt(2.0 * height / GRAVITY)
    speed = GRAVITY * t
    while t + 2.0 * restitution * speed / GRAVITY < UNTIL:
        speed *= restitution
        t += 2.0 * speed / GRAVITY
    flown = UNTIL - t
    return restitution * speed * flown - 0.5 * GRAVITY * flown**2


def test_balls_of_a_batch_bounce_at_the_exact_times(without_optimisations):
    rng = np.random.default_rng(0)
    restitution, heights = rng.uniform(0.7, 0.9, N), rng.uniform(0.5, 2.0, N)
    one = BouncingBall(jnp.asarray(0.5), jnp.asarray(GRAVITY), True)
    nothing = jax.tree.map(lambda _: None, one)
    varying = eqx.tree_at(lambda s: s.restitution, nothing, restitution, is_leaf=lambda x: x is None)
    shared = eqx.tree_at(lambda s: s.restitution, one, None)
    start = State(np.zeros(N), heights[:, None], np.zeros((N, 1)), np.zeros((N, 0)), np.zeros(N, int))
    control = steps_of(1e-10, 1e-12, None, 0.0)
    lanes = batch.run(
        varying, shared, start, np.full(N, UNTIL), batch.BatchSettings(stepper("dopri8"), control, _height, 64, 10**5)
    )
    exact = [_bounced(*values) for values in zip(heights, restitution, strict=True)]
    # Polynomial motion: rounding alone is left, some 1e-15 per bounce.
    np.testing.assert_allclose(lanes.state.q[:, 0], exact, rtol=0, atol=1e-13)
