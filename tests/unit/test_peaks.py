"""The highest point of a curve through samples."""

import jax.numpy as jnp
import numpy as np

from saltus.numerics.peaks import highest


def test_highest_point_of_a_parabola_is_found_between_samples_and_next_to_the_ends():
    x = np.linspace(0.0, 1.0, 5)
    tops = np.array([0.05, 0.4, 0.93])
    samples = 2.0 - 3.0 * (x[:, None] - tops) ** 2
    np.testing.assert_allclose(highest(jnp.asarray(samples)), 2.0, rtol=1e-14)


def test_highest_point_of_a_slope_is_its_end():
    assert float(highest(jnp.asarray([1.0, 2.0, 3.0, 4.0]))) == 4.0
