"""The ball on rails beyond the reference cases: symmetry, rest, creep, loss of a rail, jamming."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import simulate
from saltus.laws.friction import Combined, Coulomb, Pade
from saltus.systems import BallOnRails
from saltus.systems.ball_on_rails import critical_slope, forces, terminal_creep


def spot_ball(**changes):
    options = {"half_angle": 0.5, "mu": 0.25, "spot_radius": 0.05, "slope": 0.0, **changes}
    law = Combined(options["mu"], options["spot_radius"], rolling_shift=options.get("rolling_shift", 0.0))
    return BallOnRails(1.0, 0.5, options["half_angle"], law, slope=options["slope"])


contacts = eqx.filter_jit(BallOnRails.contacts)


@eqx.filter_jit
def slid(ball, velocity):
    """The contacts of a ball that slides."""
    velocity = forces.RailMotion.still().refill(velocity)
    return forces.contacts_under(ball, forces.place_contacts(ball, jnp.zeros(()), velocity), velocity)


def names(run):
    return [event.name for event in run.events]


def test_motion_in_a_mirror_is_the_mirrored_motion():
    ball = spot_ball()
    turned = simulate(ball, ball.start(2.0, [1.5, 3.0, -2.0]), 0.4)
    mirrored = simulate(ball, ball.start(2.0, [-1.5, 3.0, 2.0]), 0.4)
    flip = np.array([1.0, 1.0, -1.0, 1.0, -1.0])  # angular velocities about x and z turn over
    # The same arithmetic with other signs: equal to the error of the run.
    np.testing.assert_allclose(turned.end.v * flip, mirrored.end.v, rtol=0, atol=1e-9)
    loads = [contacts(ball, run.end).loads.load for run in (turned, mirrored)]
    np.testing.assert_allclose(loads[0], loads[1][::-1], rtol=1e-8)


def test_energy_is_accounted_for_and_creep_has_the_terminal_acceleration():
    ball = spot_ball()
    run = simulate(ball, ball.start(2.0), 3.0)
    assert names(run) == ["creeps"]
    data = run.to_dataset(times=201)
    total = data.kinetic_energy + data.potential_energy + data.dissipated_energy
    assert float(np.ptp(total.values)) < 1e-9 * float(data.kinetic_energy[0])
    ratio, gain = terminal_creep(ball)
    late = run.at(2.0)
    assert float(eqx.filter_jit(BallOnRails.rate)(ball, late).v[0]) == pytest.approx(float(gain), rel=1e-12)
    now = contacts(ball, late)
    rim = 0.05 * abs(float(now.motion.spin[0]))
    assert float(now.motion.slip[0, 0]) / rim == pytest.approx(float(ratio), rel=1e-9)


def test_a_ball_rests_on_every_slope_below_the_critical_one_and_creeps_down_above():
    steepest = math.atan(float(critical_slope(spot_ball())[0]))
    gentle = spot_ball(slope=0.999 * steepest)
    run = simulate(gentle, gentle.start(0.0), 5.0)
    assert not run.events and np.all(np.asarray(run.end.v) == 0.0) and float(run.end.q[0]) == 0.0

    steep = spot_ball(slope=1.001 * steepest)
    run = simulate(steep, steep.start(0.0), 5.0)
    gain = terminal_creep(steep)[1]
    assert float(run.end.v[0]) == pytest.approx(5.0 * float(gain), rel=1e-12)
    assert 0.0 < float(gain) < 1e-2


def test_friction_at_rest_holds_the_ball():
    ball = spot_ball(slope=0.005)
    now = contacts(ball, ball.start(0.0))
    acceleration = eqx.filter_jit(forces.acceleration)(ball, now.place, now.reaction)
    np.testing.assert_allclose(acceleration, 0.0, atol=1e-13)


def test_a_ball_that_creeps_uphill_stops_and_rests_or_turns_back():
    ball = spot_ball(slope=0.03)
    run = simulate(ball, ball.start(-0.5, [0.0, -0.5 / (0.5 * math.cos(0.5)), 0.0]), 8.0)
    assert names(run)[-1] == "rests"
    turning = run.events[-1].after
    assert float(turning.v[0]) == 0.0 and float(run.end.v[0]) > 0.0  # 0.03 is steeper than this ball can rest on
    gain = terminal_creep(ball)[1]
    assert float(run.end.v[0]) == pytest.approx(float(gain) * (8.0 - float(turning.t)), rel=1e-10)


def test_small_spots_tend_to_the_point_contact():
    point = BallOnRails(1.0, 0.5, 0.5, Coulomb(0.25))
    wanted = simulate(point, point.start(2.0), 0.4).end
    for radius in (1e-3, 1e-4):
        ball = spot_ball(spot_radius=radius)
        end = simulate(ball, ball.start(2.0), 0.4).end
        # The difference is of first order in the radius.
        assert abs(float(end.q[0] - wanted.q[0])) < 2 * radius
        assert 1e-3 * radius < abs(float(end.v[0] - wanted.v[0])) < 10 * radius


def test_spots_that_grow_with_the_load_have_consistent_loads():
    law = Combined(0.3, 0.05, reference_load=3.0, rolling_shift=0.3)
    ball = BallOnRails(1.0, 0.5, 0.6, law)
    velocity = jnp.array([1.0, 0.0, 2.0, -1.0, 3.0])
    now = slid(ball, velocity)
    S, C = math.sin(0.6), math.cos(0.6)
    (n1, n2), (t1, t2) = now.loads.load, now.reaction.force[:, 1]
    assert float((n2 - n1) * S + (t1 + t2) * C) == pytest.approx(0.0, abs=1e-13)
    assert float((n1 + n2) * C + (t1 - t2) * S) == pytest.approx(9.81, rel=1e-14)
    again = eqx.filter_jit(type(law).reaction)(
        law, now.motion.slip, now.motion.spin, now.loads.load, now.motion.rolling
    )
    np.testing.assert_allclose(now.reaction.force, again.force, rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Coulomb(0.4), Combined(0.4, 0.05, "punch")], ids=["point", "spot"])
def test_a_ball_that_loses_a_rail_rocks_back_and_goes_on(law):
    ball = BallOnRails(1.0, 0.5, 0.3, law)
    run = simulate(ball, ball.start(2.0, [4.0, 0.0, 0.0]), 1.0)
    assert run.outcome.ok and names(run)[0] == "rail_lost" and "landing" in names(run)
    data = run.to_dataset(times=401)
    total = data.kinetic_energy + data.potential_energy + data.dissipated_energy
    assert float(np.ptp(total.values)) < 1e-7 * float(data.kinetic_energy[0])
    assert float(data.tilt.min()) > -1e-12 and float(data.tilt.max()) > 1e-4
    assert float(data.normal_force.min()) > -1e-9


@pytest.mark.slow
def test_a_ball_thrown_off_leaves_the_rails():
    ball = BallOnRails(1.0, 0.5, 0.2, Coulomb(1.5))
    run = simulate(ball, ball.start(1.0, [60.0, 0.0, 0.0]), 5.0)
    assert run.outcome.name == "left_domain" and "left the rails" in run.outcome.message


@pytest.mark.slow
def test_jamming_is_an_outcome_with_its_time():
    ball = BallOnRails(1.0, 0.5, 1.4, Coulomb(0.5))
    run = simulate(ball, ball.start(1.856, [-3.609, -1.39, -5.239]), 1.0)
    assert run.outcome.name == "jammed" and "mu > 1 / tan(half_angle)" in run.outcome.message
    assert float(ball.contacts(run.end).loads.load.max()) > 1e5
    at_once = simulate(ball, ball.start(3.0, [1.0, 0.0, 6.0]), 1.0)
    assert at_once.outcome.name == "jammed" and float(at_once.end.t) < 1e-11


def test_only_what_can_happen_is_compiled():
    assert spot_ball().secure and not BallOnRails(1.0, 0.5, 0.3, Coulomb(0.4)).secure
    assert {guard.name for guard in spot_ball().guards()} == {"creeps", "stops", "rests"}
    assert BallOnRails(1.0, 0.5, 0.5, Pade(0.1, 0.0)).point and not spot_ball().point


def test_acceleration_is_differentiable_in_every_parameter():
    @eqx.filter_jit
    def gain(ball):
        return jnp.sum(slid(ball, jnp.array([1.0, 0.0, 0.5, -1.0, 2.0])).acceleration)

    ball = spot_ball(rolling_shift=0.2)
    slope = eqx.filter_jit(eqx.filter_grad(gain))(ball)
    h = 1e-6
    more = eqx.tree_at(lambda b: b.law.spot_radius, ball, ball.law.spot_radius + h)
    less = eqx.tree_at(lambda b: b.law.spot_radius, ball, ball.law.spot_radius - h)
    assert float(slope.law.spot_radius) == pytest.approx(float(gain(more) - gain(less)) / (2 * h), rel=1e-6)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"half_angle": -0.1}, "`half_angle` must be > 0, got -0.1"),
        ({"half_angle": 1.6}, "`half_angle` must be in [0, 1.5708], got 1.6"),
        ({"slope": 1.7}, "`slope` must be in"),
        ({"mu": -1.0}, "`mu` must be >= 0"),
    ],
)
def test_wrong_numbers_are_refused(changes, words):
    with pytest.raises(ValueError, match="^[^\n]+$") as caught:
        spot_ball(**changes)
    assert words in str(caught.value)
