"""Derivatives of runs in which slip ended, turned round or began were wrong, without a word.

Near rest friction turns a motion into its final direction within no time. Explicit steps follow that within their
tolerance, but their derivatives kept, or magnified, what dies away: by 4 % for masses that set off from rest, 25 % on
rails, and by 46 powers of ten on the Butterfly's plates where slip passed through zero. On a plane, where slip or
turning passed through zero, the derivative missed the change of friction there. A body on the ground that lifted off
had derivatives that were no numbers, and none by gravity or by its moments of inertia.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saltus import simulate
from saltus.laws.friction import Coulomb
from saltus.laws.impact import Newton
from saltus.scenarios import load
from saltus.scenarios.kinds import model_of
from saltus.scenarios.replace import replace_keys
from saltus.shapes import Ellipsoid, Solid
from saltus.surfaces import Paraboloid, Plane
from saltus.systems import BallOnPlane, BodyOnGround, SlidingMasses
from saltus.systems.ground_body.mechanics import SLIDE
from saltus.systems.short_time import time_to_stop
from saltus.systems.sliding.jumps import halt

G, SLOPE, RADIUS, MU, SPEED, SPIN, UNTIL = 9.81, 0.8, 0.2, 0.1, -1.0, 9.0, 2.0


def uphill_then_downhill(mu, spin):
    """Velocity at the end of a ball whose slip is uphill at first, and downhill from where it passes through zero."""
    pull, grip = G * np.sin(SLOPE), mu * G * np.cos(SLOPE)
    turn = -(SPEED - RADIUS * spin) / (pull + 3.5 * grip)
    return SPEED + (pull + grip) * turn + (pull - grip) * (UNTIL - turn)


def test_slip_that_turns_round_changes_friction_in_derivatives_too():
    def ball(mu):
        return BallOnPlane(1.0, RADIUS, Coulomb(mu), slope=SLOPE, gravity=G)

    def start(spin):
        return ball(MU).start(velocity=[SPEED, 0.0], angular_velocity=jnp.stack([0.0, spin, 0.0]))

    run = simulate(ball(MU), start(SPIN), UNTIL)
    assert [event.name for event in run.events] == ["rolls"]
    assert float(run.end.v.centre[0]) == pytest.approx(uphill_then_downhill(MU, SPIN), rel=1e-9)

    def again(mu, spin):
        return run.replay(ball(mu), start(spin)).end.v.centre[0]

    for argument in (0, 1):
        found = jax.grad(again, argument)(MU, SPIN)
        wanted = jax.grad(uphill_then_downhill, argument)(MU, SPIN)
        assert found == pytest.approx(float(wanted), rel=1e-8)


def test_the_time_to_a_stop_leaves_out_what_dies_away():
    """Anisotropic friction a = -K s / |s| + c, followed by steps that shorten with the distance to the stop."""
    stiffness, pull = np.array([[3.0, 0.4], [0.1, 1.0]]), np.array([0.2, 0.1])

    def act(speeds):
        return pull - stiffness @ speeds / (speeds @ speeds) ** 0.5

    def stop_time(speeds):
        t = 0.0
        for _ in range(8_000):
            h = 4e-3 * (speeds @ speeds) ** 0.5
            speeds, t = speeds + h * act(speeds + 0.5 * h * act(speeds)), t + h
        return t

    # On the ray that attracts the direction, where speeds vanish in a straight line.
    speeds = np.array([0.6, 0.8])
    for _ in range(2000):
        gain = act(speeds)
        speeds = speeds + 0.05 * (gain - (gain @ speeds) * speeds)
        speeds = speeds / np.linalg.norm(speeds)
    ray = jnp.asarray(speeds)
    assert float(jnp.cross(ray, act(ray))) == pytest.approx(0.0, abs=1e-12)
    found = jax.jacfwd(lambda s: time_to_stop(s, act(s), jax.tree_util.Partial(lambda s: (act(s), ())), jnp.inf))(ray)
    wanted = [(stop_time(speeds + step) - stop_time(speeds - step)) / 2e-4 for step in 1e-4 * np.eye(2)]
    assert found == pytest.approx(np.array(wanted), rel=1e-4)


def test_a_mass_stops_in_its_own_time_whatever_another_slow_one_does():
    masses = SlidingMasses(Plane(-1.0, 0.0), masses=[1.0, 1.0], mu=0.1, gravity=G)
    state = masses.start(position=[[0.0, 0.0], [5.0, 5.0]], velocity=[[-1.0, 0.0], [1.0, 0.0]])
    speed = np.sqrt(2.0) * 1e-9
    uphill_and_downhill = state.replace(v=1e-9 * state.v)
    after, _ = halt(masses, uphill_and_downhill, 0)
    assert float(after.t) == pytest.approx(speed / (1.1 * G * np.sqrt(0.5)), rel=1e-12)


def test_derivatives_of_a_contact_that_no_longer_presses_are_numbers():
    dome = Paraboloid(-0.5, -0.5)
    solid = Solid(Ellipsoid([0.2, 0.2, 0.2]), density=1000.0)
    body = BodyOnGround(dome, solid, Coulomb(0.3), Newton(0.0), rolling_friction=0.01)
    state = body.start([0.0, 0.0], velocity=[0.5, 0.0, 0.0], angular_velocity=[0.0, 1.0, 0.0])
    fast = state.replace(v=jax.tree.map(lambda part: 20.0 * part, state.v), mode=jnp.asarray(SLIDE))
    assert float(body.contact_and_forces(fast)[1].load) < 0.0
    slope = jax.jacfwd(lambda v: body.rate(fast.replace(v=v)))(fast.v)
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(slope))


@pytest.mark.parametrize("key", ["gravity", "body.principal_inertia.2"])
def test_a_body_on_the_ground_is_differentiated_by_any_number(key):
    scenario = load("rattleback").scenario

    def start(share):
        values = {"gravity": scenario.gravity, "body.principal_inertia.2": scenario.body.principal_inertia[2]}
        system, state = replace_keys(scenario, {key: values[key] * share}).build()
        return system.gravity * system.solid.inertia[2, 2], state.q.centre

    _, (change, _) = jax.jvp(start, (1.0,), (1.0,))
    system, _ = scenario.build()
    assert change == pytest.approx(float(system.gravity * system.solid.inertia[2, 2]))


def test_plates_whose_contacts_do_not_spin_take_no_spots():
    scenario = load("butterfly-slip").scenario.model_dump(mode="json", exclude_none=True)
    scenario["half_angle"] = 0.0
    with pytest.raises(ValueError, match=r"`half_angle` must be > 0 for contacts with a spot, got 0.0"):
        model_of("butterfly").model_validate(scenario).build()
