"""The slip of an impact was followed by steps of its fastest rate, and after 20000 of them taken as stopped.

Where the mobility of the contact differs much from one direction to another, slip may die a thousand times as slowly as
it turns: such impacts were wrong by some percent, without a word.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.laws.impact import RoughNewton

MOBILITY = jnp.array([[0.631, -1.286, -0.499], [-1.286, 9.888, 2.847], [-0.499, 2.847, 1.245]])
VELOCITY = jnp.array([-0.193, -0.355, -1.551])
NORMAL = jnp.array([0.0, 0.0, 1.0])
RESTITUTION, MU = 0.588, 0.586


def impulse(mobility):
    return RoughNewton(RESTITUTION, MU).impulse(VELOCITY, NORMAL, mobility)


def impulse_that_ends_without_slip(mobility):
    """What stops the slip and turns the normal speed round; friction has enough grip for it in the end."""
    return jnp.linalg.solve(mobility, -RESTITUTION * VELOCITY[2] * NORMAL - VELOCITY)


def test_an_impact_whose_slip_dies_slowly_ends_without_slip():
    assert np.asarray(impulse(MOBILITY)) == pytest.approx(
        np.asarray(impulse_that_ends_without_slip(MOBILITY)), rel=1e-10
    )


def test_its_derivative_is_that_of_the_impact():
    found, wanted = (jax.jacfwd(law)(MOBILITY) for law in (impulse, impulse_that_ends_without_slip))
    assert np.asarray(found) == pytest.approx(np.asarray(wanted), rel=1e-9, abs=1e-9)
