"""Many lanes with constant steps: the kernel does what a single run does."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.toys import BouncingBall, Oscillator, ball

import saltus as sl
from saltus.engines import FixedStep, batch
from saltus.engines.advance import Control, Status
from saltus.engines.kernel import flow_lanes
from saltus.engines.lanes import run_lanes
from saltus.engines.steppers import stepper
from saltus.hybrid import State

pytestmark = pytest.mark.optimised
STEP = 0.03


def lane(tree, number: int):
    return jax.tree.map(lambda x: x[number] if eqx.is_array(x) else x, tree)


def height(system, state):
    return jnp.abs(state.q)


def balls(count: int):
    """Balls of different restitution, from different heights."""
    restitution = jnp.linspace(0.5, 0.9, count)

    def one(restitution, height):
        system = BouncingBall(restitution, jnp.asarray(9.81), True)
        return system, State.of(q=jnp.stack([height]), v=[0.0])

    return eqx.filter_vmap(one)(restitution, jnp.linspace(1.0, 2.0, count))


@pytest.mark.parametrize("device", ["interpret", "cpu"])
def test_lanes_move_as_single_runs_until_a_step_may_hold_an_event(device):
    systems, starts = balls(5)
    going = jnp.zeros(5, jnp.int32)
    end = flow_lanes(
        systems, starts, going, jnp.zeros((5, 1)), height, until=2.0, step=STEP, device=device, threads=32,
        like=ball(0.5), varying=(True, False),
    )  # fmt: skip
    assert (np.asarray(end.status) == Status.doubtful).all()
    for number in range(5):
        t, first_hit = float(end.state.t[number]), float(np.sqrt(2 * starts.q[number, 0] / 9.81))
        # Handed back no later than the step of the hit, and not much earlier.
        assert t < first_hit <= t + 3 * STEP
        assert float(end.t_next[number]) == pytest.approx(t + STEP, abs=1e-15)
        single = FixedStep(STEP).run(lane(systems, number), lane(starts, number), t)
        np.testing.assert_allclose(end.state.q[number], single.end.q, rtol=1e-13)
        np.testing.assert_allclose(end.state.v[number], single.end.v, rtol=1e-13)
        # The largest height at the ends of the steps taken; the start is the caller's.
        np.testing.assert_allclose(end.largest[number], np.max(single.knots.q[1:]), rtol=1e-13)


def test_lanes_that_do_not_go_are_left_alone():
    systems, starts = balls(4)
    status = jnp.asarray([0, int(Status.event), 0, int(Status.reached)], jnp.int32)
    end = flow_lanes(systems, starts, status, jnp.zeros((4, 1)), height, until=0.2, step=STEP, device="cpu")
    assert np.asarray(end.status).tolist() == [Status.reached, Status.event, Status.reached, Status.reached]
    assert np.asarray(end.state.t).tolist() == [0.2, 0.0, 0.2, 0.0]
    assert np.asarray(end.steps).tolist() == [7, 0, 7, 0]


@pytest.mark.parametrize("device", ["interpret", "cpu"])
def test_bounces_of_many_lanes_are_those_of_single_runs(device):
    systems, starts = balls(6)
    ends = run_lanes(systems, starts, height, until=1.5, step=STEP, device=device)
    assert (np.asarray(ends.status) == Status.reached).all()
    for number in range(6):
        single = FixedStep(STEP).run(lane(systems, number), lane(starts, number), 1.5)
        assert int(ends.events[number]) == len(single.events) > 0
        # Positions between bounces of 4 m/s located to rounding level: some 1e-15 s each.
        np.testing.assert_allclose(ends.state.q[number], single.end.q, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(ends.state.v[number], single.end.v, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("phase", np.linspace(0.0, 1.0, 7))
def test_a_guard_that_dips_to_zero_and_returns_within_a_step_is_handed_back(phase):
    turn = 1.0 + phase * STEP  # the speed of the spring vanishes here, and its size has a corner
    system = Oscillator((lambda x, v: jnp.abs(v) - 1e-9,))
    start = State.of(q=[jnp.cos(-turn)], v=[-jnp.sin(-turn)])
    stacked = jax.tree.map(lambda x: x[None], start)
    end = flow_lanes(system, stacked, jnp.zeros(1, jnp.int32), jnp.zeros((1, 1)), height, until=2.0, step=STEP)
    assert int(end.status[0]) == Status.doubtful
    assert turn - 4 * STEP < float(end.state.t[0]) <= turn


def test_masses_slide_to_rest_where_friction_stops_them():
    mu = jnp.asarray([0.1, 0.2, 0.3])
    like = sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [1.0], mu=0.1)

    def one(mu):
        system = eqx.tree_at(lambda s: s.mu, like, mu[None])
        return system, system.state(jnp.zeros((1, 2)), jnp.array([[0.6, 0.8]]))

    systems, starts = eqx.filter_vmap(one)(mu)
    ends = run_lanes(
        systems, starts, lambda system, state: system.places(state).speed, until=3.0, step=STEP, careful="dopri8"
    )  # fmt: skip
    assert (np.asarray(ends.status) == Status.reached).all()
    assert np.asarray(ends.events).tolist() == [1, 1, 1]
    assert (np.asarray(ends.state.mode) == 2).all()  # stick
    path = np.asarray(ends.state.q)[:, 0] @ np.array([0.6, 0.8])
    # v² / (2 mu g); the steps are exact for a constant deceleration.
    np.testing.assert_allclose(path, 1.0 / (2 * np.asarray(mu) * 9.81), rtol=1e-12)
    np.testing.assert_allclose(ends.state.ledger[:, 0], 0.5, rtol=1e-12)
    np.testing.assert_allclose(ends.largest[:, 0], 1.0, rtol=1e-15)
    # A lane at rest takes no more steps.
    assert (np.asarray(ends.steps) <= 1.0 / (np.asarray(mu) * 9.81) / STEP + 2).all()


def test_a_pair_in_a_bowl_moves_as_in_a_single_run():
    like = sl.systems.SlidingMasses(sl.surfaces.Sphere(1.0), [1.0, 2.0], [(0, 1)], mu=0.02)
    start = like.start([[0.3, 0.0], [0.4, 0.0]], [[0.0, 1.1], [0.0, 1.1 * 0.4 / 0.3]])
    mu = jnp.asarray([[0.01, 0.02], [0.03, 0.0]])
    systems = eqx.filter_vmap(lambda mu: eqx.tree_at(lambda s: s.mu, like, mu))(mu)
    starts = jax.tree.map(lambda x: jnp.stack([x, x]), start)

    def watch(system, state):
        return jnp.stack([jnp.max(system.places(state).speed), jnp.max(jnp.abs(system.forces(state).rod_force))])

    end = flow_lanes(
        systems, starts, jnp.zeros(2, jnp.int32), jnp.zeros((2, 2)), watch, until=1.0, step=0.01, like=like,
        varying=(False, False, True, False, False), device="interpret", threads=32,
    )  # fmt: skip
    assert (np.asarray(end.status) == Status.reached).all()
    for number in range(2):
        one = lane(systems, number)
        single = FixedStep(0.01).run(one, start, 1.0)
        # A hundred steps, each with some rounding errors of 1e-16.
        for found, expected in zip(
            (end.state.q, end.state.v, end.state.ledger),
            (single.end.q, single.end.v, single.end.ledger),
            strict=True,
        ):
            np.testing.assert_allclose(found[number], expected, rtol=1e-12, atol=1e-14)
        seen = jax.vmap(lambda state, one=one: watch(one, state))(
            jax.tree.map(lambda x: jnp.asarray(x[1:]), single.knots)
        )
        np.testing.assert_allclose(end.largest[number], seen.max(axis=0), rtol=1e-12)


def test_a_system_that_cannot_be_written_out_says_why():
    class Tall(Oscillator):
        def rate(self, state):
            matrix = jnp.eye(2) + state.q[0]
            return eqx.tree_at(lambda r: r.v, super().rate(state), -state.q * jnp.linalg.eigvalsh(matrix)[1])

    start = jax.tree.map(lambda x: x[None], State.of(q=[1.0], v=[0.0]))
    with pytest.raises(NotImplementedError, match="eigh"):
        flow_lanes(Tall(), start, jnp.zeros(1, jnp.int32), jnp.zeros((1, 1)), height, until=1.0, step=STEP)


def test_a_batch_by_the_kernel_ends_as_one_by_plain_steps():
    one = BouncingBall(jnp.asarray(0.5), jnp.asarray(9.81), True)
    empty = jax.tree.map(lambda _: None, one)
    # As a builder of samples hands them over: numpy arrays, None where a number is common to all.
    varying = eqx.tree_at(lambda s: s.restitution, empty, np.linspace(0.5, 0.9, 3), is_leaf=lambda x: x is None)
    shared = eqx.tree_at(lambda s: s.restitution, one, None)
    starts = jax.tree.map(np.asarray, balls(3)[1])
    zero = jnp.asarray(0.0)
    control = Control(zero, zero, jnp.asarray(STEP), zero, fixed=True, project=False)
    plan = batch.Plan(stepper("rk4"), control, height, 64, 100_000)
    plain = batch.run(varying, shared, starts, 1.2, plan)
    quick = batch._by_kernel(varying, shared, starts, 1.2, plan)
    assert (plain.status == Status.reached).all() and (quick.status == Status.reached).all()
    assert plain.events.tolist() == quick.events.tolist()
    # Bounces located to rounding level, some 1e-15 s each, at 5 m/s.
    np.testing.assert_allclose(quick.state.q, plain.state.q, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(quick.state.v, plain.state.v, rtol=1e-12, atol=1e-13)
