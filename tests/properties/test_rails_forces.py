"""Truths about the forces on a ball on two rails, for any motion."""

import equinox as eqx
import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from saltus.laws import friction
from saltus.systems import BallOnRails
from saltus.systems.ball_on_rails import forces

speeds = st.floats(-5.0, 5.0)
motions = st.tuples(speeds, speeds, speeds, speeds)
angles = st.floats(0.2, 1.3)
shifts = st.sampled_from([(0.0, 0.0), (0.3, 0.0), (0.2, 0.5)])
MIRROR = np.array([1.0, 1.0, -1.0, 1.0, -1.0])  # of x', tilt', and of an angular velocity, in the plane y = 0


@eqx.filter_jit
def contacts(ball, velocity):
    velocity = forces.RailMotion.still().refill(velocity)
    now = forces.contacts_under(ball, forces.place_contacts(ball, jnp.zeros(()), velocity), velocity)
    return now.acceleration.array(), now.loads.load, now.reaction.force, now.power


def ball_of(angle, shift, slope=0.0):
    law = friction.Combined(0.15, 0.03, "hertz", sliding_shift=shift[0], rolling_shift=shift[1])
    return BallOnRails(1.3, 0.4, angle, law, slope=slope, secure=False)


def velocity_of(motion):
    return jnp.array([motion[0], 0.0, *motion[1:]])


@hypothesis.given(motion=motions, angle=angles, shift=shifts)
def test_the_mirror_image_of_a_motion_has_the_mirror_image_of_its_forces(motion, angle, shift):
    ball, velocity = ball_of(angle, shift, slope=0.1), velocity_of(motion)
    one, other = contacts(ball, velocity), contacts(ball, MIRROR * velocity)
    # The rails change places; friction across them changes its sign.
    np.testing.assert_allclose(other[0], MIRROR * one[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(other[1], one[1][::-1], rtol=1e-13)
    np.testing.assert_allclose(other[2], one[2][::-1] * np.array([1.0, -1.0]), rtol=0, atol=1e-12)


@hypothesis.given(motion=motions, angle=angles, shift=shifts)
def test_loads_carry_the_weight_and_friction_only_takes(motion, angle, shift):
    ball = ball_of(angle, shift)
    _, load, force, power = contacts(ball, velocity_of(motion))
    sine, cosine = np.sin(angle), np.cos(angle)
    weight = 1.3 * 9.81
    upward = (load[0] + load[1]) * cosine + (force[0, 1] - force[1, 1]) * sine
    assert abs(float(upward) - weight) < 1e-12 * weight
    assert abs(float((load[1] - load[0]) * sine + (force[0, 1] + force[1, 1]) * cosine)) < 1e-12 * weight
    assert float(power) >= -1e-14 * weight


@hypothesis.given(
    angle=angles, which=st.sampled_from([(1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0)])
)
def test_derivatives_are_finite_also_where_a_speed_vanishes(angle, which):
    ball = ball_of(angle, (0.2, 0.3))
    slope = jacobian(ball, velocity_of(which))
    assert np.isfinite(slope).all()


@eqx.filter_jit
def jacobian(ball, velocity):
    return jax.jacfwd(lambda v: contacts(ball, v)[0])(velocity)
