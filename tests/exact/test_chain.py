"""Chains against closed forms, independent models, and their own balance."""

import math

import equinox as eqx
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import saltus as sl
from saltus.simulation import observe

import jax  # isort: skip
import jax.numpy as jnp  # isort: skip

CROSSINGS = ("crossing", "exit")


@pytest.fixture(scope="module")
def three():
    return sl.systems.Chain(3, gravity=1.0, ends_off_table=True)


def total(chain, state):
    seen = observe(chain, state)
    return float(seen["kinetic_energy"] + seen["potential_energy"] + seen["dissipated_energy"])


def test_constant_steps_keep_order_four_through_the_singular_starts(three):
    start = three.start(0.5, angle=0.3)
    exact = sl.simulate(three, start, math.inf, rtol=1e-13, atol=1e-16).end
    errors = [
        float(jnp.abs(sl.simulate(three, start, math.inf, method="rk4", step=h).end.q - exact.q)[:3].max())
        for h in (0.04, 0.02, 0.01)
    ]
    # Without collocation near the edge the order is 2. The steps are cut at events, so the order is not exactly 4.
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert orders.min() > 3.5


@pytest.mark.parametrize("table_mass", [1.0, 4.0])
def test_finite_force_converges_to_the_limit_law(table_mass):
    """No law of the jerk at all: the link is pulled together by a finite force, then held, in real time."""
    angle, until = 0.3, 0.2
    unit = np.array([np.cos(angle), np.sin(angle)])
    chain = sl.systems.Chain(2, mass=[1.0, 1.0, table_mass], gravity=1.0)
    speed, swing = 1.0, -0.4
    velocity = speed * unit + swing * np.array([-unit[1], unit[0]])
    crossing = eqx.filter_jit(lambda chain, state: chain.jump(state, "crossing", jnp.asarray(0)))
    after = crossing(chain, chain.state(unit[None], velocity[None]))
    wanted = np.asarray(observe(chain, sl.simulate(chain, after, until, rtol=1e-11, atol=1e-13).end)["position"])[:2]
    errors = [
        np.abs(_pulled(force, table_mass, unit, velocity, speed, until) - wanted).max() for force in (1e3, 1e4, 1e5)
    ]
    # The error falls like log(F) / F: by about 7.5 and 8 per decade.
    assert errors[1] < errors[0] / 5 and errors[2] < errors[1] / 5 and errors[2] < 1e-4


def _pulled(force, table_mass, unit, velocity, speed, until):
    """Places of the hanging and the crossing particle at `until`; the table part is tethered over the edge."""

    def parts(y):
        p1, p2, v1, v2 = y[:2], y[2:4], y[4:6], y[6:]
        link, e = p1 - p2, p2 / np.linalg.norm(p2)
        length = np.linalg.norm(link)
        return v1, v2, link / length, length, e, (v2 @ v2 - (v2 @ e) ** 2) / np.linalg.norm(p2)

    def rate(y, pull, held):
        v1, v2, u, length, e, outward = parts(y)
        down = np.array([1.0, 0.0])
        # Unknown pulls of link (if held) and tether: the link keeps its length, the tether drags the table mass.
        relative = v1 - v2
        matrix = np.array([[2.0, -u @ e], [-u @ e, 1 + 1 / table_mass]])
        right = np.array([(relative @ relative - (relative @ u) ** 2) / length, down @ e + outward])
        if held:
            pull, tether = np.linalg.solve(matrix, right)
        else:
            tether = (right[1] + pull * (u @ e)) / matrix[1, 1]
        return np.concatenate([v1, v2, down - pull * u, down + pull * u - tether * e])

    def lengthening(t, y):
        v1, v2, u, *_ = parts(y)
        return (v1 - v2) @ u

    lengthening.terminal = True
    options = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-14}
    start = np.concatenate([unit, [0.0, 1e-12], velocity, [0.0, speed]])
    pulled = solve_ivp(lambda t, y: rate(y, force, False), (0, until), start, events=lengthening, **options)
    held = solve_ivp(lambda t, y: rate(y, 0.0, True), (pulled.t[-1], until), pulled.y[:, -1], **options)
    return held.y[:4, -1].reshape(2, 2)


def test_energy_is_accounted_for_at_every_crossing(three):
    run = sl.simulate(three, three.start(0.1), math.inf, rtol=1e-12, atol=1e-14)
    for event in run.events:
        if event.name in CROSSINGS:
            lost = float(three.kinetic_energy(event.before) - three.kinetic_energy(event.after))
            assert event.data["energy_loss"] > 0.0
            assert abs(lost - event.data["energy_loss"]) < 1e-13
    assert abs(total(three, run.end) - total(three, run.trajectory.start)) < 1e-11


def test_particles_do_not_jump_at_a_crossing_and_links_keep_their_length(three):
    run = sl.simulate(three, three.start(0.1), math.inf)
    for event in run.events:
        before, after = (np.asarray(observe(three, state)["position"]) for state in (event.before, event.after))
        np.testing.assert_allclose(after, before, atol=1e-14)
    times = np.linspace(0.0, float(run.end.t), 50)
    lengths = np.asarray(jax.jit(jax.vmap(three.observe))(run.states(times))["link_length"])
    np.testing.assert_allclose(lengths, 1.0, atol=1e-14)


def test_swinging_link_slips_when_its_pull_reaches_the_grip():
    """A pendulum let go from the horizontal pulls with 3 m g cos(theta)."""
    mu, n, reach = 0.5, 3, 0.6
    chain = sl.systems.Chain(n, gravity=1.0, table_friction=mu, ends_off_table=True)
    run = sl.simulate(chain, chain.start(reach), 2.0, rtol=1e-12, atol=1e-14)
    angle = math.acos(mu * n / 3)
    exact = quad(lambda x: math.sqrt(reach / (2 * math.cos(x))), angle, math.pi / 2, epsabs=1e-13)[0]
    slip = run.events[0]
    assert slip.name == "slip"
    # The integrand is singular at the end of the quadrature, which is good to about 1e-9.
    assert abs(slip.t - exact) < 1e-8
    assert abs(total(chain, run.end) - total(chain, run.trajectory.start)) < 1e-10


@pytest.mark.parametrize("hanging, moves", [(1, False), (2, True)])
def test_critical_overhang(hanging, moves):
    # Of 4 particles with mu = 0.9 more than 1.89 must hang.
    chain = sl.systems.Chain(3, gravity=1.0, table_friction=0.9, ends_off_table=True)
    start = chain.start(hanging - 0.5, angle=0.0)
    run = sl.simulate(chain, start, math.inf)
    assert (run.outcome.name == "finished") == moves
    if not moves:
        assert run.outcome.name == "at_rest"
        assert np.array_equal(run.end.q, start.q) and not np.any(run.end.v)


def test_swing_that_never_pulls_hard_enough_is_held_for_ever():
    chain = sl.systems.Chain(3, gravity=1.0, table_friction=1.1, ends_off_table=True)
    run = sl.simulate(chain, chain.start(0.6), math.inf)
    assert run.outcome.name == "at_rest" and "held" in run.outcome.message
    np.testing.assert_array_equal(observe(chain, run.end)["position"][1:, 1], [-0.4, -1.4, -2.4])


@pytest.mark.slow
def test_strings_never_push_nor_stretch():
    chain = sl.systems.Chain(6, gravity=1.0, material="string")
    run = sl.simulate(chain, chain.start(1e-4), 16.0)
    names = {event.name for event in run.events}
    assert {"slack", "taut"} <= names
    seen = jax.vmap(chain.observe)(run.states(np.linspace(0.0, 16.0, 400)))
    hanging = np.arange(6) < np.asarray(seen["off_table"])[:, None] - 1
    assert np.asarray(seen["tension"]).min() > -1e-8
    assert np.asarray(seen["distance"])[hanging].max() < 1 + 1e-12
    assert np.diff(np.asarray(seen["dissipated_energy"])).min() >= -1e-12
    energy = sum(np.asarray(seen[f"{name}_energy"]) for name in ("kinetic", "potential", "dissipated"))
    assert np.ptp(energy) < 1e-7  # rtol 1e-10 over a fall that turns 100 J around


@pytest.mark.slow
def test_rods_that_push_after_a_strong_swing_are_told():
    chain = sl.systems.Chain(10, gravity=1.0, ends_off_table=True)
    run = sl.simulate(chain, chain.start(0.5), math.inf)
    pushed = [event for event in run.events if event.name == "compression"]
    assert pushed and pushed[0].data["link"] == 1
    assert float(chain.balance(pushed[0].before).tension[0]) < 0.0


def test_lift_off_of_the_continuous_chain():
    assert float(sl.systems.chain.continuum(1.0, 1 / 8, 1.0).lift_off) == pytest.approx((1 + math.sqrt(1.125)) / 4)
    rubbed = sl.systems.chain.continuum(2.0, 1.0, 9.81, friction=0.3)
    x = np.linspace(1.1, 1.9, 5)
    np.testing.assert_allclose(rubbed.position(rubbed.time_at(x)), x, rtol=1e-12)
    np.testing.assert_allclose(rubbed.speed(rubbed.time_at(x)), rubbed.speed_at(x), rtol=1e-10)
