"""Free rotation against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.numerics import rotation
from saltus.shapes import Body, Ellipsoid

# 1e-12 over hundreds of radians is what is promised; the references below are exact to rounding of the angle.
TOLERANCE = 1e-12


def turn_about(axis, angle):
    axis = np.asarray(axis) / np.linalg.norm(axis)
    return jnp.asarray(np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis]))


def test_a_round_body_precesses_for_hundreds_of_radians_as_the_closed_form_says():
    body = Body(Ellipsoid([1.0, 1.0, 2.0]), angular_velocity=[0.7, -0.3, 2.0])
    across, along = float(body.inertia[0]), float(body.inertia[2])
    momentum = np.asarray(body.angular_momentum())
    duration = 150.0  # 320 rad
    # A symmetric top turns about its axis at a constant rate while the axis turns about the momentum.
    own = 2.0 * (1.0 - along / across)
    angle = np.linalg.norm(momentum) / across * duration
    wanted = rotation.multiply(turn_about(momentum, angle), turn_about([0.0, 0.0, 1.0], own * duration))
    found = body.after(duration).quaternion
    assert min(np.abs(found - wanted).max(), np.abs(found + wanted).max()) < TOLERANCE


def test_any_body_comes_back_after_hundreds_of_radians_and_as_many_back():
    body = Body(Ellipsoid([1.0, 2.0, 3.0]), angular_velocity=[1.1, 5.1, 1.2])
    there = body.after(60.0)  # 320 rad
    back = there.after(-60.0)
    assert np.abs(back.quaternion - body.quaternion).max() < TOLERANCE
    assert float(there.kinetic_energy()) == pytest.approx(float(body.kinetic_energy()), rel=1e-14)
    assert jnp.abs(there.angular_momentum() - body.angular_momentum()).max() < 1e-12


def test_a_long_step_equals_many_short_ones():
    body = Body(Ellipsoid([1.0, 1.5, 3.0]), angular_velocity=[0.4, 0.9, 5.0])  # near a stable axis
    whole, parts = body.after(20.0), body
    for _ in range(100):
        parts = parts.after(0.2)
    # Each restart rounds the angular velocity anew: 200 of them miss by 2e-12, and by 2e-11 with JAX 0.8.
    assert np.abs(whole.quaternion - parts.quaternion).max() < 1e-11


def test_a_rotation_that_is_not_known_stays_so():
    q, inertia = np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)), np.tile([1.0, 2.0, 3.0], (2, 1))
    omega = np.array([[1.0, 2.0, 3.0], [np.nan, 0.0, 0.0]])
    turned, spin = rotation.free_rotations(q, omega, inertia, np.array([0, 1, 0]), np.array([0.5, 0.5, np.nan]))
    assert np.isfinite(turned[0]).all()
    assert np.isfinite(spin[0]).all()
    assert np.isnan(turned[1:]).all()
