"""A free rotation over a time that is not a number, or without end, once never returned."""

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.contacts import first_contact
from saltus.numerics.rotation import free_rotation
from saltus.shapes import Body, Ellipsoid

STILL = jnp.asarray([1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "speed, duration", [(1.0, np.nan), (np.nan, 1.0), (np.inf, 1.0), (1e200, 1.0), (1.0, np.inf), (1e30, 1.0)]
)
def test_it_ends_and_says_that_it_has_no_answer(speed, duration):
    q, _ = free_rotation(STILL, jnp.asarray([speed, 0.3, 0.1]), jnp.asarray([1.0, 2.0, 3.0]), duration, compact=True)
    assert np.isnan(np.asarray(q)).all()


def test_a_search_for_a_contact_in_a_motion_that_is_not_finite_ends_uncertified():
    axes = [0.3, 0.4, 0.6]
    one = Body(Ellipsoid(axes), density=1.0, angular_velocity=[1.0, 0.2, 0.1])
    two = Body(Ellipsoid(axes), density=1.0, center=[3.0, 0.0, 0.0], velocity=[-1.0, 0.0, 0.0])
    lost = two.with_motion(two.center, two.velocity, two.quaternion, jnp.asarray([np.nan, 0.0, 0.0]))
    found = first_contact(one, lost, 4.0)
    assert not bool(found.happens) and not bool(found.certified)
    assert bool(first_contact(one, two, 4.0).certified)
