"""A grazing pass of a needle and a plate once dipped 1.7e-12 m deep and was certified as no contact."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus.contacts import first_contact
from saltus.contacts.gap import gap
from saltus.shapes import Body, Ellipsoid

DIP = 1.7e-12  # m, with bodies of 3.5 m together


def passing(seed, shift):
    """A needle that turns and flies past a plate, moved by `shift` along z."""
    rng = np.random.default_rng(seed)
    needle = Body(Ellipsoid([2.0, 0.1, 0.1]), quaternion=rng.normal(size=4), angular_velocity=rng.normal(size=3))
    start = jnp.asarray([-3.0, 0.2, 0.0]) + shift * jnp.asarray([0.0, 0.0, 1.0])
    motion = {"velocity": [1.5, 0.0, 0.0], "angular_velocity": rng.normal(size=3)}
    return needle, Body(Ellipsoid([1.5, 1.5, 0.05]), center=start, quaternion=rng.normal(size=4), **motion)


@jax.jit
def gaps(one, two, times):
    return jax.vmap(lambda t: gap(one.after(t), two.after(t)).gap)(times)


def smallest(seed, shift):
    """Value and time of the smallest gap, by ever finer looks at it."""
    one, two = passing(seed, shift)
    low, high = 0.0, 4.0
    for _ in range(9):
        times = np.linspace(low, high, 129)
        found = np.asarray(gaps(one, two, times))
        k = int(np.argmin(found))
        low, high = times[max(k - 1, 0)], times[min(k + 1, 128)]
    return float(found.min()), float(times[k])


def grazing(seed, depth):
    """The shift at which the pass is this deep: far apart it misses, near it hits."""
    low, high = 0.0, 4.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if smallest(seed, middle)[0] > -depth else (middle, high)
    return 0.5 * (low + high)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_dip_of_a_needle_into_a_plate_is_found_and_a_pass_as_close_is_none(seed):
    shift = grazing(seed, DIP)
    depth, when = smallest(seed, shift)
    assert depth == pytest.approx(-DIP, abs=2e-15)
    found = first_contact(*passing(seed, shift), 4.0)
    assert bool(found.happens) and bool(found.certified) and float(found.time) <= when + 1e-9
    past = first_contact(*passing(seed, grazing(seed, -DIP)), 4.0)
    assert not bool(past.happens) and bool(past.certified)
