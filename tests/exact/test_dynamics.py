"""Long-time dynamics: exponents, multipliers, period doubling, against what is known."""

import jax.numpy as jnp
import numpy as np
import pytest
from tests import own

import saltus as sl
from saltus.dynamics import basins, bifurcation, lyapunov, periodic_orbit, section
from saltus.hybrid import Guard

W, G = 33.0, 9.81


def _table(t, p):
    return p["A"] * jnp.sin(W * t)


def _thrown(t, y, p):
    w = p["A"] * W * jnp.cos(W * t)
    return {"h": y["h"], "v": w - p["e"] * (y["v"] - w)}


TABLE = sl.hybrid.system(
    lambda t, y, p: {"h": y["v"], "v": -G},
    {"h": 0.034, "v": -0.58},
    [Guard("table", lambda t, y, p: (y["h"] - _table(t, p)) / 0.01, jump=_thrown)],
    parameters={"A": 0.008, "e": 0.8},
)


def doubling_amplitude(e):
    """Where the motion of one bounce per period gets unstable: A w^2 sin(phase) / g = 2 (1 + e^2) / (1 + e)^2."""
    period = 2 * np.pi / W
    speed = G * period * (1 - e) / (2 * (1 + e))
    return np.hypot(speed / W, 2 * (1 + e**2) / (1 + e) ** 2 * G / W**2)


def orbit(amplitude, e=0.8):
    """The orbit of one bounce per period, from the top of the flight."""
    period = 2 * np.pi / W
    phase = np.arccos(G * period * (1 - e) / (2 * (1 + e)) / (amplitude * W))
    t = phase / W + period / 2
    top = amplitude * np.sin(phase) + G * period**2 / 8
    table = TABLE.with_parameters({"A": amplitude, "e": e})
    return periodic_orbit(table, table.start({"h": top + 1e-5, "v": 1e-4}, t=t), period=period, max_events=3)


def test_the_ball_on_a_table_doubles_its_period_at_the_known_amplitude():
    at = orbit(doubling_amplitude(0.8))
    assert at.multipliers[0] == pytest.approx(-1.0, abs=1e-7)
    assert np.prod(at.multipliers).real == pytest.approx(0.8**2, rel=1e-8)  # areas shrink by e^2 at an impact
    assert orbit(0.999 * doubling_amplitude(0.8)).stable and not orbit(1.001 * doubling_amplitude(0.8)).stable


def test_a_bifurcation_diagram_shows_one_branch_then_two():
    a = doubling_amplitude(0.8)
    found = bifurcation(
        TABLE, "A", [0.97 * a, 1.02 * a], lambda t, y, p: jnp.mod(W * t, 2 * jnp.pi), skip=400, keep=6, rtol=1e-11
    )
    assert found.complete.all() and found.branches(1e-3).tolist() == [1, 2]


def test_a_value_whose_run_ends_early_is_left_out_of_the_diagram():
    """A ball with so little restitution comes to rest on the table, which this system has no mode for."""
    found = bifurcation(TABLE.with_parameters({"e": 0.1}), "A", [0.001, 0.002], lambda t, y, p: y["h"], skip=40, keep=3)
    assert found.outcomes.tolist() == ["accumulation"] * 2 and not found.complete.any()
    assert np.isnan(found.seen).all() and np.isnan(found.times).all() and found.branches().tolist() == [0, 0]


def test_a_linear_oscillator_that_hits_a_wall_has_the_multiplier_of_its_restitution():
    """x'' = -x above a wall at zero: half a turn between impacts; per impact the speed shrinks by e."""
    spring = sl.hybrid.system(
        lambda t, y: jnp.stack([y[1], -y[0]]),
        jnp.array([1.0, 0.0]),
        [Guard("wall", lambda t, y: y[0], jump=lambda t, y: jnp.stack([y[0], -0.9 * y[1]]))],
    )
    found = lyapunov(spring, spring.start(), windows=8, window=2 * np.pi, max_events=3, max_steps=64)
    # Both axes of the plane shrink: phase and size are multiplied by e at each of the two impacts per turn.
    np.testing.assert_allclose(found.exponents, np.log(0.9) / np.pi, rtol=1e-6)


def test_sections_are_the_states_at_the_events_of_a_guard():
    ball = own.ball()
    run = sl.simulate(ball, ball.start(), until=3.0)
    states = section(run, "floor", side="before")
    np.testing.assert_allclose(-states.q[:, 1], np.sqrt(2 * 9.81) * 0.9 ** np.arange(4), rtol=1e-12)
    with pytest.raises(ValueError, match="floor"):
        section(run, "flor")


@pytest.mark.slow
def test_two_masses_that_turn_steadily_in_a_bowl_leave_their_motion_ninefold_per_turn():
    """Case 1b: growth exp(1.136132 T) from the eigenvalues of the motion in the turning frame."""
    loaded = sl.scenarios.load("bowl-steady").scenario
    system, start = loaded.assemble()
    found = periodic_orbit(system, start, period=loaded.end_time / 5, max_events=2, max_steps=64)
    assert found.steps == 0 and not found.stable
    assert found.multipliers[0].real == pytest.approx(9.0318, abs=1e-4)
    assert found.multipliers[0].real == pytest.approx(np.exp(1.136132 * found.period), rel=2e-6)
    # It keeps energy, so with each multiplier goes its inverse.
    assert np.min(np.abs(found.multipliers - 1.0 / found.multipliers[0])) < 1e-8


def test_an_orbit_that_is_not_driven_is_found_by_its_events():
    """A mass that slips and sticks on a belt comes back after two events, after slip and stick together."""
    belt = own.stick_slip()
    found = periodic_orbit(belt, belt.start(own.Mass(2.0, 1.0), mode="slip"), events=2, max_steps=128)
    assert found.period == pytest.approx(1.5 * np.pi + 2.0, rel=1e-10)
    # It sticks: all motions near it become the same one, at once.
    np.testing.assert_allclose(found.multipliers, 0.0, atol=1e-8)


def test_basins_tell_which_side_a_ball_rolls_down():
    hill = sl.hybrid.system(lambda t, y: {"x": y["v"], "v": y["x"]}, {"x": 0.0, "v": 0.0})
    found = basins(hill, {"x": [-1.0, 1.0], "v": [-2.0, 2.0]}, 3.0, lambda t, y: jnp.sign(y["x"]))
    assert found.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]


def test_basins_have_no_number_where_a_run_did_not_arrive():
    ball = own.ball()
    found = basins(ball, {"height": [1.0, 1e-3], "speed": [0.0, 0.1]}, 3.0, lambda t, y: y["height"])
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()  # the bounces of the low ones have piled up


def test_what_makes_no_orbit_is_told():
    with pytest.raises(ValueError, match="either `period`"):
        periodic_orbit(TABLE, TABLE.start())


# ---- the Lorentz gas -----------------------------------------------------------------------------

EDGES = jnp.stack([jnp.cos(jnp.arange(6) * jnp.pi / 3), jnp.sin(jnp.arange(6) * jnp.pi / 3)], axis=1)


def _hit(t, y, p):
    n = y["x"]
    return {"x": y["x"], "v": y["v"] - 2.0 * (y["v"] @ n) * n / (n @ n)}


def _wrap(t, y, p, index):
    return {"x": y["x"] - p["spacing"] * EDGES[index], "v": y["v"]}


GAS = sl.hybrid.system(
    lambda t, y, p: {"x": y["v"], "v": jnp.zeros(2)},
    {"x": jnp.array([0.0, 1.1]), "v": jnp.array([0.6, 0.8])},
    [
        Guard("disc", lambda t, y, p: y["x"] @ y["x"] - 1.0, jump=_hit),
        Guard("cell", lambda t, y, p: 0.5 * p["spacing"] - EDGES @ y["x"], jump=_wrap),
    ],
    parameters={"spacing": 2.0},
)


def lorentz(spacing, windows):
    gas = GAS.with_parameters({"spacing": spacing})
    start = gas.start({"x": jnp.array([0.03, 0.5 * (1.0 + spacing / np.sqrt(3))]), "v": jnp.array([0.6, 0.8])})
    # In the cusps between two discs there are hundreds of collisions within one unit of time. Of n windows about
    # n * 10 / count**2 have more events than `count`, and which motion it is hangs on rounding: 400 are too few.
    return lyapunov(gas, start, windows=windows, window=0.5, discard=20, max_events=2000, max_steps=2100)


@pytest.mark.slow
@pytest.mark.optimised
def test_exponents_of_the_lorentz_gas_are_the_published_ones():
    """Discs of radius 1 on a triangular lattice, speed 1: 3.6 at spacing 2 (Gaspard and Baras 1995), less beyond."""
    close, wide = lorentz(2.0001, 3000), lorentz(2.3, 1500)
    assert close.complete and wide.complete
    assert close.exponents[0] == pytest.approx(3.6, abs=0.2)
    assert wide.exponents[0] < close.exponents[0] - 1.0
    for found in (close, wide):
        assert abs(found.total) < 1e-6
        np.testing.assert_allclose(found.exponents[1:3], 0.0, atol=0.05)
