"""Truths about friction for any motion of any contact."""

import equinox as eqx
import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st

from saltus.laws import friction

EXPORTED = (getattr(friction, name) for name in friction.__all__)
SPOTS = (one for one in EXPORTED if isinstance(one, type) and issubclass(one, friction.AbstractSpotLaw))
LAWS = [law for law in SPOTS if law is not friction.AbstractSpotLaw]

speeds = st.floats(-3.0, 3.0).map(lambda x: x if abs(x) > 1e-9 else 0.0)
motions = st.tuples(st.tuples(speeds, speeds), st.floats(-200.0, 200.0), st.tuples(speeds, speeds))
pressures = st.sampled_from(["hertz", "uniform", "punch", 1.2, 2.7, 6.0])
ratios = st.floats(1e-6, 1e6)


@eqx.filter_jit
def reaction(law, slip, spin, load, rolling):
    return law.reaction(slip, spin, load, rolling)


@jax.jit
def spot_functions(s, pressure):
    return friction.spot_functions(s, pressure)


@eqx.filter_jit
def slopes_of_dissipation(law, slip, spin, load, shift):
    """Derivatives of the dissipated power by slip and spin; force and torque."""

    def dissipation(slip, spin):
        force, torque = law.reaction_with_shift(slip, spin, load, shift)
        return -jnp.sum(force * slip) - torque * spin

    return jax.grad(dissipation, (0, 1))(slip, spin), law.reaction_with_shift(slip, spin, load, shift)


def arrays(motion):
    slip, spin, rolling = motion
    return np.array(slip), np.asarray(spin), np.array(rolling)


@pytest.mark.parametrize("cls", LAWS)
@hypothesis.given(motion=motions, pressure=pressures)
def test_friction_never_gives_energy(cls, motion, pressure):
    law = cls(0.4, 0.02, pressure, rolling_shift=0.4)
    slip, spin, rolling = arrays(motion)
    r = reaction(law, slip, spin, jnp.asarray(3.0), rolling)
    force, spin_torque, moment = (np.asarray(part) for part in (r.force, r.spin_torque, r.rolling_moment))
    power = np.sum(force * slip) + spin_torque * spin + np.sum(moment * rolling)
    assert power <= 1e-15 * (1 + abs(float(spin)))


@hypothesis.given(s=ratios, pressure=pressures)
def test_the_identities_hold(s, pressure):
    pressure = friction.pressure_of(pressure)
    gamma = float(pressure.gamma)
    f = {name: float(value) for name, value in spot_functions(s, pressure)._asdict().items()}
    assert f["Theta0"] == pytest.approx(f["Psi"] - f["Phi1"], abs=2e-15)
    assert f["Theta1"] == pytest.approx(-(f["Psi"] + f["Phi1"]) / s, abs=4e-16 * max(1.0, 1.0 / s))
    assert s * f["Phi0"] == pytest.approx(2 * gamma * f["Psi"] + f["Phi1"], rel=1e-13)


@hypothesis.given(s=ratios, pressure=pressures)
def test_the_functions_are_odd_or_even(s, pressure):
    plus, minus = (spot_functions(sign * s, friction.pressure_of(pressure)) for sign in (1, -1))
    for name, sign in (("Phi0", 1), ("Theta1", 1), ("Phi1", -1), ("Psi", -1), ("Theta0", -1)):
        assert float(getattr(plus, name)) == sign * float(getattr(minus, name))


@hypothesis.given(motion=motions, pressure=pressures, shift=st.tuples(st.floats(-0.6, 0.6), st.floats(-0.6, 0.6)))
def test_the_exact_law_is_the_gradient_of_its_dissipation(motion, pressure, shift):
    slip, spin, _ = arrays(motion)
    hypothesis.assume(float(np.sum(slip**2)) > 1e-4 or abs(float(spin)) > 1.0)
    law = friction.Combined(0.4, 0.02, pressure)
    slopes, (force, torque) = slopes_of_dissipation(law, slip, spin, jnp.asarray(3.0), jnp.array(shift))
    by_slip, by_spin = slopes
    # Products of functions of order one with speeds that are divided out again.
    np.testing.assert_allclose(by_slip, -force, rtol=0, atol=3e-13)
    np.testing.assert_allclose(by_spin, -torque, rtol=0, atol=1e-14)


@pytest.mark.parametrize("cls", LAWS)
@hypothesis.given(motion=motions, angle=st.floats(0.0, 6.3))
def test_a_law_knows_no_direction(cls, motion, angle):
    law = cls(0.4, 0.02, rolling_shift=0.3, sliding_shift=0.2)
    slip, spin, rolling = arrays(motion)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    load = jnp.asarray(3.0)
    one, other = reaction(law, slip, spin, load, rolling), reaction(law, turn @ slip, spin, load, turn @ rolling)
    np.testing.assert_allclose(turn @ one.force, other.force, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.spin_torque, other.spin_torque, rtol=0, atol=1e-13)


@pytest.mark.parametrize("cls", LAWS)
@hypothesis.given(motion=motions)
def test_a_law_is_mirror_symmetric(cls, motion):
    law = cls(0.4, 0.02, rolling_shift=0.3, sliding_shift=0.2)
    slip, spin, rolling = arrays(motion)
    load, flip = jnp.asarray(3.0), np.array([1.0, -1.0])
    # In a mirror across e2 velocities turn e2 over, angular velocities everything else.
    one, other = reaction(law, slip, spin, load, rolling), reaction(law, flip * slip, -spin, load, -flip * rolling)
    np.testing.assert_allclose(flip * one.force, other.force, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.spin_torque, -other.spin_torque, rtol=0, atol=1e-14)
    np.testing.assert_allclose(-flip * one.rolling_moment, other.rolling_moment, rtol=0, atol=1e-14)
