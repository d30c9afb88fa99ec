"""A ball and an ellipsoid on the ground against closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ellipk

import saltus as sl
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Newton, Stronge
from saltus.shapes import Ball, Solid
from saltus.surfaces import AbstractSurface, Plane
from saltus.systems import BodyOnGround

G, R, M = 9.81, 0.1, 2.0
FLIGHT, SLIDE, SKID, ROLL, REST = range(5)


def ball_on_plane(slope=0.0, mu=0.3, restitution=0.5, impact_mu=0.0):
    """A ball on a plane that falls towards +x; one compiled program for all of them."""
    ball = Solid(Ball(R), mass=M)
    return BodyOnGround(
        Plane(-np.tan(slope), 0.0), ball, Coulomb(mu), Stronge(restitution, impact_mu), gravity=G, settle_height=1e-10
    )


def balance(run):
    """Largest change of kinetic, potential and lost energy together over a run."""
    total = np.asarray(_totals(run.system, run.trajectory.knots))
    return np.max(np.abs(total - total[0]))


@eqx.filter_jit
def _totals(system, states):
    return jax.vmap(lambda state: sum(system.energies(state)) + state.ledger[0])(states)


def test_a_ball_rolls_down_with_five_sevenths_of_the_pull():
    slope = 0.2
    ball = ball_on_plane(slope)
    start = ball.start([0.0, 0.0])
    run = sl.simulate(ball, start, 2.0)
    way = np.linalg.norm(np.asarray(run.end.q[:3] - start.q[:3]))
    assert int(start.mode) == ROLL
    assert way == pytest.approx(0.5 * 5 / 7 * G * np.sin(slope) * 4.0, rel=1e-13)  # rtol 1e-10 per step, of a parabola
    assert balance(run) < 1e-12


def test_a_ball_slips_until_it_rolls_at_the_known_time_and_place():
    ball, v = ball_on_plane(), 3.0
    run = sl.simulate(ball, ball.start([0.0, 0.0], velocity=[v, 0.0, 0.0]), 2.0)
    (event,) = run.events
    assert event.name == "grips" and event.t == pytest.approx(2 * v / (7 * 0.3 * G), rel=1e-12)
    assert float(event.after.q[0]) == pytest.approx(12 * v**2 / (49 * 0.3 * G), rel=1e-12)
    assert float(run.end.v[0]) == pytest.approx(5 / 7 * v, rel=1e-12)
    assert float(run.end.ledger[0]) == pytest.approx(M * v**2 / 7, rel=1e-10)


def test_on_a_steep_plane_a_ball_slides_for_ever_and_turns():
    slope, mu = 1.0, 0.2  # rolling would need mu of 2/7 tan(slope) = 0.445
    ball = ball_on_plane(slope, mu)
    start = ball.start([0.0, 0.0])
    run = sl.simulate(ball, start, 1.0)
    assert not run.events and int(start.mode) == SLIDE
    speed = (np.sin(slope) - mu * np.cos(slope)) * G
    assert float(jnp.linalg.norm(run.end.v[:3])) == pytest.approx(speed, rel=1e-10)
    assert float(run.end.v[4]) == pytest.approx(2.5 * mu * G * np.cos(slope) / R, rel=1e-10)


def test_a_ball_that_slips_backwards_on_a_steep_plane_turns_round_at_once():
    slope, mu = 1.0, 0.2
    ball = ball_on_plane(slope, mu)
    spin = 200.0  # so much top spin that the contact slips uphill
    run = sl.simulate(ball, ball.start([0.0, 0.0], angular_velocity=[0.0, spin, 0.0]), 3.0)
    (event,) = run.events
    s, c = np.sin(slope), np.cos(slope)
    # Slip -R spin gains g (s + mu c) + 2.5 mu g c until it is zero; then friction acts the other way.
    t = R * spin / (G * (s + mu * c + 2.5 * mu * c))
    assert event.name == "grips" and event.t == pytest.approx(t, rel=1e-11)
    assert int(run.end.mode) == SLIDE
    speed = G * (s + mu * c) * t + G * (s - mu * c) * (3.0 - t)
    assert float(jnp.linalg.norm(run.end.v[:3])) == pytest.approx(speed, rel=1e-9)


def test_flight_and_landing_on_an_inclined_plane():
    slope, height = 0.3, 1.2
    ball = ball_on_plane(slope, restitution=0.0)
    v = np.array([1.5, 0.4, 2.0])
    run = sl.simulate(ball, ball.start([0.0, 0.0], velocity=v, height=height), 3.0)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    gap, leaving, pull = height * normal[2], v @ normal, G * normal[2]
    t = (leaving + np.sqrt(leaving**2 + 2 * pull * gap)) / pull
    landing = run.events[0]
    assert landing.name == "landing" and landing.t == pytest.approx(t, rel=4e-15)  # rounding
    assert np.asarray(landing.before.q[:2]) == pytest.approx(v[:2] * t, rel=1e-14)
    assert landing.data["into"] == "slide" and float(jnp.abs(landing.after.v[:3] @ normal)) < 1e-14


def test_a_ball_bounces_down_a_plane_as_its_recurrences_say():
    """Each bounce: normal speed times e; friction takes mu (1 + e) v_n of the slip at most, 2/7 of it if it grips."""
    slope, mu, e = 0.25, 0.1, 0.6
    ball = ball_on_plane(slope, mu, e, mu)
    run = sl.simulate(ball, ball.start([0.0, 0.0], velocity=[2.0, 0.0, 0.0], height=0.5), 2.2)
    down, up = np.array([np.cos(slope), 0.0, -np.sin(slope)]), np.array([np.sin(slope), 0.0, np.cos(slope)])
    along, away = 2.0 * down[0], 2.0 * up[0]
    turn, gap, t, seen = 0.0, 0.5 * up[2], 0.0, 0
    for event in run.events:
        if event.name != "landing" or event.data["into"] != "flight":
            break
        dt = (away + np.sqrt(away**2 + 2 * G * up[2] * gap)) / (G * up[2])
        closing = G * up[2] * dt - away
        t, along = t + dt, along + G * np.sin(slope) * dt
        slip = along - R * turn
        push = np.clip(-slip * 2 / 7, -mu * (1 + e) * closing, mu * (1 + e) * closing)
        along, turn, away, gap = along + push, turn - 2.5 * push / R, e * closing, 0.0
        # The gap is known to some 1e-15 m, the rounding of the coordinates; so is the time, by the closing speed.
        assert event.t == pytest.approx(t, rel=1e-12, abs=1e-15 / closing)
        assert [float(event.after.v[:3] @ down), float(event.after.v[4])] == pytest.approx([along, turn], rel=1e-10)
        seen += 1
    assert seen > 12 and balance(run) < 1e-10


class Conic(AbstractSurface):
    """Bowls by the numbers of a mirror: z = c s / (1 + sqrt(1 - (1 + k) c² s)) with s = x² + w y².

    k = 0 is a sphere of radius 1/c, k = -1 a paraboloid; w = 0 makes troughs of them. One compiled program for all.
    """

    c: jax.Array = eqx.field(converter=jnp.asarray)
    k: jax.Array = eqx.field(converter=jnp.asarray)
    w: jax.Array = eqx.field(converter=jnp.asarray)

    def height(self, x, y):
        s = x * x + self.w * y * y
        return self.c * s / (1.0 + jnp.sqrt(1.0 - (1.0 + self.k) * self.c**2 * s))


def ball_in(c, k, w):
    """A ball that cannot but roll in a conic."""
    return BodyOnGround(Conic(c, k, w), Solid(Ball(R), mass=M), Coulomb(1e3), Newton(0.5), gravity=G)


BOWL = ball_in(1.0, 0.0, 1.0)


def test_a_ball_rolls_in_a_spherical_bowl_with_the_period_of_a_pendulum():
    angle, length = 1.2, 1.0 - R
    period = 4 * np.sqrt(1.4 * length / G) * ellipk(np.sin(angle / 2) ** 2)
    start = BOWL.start([length * np.sin(angle), 0.0])
    assert float(start.q[2]) == pytest.approx(1.0 - length * np.cos(angle), rel=1e-14)
    run = sl.simulate(BOWL, start, period)
    assert np.asarray(run.end.q[:3]) == pytest.approx(np.asarray(start.q[:3]), abs=1e-9)
    gaps = jax.jit(jax.vmap(lambda state: BOWL.contact_and_forces(state)[0].touch.gap))(run.trajectory.knots)
    assert np.max(np.abs(gaps)) < 1e-14 and balance(run) < 1e-9


def test_along_a_trough_a_rolling_ball_swings_with_root_two_sevenths_of_the_angle():
    """Inside a level cylinder the axial speed is u cos(sqrt(2/7) (phi - phi_0)), and phi a pendulum."""
    ball = ball_in(1.0, 0.0, 0.0)
    angle, length, u = 1.0, 1.0 - R, 0.7
    start = ball.start(
        [length * np.sin(angle), 0.0],
        velocity=[0.0, u, 0.0],
        # no slip: omega = n x v / r, without spin about n = (-sin, 0, cos)
        angular_velocity=[-u * np.cos(angle) / R, 0.0, -u * np.sin(angle) / R],
    )
    assert int(start.mode) == ROLL
    quarter = np.sqrt(1.4 * length / G) * ellipk(np.sin(angle / 2) ** 2)
    end = sl.simulate(ball, start, quarter).end
    assert float(end.q[0]) == pytest.approx(0.0, abs=1e-10)
    assert float(end.v[1]) == pytest.approx(u * np.cos(np.sqrt(2 / 7) * angle), rel=1e-10)


def test_a_ball_circles_steadily_in_a_paraboloid():
    """(1 + k) W^2 rho cos a + k r W s sin a = g sin a with k = 2/5, rate W, spin s, radius rho of the centre's path."""
    a, contact, rate = 0.4, 0.8, 2.5
    slope = np.arctan(2 * a * contact)
    rho = contact - R * np.sin(slope)
    s = (G * np.sin(slope) - 1.4 * rate**2 * rho * np.cos(slope)) / (0.4 * R * rate * np.sin(slope))
    v = rate * rho
    uphill, normal = np.array([np.cos(slope), 0.0, np.sin(slope)]), np.array([-np.sin(slope), 0.0, np.cos(slope)])
    ball = ball_in(2 * a, -1.0, 1.0)
    start = ball.start([rho, 0.0], velocity=[0.0, v, 0.0], angular_velocity=-v / R * uphill + s * normal)
    run = sl.simulate(ball, start, 5.0, rtol=1e-11)
    radius = np.hypot(run.trajectory.knots.q[:, 0], run.trajectory.knots.q[:, 1])
    assert int(start.mode) == ROLL
    assert np.max(np.abs(radius - rho)) < 1e-9
    assert float(run.end.q[0]) == pytest.approx(rho * np.cos(rate * 5.0), abs=1e-8)
