"""Many lanes with constant steps: the kernel does what a single run does."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.toys import BouncingBall, Oscillator, ball

import saltus as sl
from saltus.engines import EventDriven, FixedStep, batch
from saltus.engines.batch_constant import run_lanes
from saltus.engines.kernel import flow_lanes
from saltus.engines.step_control import ConstantSteps, steps_of
from saltus.engines.steppers import stepper
from saltus.engines.trial import Status
from saltus.hybrid import State
from saltus.numerics.scalars import CannotScalariseError

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
def test_lanes_move_as_single_runs_until_a_shortest_step_may_hold_an_event(device):
    systems, starts = balls(5)
    going = jnp.zeros(5, jnp.int32)
    end = flow_lanes(
        systems, starts, going, jnp.zeros((5, 1)), height, until=2.0, step=STEP, device=device, threads=32,
        like=ball(0.5), varying=(True, False),
    )  # fmt: skip
    assert (np.asarray(end.status) == Status.doubtful).all()
    for number in range(5):
        t, first_hit = float(end.state.t[number]), float(np.sqrt(2 * starts.q[number, 0] / 9.81))
        # Halved 28 times; the hit is within it, or a step later where the guard is only near zero.
        shortest, rounding = STEP * 2.0**-28, 1e-15
        assert float(end.t_next[number]) == pytest.approx(t + shortest, abs=rounding)
        assert t - rounding < first_hit <= t + 2 * shortest
        single = FixedStep(STEP).run(lane(systems, number), lane(starts, number), t)
        np.testing.assert_allclose(end.state.q[number], single.end.q, atol=1e-14)
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
    ends = run_lanes(systems, starts, height, until=1.3, step=STEP, device=device)
    assert (np.asarray(ends.status) == Status.reached).all()
    for number in range(6):
        single = FixedStep(STEP).run(lane(systems, number), lane(starts, number), 1.3)
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
    # Ten such steps of fourth order are right to 1e-8 s.
    assert float(end.state.t[0]) == pytest.approx(turn, abs=1e-8)


@pytest.mark.slow
def test_masses_slide_to_rest_where_friction_stops_them():
    mu = jnp.asarray([0.1, 0.2, 0.3])
    like = sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [1.0], mu=0.1)

    def one(mu):
        system = eqx.tree_at(lambda s: s.mu, like, mu[None])
        return system, system.state(jnp.zeros((1, 2)), jnp.array([[0.6, 0.8]]))

    systems, starts = eqx.filter_vmap(one)(mu)
    ends = run_lanes(systems, starts, lambda system, state: system.places(state).speed, until=3.0, step=STEP)
    assert (np.asarray(ends.status) == Status.reached).all()
    assert np.asarray(ends.events).tolist() == [1, 1, 1]
    assert (np.asarray(ends.state.mode) == 2).all()  # stick
    path = np.asarray(ends.state.q)[:, 0] @ np.array([0.6, 0.8])
    # v² / (2 mu g); the steps are exact for a constant deceleration.
    np.testing.assert_allclose(path, 1.0 / (2 * np.asarray(mu) * 9.81), rtol=1e-12)
    np.testing.assert_allclose(ends.state.ledger[:, 0], 0.5, rtol=1e-12)
    np.testing.assert_allclose(ends.largest[:, 0], 1.0, rtol=1e-15)
    # Towards the stop a few steps of each length; at rest no more.
    assert (np.asarray(ends.steps) <= 1.0 / (np.asarray(mu) * 9.81) / STEP + 6 * 28).all()


@pytest.mark.slow
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
    with pytest.raises(CannotScalariseError, match="eigh"):
        flow_lanes(Tall(), start, jnp.zeros(1, jnp.int32), jnp.zeros((1, 1)), height, until=1.0, step=STEP)


def test_a_system_that_cannot_be_written_out_in_another_mode_is_refused_before_the_first_step():
    class Resting(BouncingBall):
        def rate(self, state):
            def resting():
                return jnp.linalg.eigvalsh(jnp.eye(2) + state.q[0])[:1]

            flying = super().rate(state)
            return eqx.tree_at(lambda r: r.v, flying, jax.lax.cond(state.mode == 0, lambda: flying.v, resting))

    system, start = Resting(jnp.asarray(0.5), jnp.asarray(9.81)), State.of(q=[1.0], v=[0.0])
    one = jax.tree.map(lambda x: x[None], (system, start))
    going, none = jnp.zeros(1, jnp.int32), jnp.zeros((1, 1))
    # In flight nothing stands in the way, and this run never comes to rest; another in its batch might.
    assert float(flow_lanes(*one, going, none, height, until=0.1, step=STEP).state.t[0]) == 0.1
    with pytest.raises(CannotScalariseError, match="eigh"):
        run_lanes(*one, height, until=0.1, step=STEP)


@pytest.mark.parametrize(
    "engine",  # drivers with constant steps are compared with single runs by tests/conformance/test_engines.py, too
    [
        pytest.param(FixedStep(STEP), marks=pytest.mark.slow),
        pytest.param(FixedStep(STEP, project=True), marks=pytest.mark.slow),
        EventDriven(),
    ],
)
def test_balls_of_a_batch_bounce_as_in_single_runs(engine):
    # As a builder of samples hands them over: numpy arrays, None where a number is common to all.
    one = BouncingBall(jnp.asarray(0.5), jnp.asarray(9.81), True)
    empty = jax.tree.map(lambda _: None, one)
    restitution = np.linspace(0.5, 0.9, 3)
    varying = eqx.tree_at(lambda s: s.restitution, empty, restitution, is_leaf=lambda x: x is None)
    shared = eqx.tree_at(lambda s: s.restitution, one, None)
    starts = jax.tree.map(np.asarray, balls(3)[1])
    fixed = isinstance(engine, FixedStep)
    constant = ConstantSteps(jnp.asarray(STEP), jnp.asarray(0.0), project=fixed and engine.project)
    control = constant if fixed else steps_of(1e-10, 1e-12, None, 0.0)
    settings = batch.BatchSettings(stepper("rk4" if fixed else "dopri8"), control, height, 64, 100_000)
    until, goes = np.array([1.2, 1.3, 1.1]), np.array([True, True, False])
    ended = []
    lanes = batch.run(varying, shared, starts, until, settings, ended.append, goes)
    assert (lanes.status == Status.reached).all() and sum(ended) == 2
    for number in range(2):
        single = engine.run(ball(restitution[number]), lane(starts, number), until[number])
        assert lanes.events[number] == len(single.events) > 0
        # Bounces located to rounding level, some 1e-15 s each, at 5 m/s; adaptive steps do not change that.
        np.testing.assert_allclose(lanes.state.q[number], single.end.q, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(lanes.state.v[number], single.end.v, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(lanes.state.q[2], starts.q[2])
    assert lanes.events[2] == 0


def test_a_lane_with_more_events_or_steps_than_allowed_is_given_up():
    systems, starts = balls(3)
    few_events = run_lanes(systems, starts, height, until=3.0, step=STEP, max_events=2)
    assert (np.asarray(few_events.status) == Status.full).all()
    assert (np.asarray(few_events.events) == 2).all()
    few_steps = run_lanes(systems, starts, height, until=3.0, step=STEP, max_steps=8)
    assert (np.asarray(few_steps.status) == Status.full).all()
