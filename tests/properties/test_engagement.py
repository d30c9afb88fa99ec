"""What is true of the laws of the jerk for any link, chain and table."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from scipy.integrate import quad
from scipy.optimize import brentq

from saltus.laws.impact.engagement import ENGAGEMENTS
from saltus.laws.impact.engagement.inner_motion import InnerMotion

LAWS = {name: jax.jit(law()) for name, law in ENGAGEMENTS.items()}
RIGHT = [name for name, law in ENGAGEMENTS.items() if not law.creates_energy]

angles = st.floats(-1.3, float(np.pi / 2))
table_masses = st.floats(0.0, 1000.0)
responses = st.floats(0.01, 5.0)


def kinetic_loss(jump, table_mass, response):
    """Energy of table, crossing particle and hanging part before, minus after."""
    speed = float(jump.velocity @ jump.velocity)
    return 0.5 * (1 + table_mass) * (1 - speed) + jump.impulse - 0.5 * response * jump.impulse**2


@pytest.mark.parametrize("name", RIGHT)
@given(angle=angles, table_mass=table_masses, response=responses)
def test_right_law_never_creates_energy(name, angle, table_mass, response):
    # Rounding of the loss near zero, in units of the energy of the crossing particle.
    assert LAWS[name](angle, table_mass, response).loss >= -1e-14


@pytest.mark.parametrize("name", LAWS)
@given(angle=angles, table_mass=table_masses, response=responses)
def test_loss_is_the_kinetic_energy_that_is_missing(name, angle, table_mass, response):
    jump = LAWS[name](angle, table_mass, response)
    # The right side is a difference of energies of size 1 + table_mass, and impulses grow like 1 / response.
    allowed = 1e-14 * (1 + table_mass) * (1 + float(jump.impulse) ** 2)
    assert abs(float(jump.loss - kinetic_loss(jump, table_mass, response))) < allowed


@pytest.mark.parametrize("name", LAWS)
@given(angle=angles, table_mass=table_masses, response=responses)
def test_link_no_longer_lengthens_after_the_jerk(name, angle, table_mass, response):
    jump = LAWS[name](angle, table_mass, response)
    along = jump.velocity @ jnp.array([jnp.cos(angle), jnp.sin(angle)])
    assert abs(float(1 - response * jump.impulse - along)) < 1e-12 * (1 + float(jump.impulse))


@pytest.mark.parametrize("name", LAWS)
@given(angle=angles, response=responses)
def test_all_laws_agree_when_nothing_is_left_on_the_table(name, angle, response):
    jump = LAWS[name](angle, 0.0, response)
    impulse = (1 - np.sin(angle)) / (1 + response)
    np.testing.assert_allclose(jump.impulse, impulse, atol=1e-13)
    np.testing.assert_allclose(jump.velocity, [impulse * np.cos(angle), 1 + impulse * np.sin(angle)], atol=1e-13)
    np.testing.assert_allclose(jump.loss, (1 - np.sin(angle)) ** 2 / (2 * (1 + response)), atol=1e-13)


@pytest.mark.parametrize(
    "angle, table_mass, response", [(0.0, 1.0, 1.0), (0.7, 200.0, 0.9), (-0.8, 5.0, 0.3), (-1.25, 2.0, 0.1)]
)
def test_limit_ends_on_the_straight_line_of_the_developed_cone(angle, table_mass, response):
    """Stage B in closed form: the inner metric is an elliptic cone, and free motion on it is straight."""
    zero = jnp.zeros(())
    arguments = [jnp.asarray(float(x)) for x in (angle, table_mass, response)]
    begin = InnerMotion(*arguments, zero, centrifugal=1.0).end()
    delta, v, w, mh = float(begin.delta), float(begin.radial), float(begin.tangential), 1 / response

    def stretch(x):
        return 1 + table_mass + mh * np.cos(x) ** 2

    def turning(x):
        return np.sqrt((1 + mh) * (1 + table_mass) - mh * table_mass * np.cos(x) ** 2) / stretch(x)

    a = stretch(delta)
    turn = np.arctan2(w * turning(delta) * np.sqrt(a), (a * v - mh * w * np.sin(delta) * np.cos(delta)) / np.sqrt(a))
    end = brentq(
        lambda x: quad(turning, delta, x, epsabs=1e-14, limit=400)[0] - turn, delta - np.pi, delta + np.pi, xtol=1e-14
    )
    energy = (1 + table_mass) * v**2 + w**2 + mh * (v * np.cos(delta) - w * np.sin(delta)) ** 2
    speed = np.sqrt(energy / stretch(end))
    found = LAWS["limit"](angle, table_mass, response).velocity
    # The quadrature and the root of the closed form are good to some 1e-12.
    np.testing.assert_allclose(found, speed * np.array([np.cos(angle + end), np.sin(angle + end)]), atol=1e-11)


@pytest.mark.parametrize("name", ["printed", "frozen"])
def test_printed_and_frozen_laws_create_energy(name):
    assert LAWS[name](0.0, 39.0, 1.0).loss < -2.0


@pytest.mark.parametrize("name", LAWS)
def test_derivatives_are_right_in_both_directions(name):
    at, step = jnp.array([0.2, 3.0, 0.4]), 1e-6

    def numbers(x):
        jump = LAWS[name](x[0], x[1], x[2])
        return jnp.array([jump.impulse, *jump.velocity, jump.loss])

    backward, forward = jax.jit(lambda x: (jax.jacrev(numbers)(x), jax.jacfwd(numbers)(x)))(at)
    np.testing.assert_allclose(backward, forward, atol=1e-14)
    finite = [(numbers(at.at[i].add(step)) - numbers(at.at[i].add(-step))) / (2 * step) for i in range(3)]
    # Central differences with this step are good to about 1e-9.
    np.testing.assert_allclose(backward, np.stack(finite, axis=1), atol=1e-8)


@given(angle=angles, table_mass=st.floats(0.1, 100.0), response=responses)
def test_friction_of_the_edge_takes_more_energy(angle, table_mass, response):
    free, rough = (LAWS["limit"](angle, table_mass, response, mu) for mu in (0.0, 0.3))
    assert rough.loss >= -1e-13
    jump_loss = kinetic_loss(rough, table_mass, response)
    assert abs(float(rough.loss - jump_loss)) < 1e-13 * (1 + table_mass) * (1 + float(rough.impulse) ** 2)
    assert free.loss >= -1e-14
