"""Events of toy systems against their exact times, and every promise of the event location."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.toys import BouncingBall, Clock, Oscillator, RootFlow, ball, clock_start

from saltus.engines import EventDriven, FixedStep
from saltus.hybrid import State

G = 9.81
FIRST = math.sqrt(2.0 / G)  # time of the first bounce from a height of 1 m


def until(x, at):
    return at - x


def below_level(x, v, level):
    return level - x


def bounce_time(restitution: float, n: int) -> float:
    """Exact time of bounce n (from 0)."""
    return FIRST * (1.0 + 2.0 * sum(restitution**k for k in range(1, n + 1)))


@pytest.mark.parametrize("restitution", [0.5, 0.8])
def test_ball_bounces_at_the_exact_times(restitution):
    events = EventDriven().run(ball(restitution), State.of(q=[1.0], v=[0.0]), 3.0).events
    for n, event in enumerate(events[:12]):
        # The promise is 1e-12; the motion is a polynomial, so only rounding is left.
        assert event.t == pytest.approx(bounce_time(restitution, n), rel=1e-13)


@pytest.mark.parametrize("restitution", [0.3, 0.5, 0.9])
def test_ball_rests_at_the_exact_accumulation_time(restitution):
    run = EventDriven().run(ball(restitution), State.of(q=[1.0], v=[0.0]), 10.0)
    last = run.events[-1]
    assert last.name == "floor_settled"
    assert last.t == pytest.approx(FIRST * (1 + restitution) / (1 - restitution), rel=1e-12)
    assert run.outcome.name == "finished"
    assert float(run.end.q[0]) == 0.0 and float(run.end.v[0]) == 0.0


def test_piling_up_without_a_resting_mode_is_a_named_outcome():
    run = EventDriven().run(ball(0.5, settles=False), State.of(q=[1.0], v=[0.0]), 10.0)
    assert run.outcome.name == "accumulation"
    assert "pile up at t = 1.3545709" in run.outcome.message


def test_elastic_ball_bounces_for_ever_and_ends_by_the_number_of_events():
    run = EventDriven(max_events=40).run(ball(1.0), State.of(q=[1.0], v=[0.0]), 1e6)
    assert run.outcome.name == "too_many_events" and len(run.events) == 40
    assert run.events[-1].t == pytest.approx(FIRST * 79, rel=1e-12)


@pytest.mark.parametrize("order", list(itertools.permutations([0.5, 1.0, 1.7])))
def test_earliest_guard_wins_in_any_listing_order(order):
    clock = Clock((until,) * 3, numbers=tuple(jnp.asarray(at) for at in order))
    run = EventDriven().run(clock, clock_start(), 2.0)
    assert [order[int(event.name[-1])] for event in run.events] == [0.5, 1.0, 1.7]
    assert [event.t for event in run.events] == pytest.approx([0.5, 1.0, 1.7], rel=1e-15)


def test_guard_that_dips_and_returns_within_one_step_is_found():
    # Below zero only for 2 * 0.01 around x = 3, in a step that covers all of it.
    run = EventDriven().run(Clock((lambda x: (x - 3.0) ** 2 - 1e-4,)), clock_start(), 10.0)
    assert [event.t for event in run.events] == pytest.approx([2.99], rel=1e-13)


def test_guard_that_oscillates_within_one_step_fires_at_every_fall():
    run = EventDriven().run(Clock((jnp.cos,)), clock_start(), 20.0)
    assert [event.t for event in run.events] == pytest.approx(
        [math.pi / 2, 5 * math.pi / 2, 9 * math.pi / 2], rel=1e-13
    )


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-9])
def test_grazing_guard_fires_if_it_goes_through_zero_and_not_if_it_misses(depth):
    through, missing = (
        EventDriven().run(Oscillator((below_level,), jnp.asarray(level)), State.of(q=[0.0], v=[1.0]), 6.0)
        for level in (1.0 - depth, 1.0 + depth)
    )
    assert len(through.events) == 1 and not missing.events
    # The time of a grazing event is ill conditioned: an error of 1e-11 in x is one of 1e-11 / sqrt(2 depth) in t.
    allowed = 1e-11 / math.sqrt(2 * depth) + 1e-11
    assert through.events[0].t == pytest.approx(math.asin(1.0 - depth), abs=allowed)


def test_nothing_fires_again_on_its_own_event():
    clock = Clock((lambda x: 1.0 - x,))
    run = EventDriven().run(clock, clock_start(), 5.0)
    assert len(run.events) == 1
    again = EventDriven().run(clock, run.events[0].after, 5.0)
    assert not again.events


def test_rising_crossing_does_not_fire():
    assert not EventDriven().run(Clock((lambda x: x - 1.0,)), clock_start(), 5.0).events


def test_guards_that_fall_at_the_same_instant_all_fire():
    run = EventDriven().run(Clock((lambda x: 1.0 - x, lambda x: 2.0 - 2.0 * x, lambda x: 3.0 - x)), clock_start(), 2.5)
    assert [event.name for event in run.events] == ["guard0", "guard1"]
    assert [event.t for event in run.events] == pytest.approx([1.0, 1.0], rel=1e-15)
    assert float(run.end.v[0]) == 2.0


def test_event_times_are_right_to_twelve_digits_for_a_curved_flow():
    spring = Oscillator((below_level,), jnp.asarray(0.3))
    run = EventDriven(rtol=1e-13, atol=1e-14).run(spring, State.of(q=[0.0], v=[1.0]), 60.0)
    exact = [math.asin(0.3) + 2 * math.pi * n for n in range(10)]
    assert [event.t for event in run.events] == pytest.approx(exact, rel=1e-12)


def test_step_that_leaves_the_domain_is_shortened_and_the_border_is_an_event():
    run = EventDriven().run(RootFlow(), State.of(q=[5.0], v=[0.0]), 100.0)
    assert run.outcome.name == "left_domain"
    # (x - 1)^1.5 falls by 3/4 per second: from 8 to 1/8.
    assert run.events[-1].t == pytest.approx((8.0 - 0.125) * 4.0 / 3.0, rel=1e-10)
    assert f"{run.events[-1].t:.3f}" in run.outcome.message


def test_state_at_a_jump_has_two_sides():
    run = EventDriven().run(ball(0.5), State.of(q=[1.0], v=[0.0]), 1.0)
    t = run.events[0].t
    before, after = run.at(t, side="before"), run.at(t, side="after")
    assert float(before.v[0]) == pytest.approx(-G * FIRST, rel=1e-13)
    assert float(after.v[0]) == pytest.approx(0.5 * G * FIRST, rel=1e-13)


def test_states_between_steps_are_as_right_as_the_steps():
    run = EventDriven(rtol=1e-12, atol=1e-13).run(Oscillator(), State.of(q=[0.0], v=[1.0]), 30.0)
    times = np.linspace(0.0, 30.0, 997)
    np.testing.assert_allclose(np.asarray(run.states(times).q[:, 0]), np.sin(times), atol=2e-11)


def test_rk4_converges_with_order_four_and_events_lie_on_its_own_solution():
    errors, spring = [], Oscillator((below_level,), jnp.asarray(0.3))
    for step in (0.1, 0.05, 0.025):
        run = FixedStep(step).run(spring, State.of(q=[0.0], v=[1.0]), 10.0)
        errors.append(abs(float(run.end.q[0]) - math.sin(10.0)))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (np.abs(orders - 4.0) < 0.15).all()


def test_fixed_steps_stay_on_their_grid_after_an_event():
    run = FixedStep(0.25).run(Clock((lambda x: 0.6 - x,)), clock_start(), 1.0)
    assert sorted(set(np.asarray(run.knots.t).tolist())) == pytest.approx([0.0, 0.25, 0.5, 0.6, 0.75, 1.0])


def test_same_run_gives_the_same_bits():
    first, second = (EventDriven().run(ball(0.7), State.of(q=[1.0], v=[0.2]), 2.0) for _ in range(2))
    assert np.array_equal(np.asarray(first.knots.q), np.asarray(second.knots.q))
    assert [e.t for e in first.events] == [e.t for e in second.events]


def test_nothing_compiles_again_when_only_numbers_change():
    EventDriven().run(ball(0.5), State.of(q=[1.0], v=[0.0]), 3.0)
    with jax.log_compiles(False):
        before = _compilations()
        EventDriven(rtol=1e-9).run(ball(0.6), State.of(q=[1.3], v=[0.1]), 2.0)
    assert _compilations() == before


def _compilations() -> int:
    from saltus.engines import loop

    programs = (loop._flow, loop._search, loop._search_briefly, loop._jump)
    return sum(one.plain._cached._cache_size() + len(one._named) for one in programs)


def test_chattering_at_one_instant_ends_instead_of_hanging():
    class Stubborn(BouncingBall):
        def bounce(self, state, index):
            return State(state.t, jnp.full_like(state.q, 1e-300), state.v, state.ledger, state.mode)

    run = EventDriven().run(Stubborn(jnp.asarray(0.5), jnp.asarray(G), settles=False), State.of(q=[1.0], v=[0.0]), 10.0)
    assert run.outcome.name == "accumulation"
