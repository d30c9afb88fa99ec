"""Rattleback, coin, tippe top, spinning discs and balls on the ground against other derivations and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import saltus as sl
from saltus.laws.friction import Combined, Coulomb, spot_functions
from saltus.laws.impact import Newton
from saltus.numerics import rotation
from saltus.shapes import Ball, Disc, Ellipsoid, Solid
from saltus.surfaces import Plane
from saltus.systems import BodyOnGround

G = 9.81
LEVEL = Plane(0.0, 0.0)
SLIDE, SKID, ROLL, REST = 1, 2, 3, 4


def rolling(support, inertia, mass, start, until):
    """Six equations in the body's frame of a body that rolls on a level plane: angular velocity and the vertical.

    Newton's and Euler's laws with the force eliminated by v = -omega x arm; `support(up)` gives the vector from the
    centre of mass to the lowest point and its derivative by the direction of the vertical.
    """

    def rate(_, y):
        omega, up = y[:3], y[3:]
        turned = np.cross(up, omega)
        arm, change = support(up, turned)
        carried = -np.cross(omega, change) - np.cross(omega, np.cross(omega, arm)) + G * up
        about = inertia + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        moment = mass * np.cross(arm, carried) - np.cross(omega, inertia @ omega)
        return np.concatenate([np.linalg.solve(about, moment), turned])

    return solve_ivp(rate, (0.0, until), start, method="DOP853", rtol=1e-13, atol=1e-15, dense_output=True).sol


def start_rolling(system, quaternion, omega):
    """A start whose contact does not slip."""
    flying = system.start([0.0, 0.0], quaternion=quaternion, height=1.0)
    arm = eqx.filter_jit(lambda system, state: system.contact_and_forces(state)[0].arm)(system, flying)
    return system.start([0.0, 0.0], velocity=-jnp.cross(omega, arm), quaternion=quaternion, angular_velocity=omega)


AXES, CENTRE = np.array([0.20, 0.03, 0.02]), np.array([0.0, 0.0, -0.01])
INERTIA = 1e-4 * np.array([[2.0, -0.2, 0.0], [-0.2, 16.0, 0.0], [0.0, 0.0, 17.0]])


def rattleback():
    moments, axes = np.linalg.eigh(INERTIA)
    axes = axes * [np.linalg.det(axes), 1.0, 1.0]
    body = Solid(Ellipsoid(AXES), mass=1.0, principal_inertia=moments, center_of_mass=CENTRE,
                 principal_axes=rotation.from_matrix(jnp.asarray(axes)))  # fmt: skip
    return BodyOnGround(LEVEL, body, Coulomb(1e6), Newton(0.0), gravity=G)


def ellipsoid_support(up, turned):
    square = AXES**2
    height = np.sqrt(up @ (square * up))
    arm = -square * up / height - CENTRE
    return arm, -square * turned / height + square * up * (up @ (square * turned)) / height**3


def rattling(until):
    """A run of the rattleback, and the same by Kane and Levinson's equations."""
    system = rattleback()
    half = np.deg2rad(0.5)
    tilt = rotation.multiply(
        rotation.from_rotation_vector(jnp.array([half, 0.0, 0.0])),
        rotation.from_rotation_vector(jnp.array([0.0, half, 0.0])),
    )
    omega = jnp.array([0.0, 0.0, -5.0])
    start = start_rolling(system, tilt, omega)
    turn = np.asarray(rotation.matrix(tilt))
    theirs = rolling(ellipsoid_support, INERTIA, 1.0, np.concatenate([turn.T @ omega, turn[2]]), until)
    return sl.simulate(system, start, until, rtol=1e-12, atol=1e-14), theirs


def test_a_rattleback_moves_by_the_equations_of_kane_and_levinson():
    run, theirs = rattling(0.4)
    turn = np.asarray(rotation.matrix(run.end.q[3:7]))
    ours = np.concatenate([turn.T @ run.end.v[3:], turn[2]])
    assert int(run.trajectory.start.mode) == ROLL and not run.events
    assert ours == pytest.approx(theirs(0.4), abs=1e-10)  # the rattling grows by exp(8 t): 1e-12 per step


@pytest.mark.slow
def test_a_rattleback_reverses_at_the_times_of_kane_and_levinson():
    run, theirs = rattling(3.2)
    times = np.linspace(0.0, 3.2, 3201)
    spin = np.array([theirs(t)[:3] @ theirs(t)[3:] for t in times])
    turns = np.flatnonzero(spin[:-1] * spin[1:] < 0.0)
    assert len(turns) >= 1
    for k in turns[:3]:
        wanted = brentq(lambda t: theirs(t)[:3] @ theirs(t)[3:], times[k], times[k + 1], xtol=1e-14)
        found = brentq(lambda t: float(run.at(t).v[5]), times[k], times[k + 1], xtol=1e-13)
        assert found == pytest.approx(wanted, abs=1e-8)
    energies = jax.vmap(lambda state: sum(run.system.energies(state)))(run.trajectory.knots)
    assert np.ptp(np.asarray(energies)) / float(energies[0]) < 1e-11


RADIUS = 0.01


def disc_support(up, turned):
    flat, change = up * [1, 1, 0], turned * [1, 1, 0]
    size = np.linalg.norm(flat)
    return -RADIUS * flat / size, -RADIUS * (change / size - flat * (flat @ change) / size**3)


def test_a_coin_rolls_away_as_it_falls():
    inertia = np.diag([0.25, 0.25, 0.5]) * RADIUS**2
    disc = Solid(Disc(RADIUS), mass=1.0, principal_inertia=np.diag(inertia))
    coin = BodyOnGround(LEVEL, disc, Coulomb(1e6), Newton(0.0), gravity=G)
    upright = rotation.from_rotation_vector(jnp.array([np.deg2rad(89.0), 0.0, 0.0]))
    omega = jnp.array([0.0, 0.0, 10 * np.pi])
    start = start_rolling(coin, upright, omega)
    run = sl.simulate(coin, start, 0.5, rtol=1e-12, atol=1e-15)
    turn = np.asarray(rotation.matrix(upright))
    theirs = rolling(disc_support, inertia, 1.0, np.concatenate([turn.T @ omega, turn[2]]), 0.5)
    turned = np.asarray(rotation.matrix(run.end.q[3:7]))
    assert np.concatenate([turned.T @ run.end.v[3:], turned[2]]) == pytest.approx(theirs(0.5), abs=1e-9)
    # Another code finds 0.0020041 m with a step of 5e-4 s; the difference is of the size of its error.
    assert float(run.end.q[8] - start.q[8]) == pytest.approx(0.0020041, abs=1.5e-6)
    assert float(run.end.q[8] - start.q[8]) == pytest.approx(0.00200495, abs=5e-9)


def flat_disc(gyration, mu=0.3, radius=0.1):
    """A disc that lies flat: a face is a spot, and a centre of mass near the ground does not tip it.

    `gyration` is the square of the radius of gyration over that of the disc.
    """
    inertia = np.array([0.25, 0.25, gyration]) * radius**2 if gyration < 0.5 else np.array([gyration] * 3) * radius**2
    body = Solid(Ball(1e-9), mass=1.0, principal_inertia=inertia)
    return BodyOnGround(LEVEL, body, Combined(mu, radius, "uniform"), Newton(0.0), gravity=G)


def slid(gyration, velocity=1.0, spin=2.0):
    disc = flat_disc(gyration)
    run = sl.simulate(disc, disc.start([0.0, 0.0], [velocity, 0.0, 0.0], angular_velocity=[0.0, 0.0, spin]), 10.0)

    def ratio(left):
        state = run.at(run.events[0].t * (1.0 - left))
        return float(state.v[0] / (0.1 * state.v[5]))

    return run, ratio


@pytest.mark.slow
def test_a_uniform_disc_stops_sliding_and_spinning_at_once_with_the_known_ratio():
    run, ratio = slid(0.5)
    (event,) = run.events
    assert event.name == "grips"
    # Both speeds, a billionth of the start here, vanish within the same 1e-9 s.
    before, rate = event.before, run.system.rate(event.before)
    left = [-float(before.v[i] / rate.v[i]) for i in (0, 5)]
    assert abs(left[0] - left[1]) < 1e-9
    assert ratio(1e-7) == pytest.approx(0.653, abs=5e-4)


@pytest.mark.slow
def test_the_end_of_a_sliding_and_spinning_disc_hangs_on_its_radius_of_gyration():
    """Below one gyration the disc ends sliding, above another spinning, in between with a ratio of both."""
    small, large = 1e-5, 1e5
    grows = float(spot_functions(small, "uniform").Theta0) / small  # torque by spin at almost pure slip
    fades = float(spot_functions(large, "uniform").Theta0) / (float(spot_functions(large, "uniform").Phi0) * large)
    low, high = sorted((grows, fades))
    assert [low, high] == pytest.approx([0.25, 2 / 3], abs=1e-3)
    for gyration, expected in ((0.2, "slides"), (0.8, "spins")):
        _, ratio = slid(gyration)
        late, later = ratio(1e-3), ratio(1e-6)
        assert (later > 1.5 * late) if expected == "slides" else (later < late / 1.5)


@pytest.mark.slow
def test_a_tippe_top_turns_over_at_a_time_that_does_not_hang_on_the_tolerance():
    system, start = sl.scenarios.load("tippe-top", []).scenario.assemble()
    times = []
    for tolerance in (1e-6, 1e-8, 1e-10):
        run = sl.simulate(system, start, 1.2, rtol=tolerance, atol=1e-2 * tolerance)
        first = run.events[0]
        assert (first.name, first.index) == ("landing", 1)  # onto the stem
        times.append(first.t)
    assert times == pytest.approx([1.13467189567] * 3, abs=3e-7)
    assert times[1] == pytest.approx(times[2], abs=3e-9)
    tilt = np.asarray(rotation.matrix(run.end.q[3:7]))[2, 2]
    assert tilt < -0.5  # the axis points down


def test_a_ball_on_a_gentle_slope_rests_and_on_a_steeper_one_rolls():
    radius, lever = 0.1, 0.01
    for slope, mode in ((0.099, REST), (0.101, ROLL)):
        ball = BodyOnGround(Plane(slope, 0.0), Solid(Ball(radius), mass=3.0), Coulomb(0.5), Newton(0.0),
                            gravity=G, rolling_friction=lever)  # fmt: skip
        assert int(ball.start([0.0, 0.0]).mode) == mode


@pytest.mark.slow
def test_the_spin_of_a_ball_on_a_spot_by_hertz_dies_as_its_torque_says():
    radius, modulus, mass, mu, spin = 0.05, 2e7, 0.5, 0.3, 40.0
    ball = BodyOnGround(
        LEVEL, Solid(Ball(radius), mass=mass), Combined(mu, 0.0), Newton(0.0), gravity=G, modulus=modulus
    )
    start = ball.start([0.0, 0.0], angular_velocity=[0.0, 0.0, spin])
    spot = np.cbrt(0.75 * mass * G * radius / modulus)
    torque = 3 * np.pi / 16 * mu * mass * G * spot
    run = sl.simulate(ball, start, 100.0)
    (event,) = run.events
    assert event.name == "grips"
    assert event.t == pytest.approx(0.4 * mass * radius**2 * spin / torque, rel=1e-8)
