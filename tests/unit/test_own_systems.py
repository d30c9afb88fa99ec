"""Systems made of functions: states of any form, modes, results, many runs, and what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import own

import saltus as sl
from saltus import views
from saltus.hybrid import Guard, simulate_many


@pytest.fixture(scope="module")
def run():
    ball = own.ball()
    return sl.simulate(ball, ball.start(), until=3.0)


def test_a_ball_of_two_functions_bounces_at_the_exact_times(run):
    first = np.sqrt(2.0 / 9.81)
    times = first * (1.0 + 2.0 * np.cumsum([0.0, 0.9, 0.81, 0.729]))
    np.testing.assert_allclose([event.t for event in run.events], times, rtol=1e-14)


def test_results_are_named_after_the_parts_of_the_state(run):
    data = run.to_dataset(times=11)
    assert {"height", "speed", "energy", "event_time"} <= set(data.variables)
    assert data.height.attrs["units"] == "m" and data.energy.attrs["units"] == "J"
    assert float(data.energy[0]) == pytest.approx(9.81)
    assert len(views.figure(data).axes) == 3


def test_the_derivative_of_the_height_by_the_restitution_is_that_of_the_closed_form(run):
    def height(p):
        return run.system.tree(run.replay(run.system.with_parameters(p)).end)["height"]

    found = jax.grad(height)(run.system.parameters)
    # After n = 4 bounces: h = v tau - g tau^2 / 2, v = e^n v0, tau = t - t0 (1 + 2 (e + e^2 + e^3)).
    e, g, t = 0.9, 9.81, 3.0
    t0, v0 = np.sqrt(2 / g), np.sqrt(2 * g)
    tau = t - t0 * (1 + 2 * (e + e**2 + e**3))
    dtau = -2 * t0 * (1 + 2 * e + 3 * e**2)
    assert float(found["e"]) == pytest.approx(4 * e**3 * v0 * tau + (e**4 * v0 - g * tau) * dtau, rel=1e-11)


def test_the_derivative_of_a_run_that_a_guard_ends_is_right():
    """It once aborted the process: the last segment had no step, and only empty parts were moved."""
    shot = sl.hybrid.system(
        lambda t, y: {"x": y["v"], "v": jnp.array([0.0, -9.81])},
        {"x": jnp.array([0.0, 1.0]), "v": jnp.array([7.0, 7.0])},
        [Guard("ground", lambda t, y: y["x"][1], ends="finished")],
    )
    run = sl.simulate(shot, shot.start(), until=10.0)
    assert run.outcome.name == "finished" and len(run.events) == 1

    def reach(v):
        return shot.tree(run.replay(start=shot.start({"v": jnp.stack([v, v])})).end)["x"][0]

    root = np.sqrt(49.0 + 2 * 9.81)
    flight = (7.0 + root) / 9.81
    wanted = flight + 7.0 * (1 + 7.0 / root) / 9.81
    assert float(jax.grad(reach)(7.0)) == pytest.approx(wanted, rel=1e-10)  # the tolerance of the run


def test_modes_have_rates_of_their_own_and_guards_lead_from_one_to_the_other():
    mass = own.stick_slip()
    run = sl.simulate(mass, mass.start(), until=20.0)
    names = [event.name for event in run.events]
    assert names[:4] == ["tears_loose", "sticks", "tears_loose", "sticks"]
    times = np.array([event.t for event in run.events])
    # Slip: x = 1 + cos s + sin s from x = 2, v = 1, until v = 1 again: s = 3 pi / 2; then x = 0, and it sticks for 2 s.
    np.testing.assert_allclose(np.diff(times)[:4], [1.5 * np.pi, 2.0, 1.5 * np.pi, 2.0], rtol=1e-11)
    data = run.to_dataset(times=20)
    assert data.attrs["mode_names"] == "stick, slip" and set(data.mode.values) == {0, 1}
    assert isinstance(mass.tree(run.end), own.Mass)


def test_one_guard_watches_many_things_and_its_jump_is_told_which():
    beads = own.beads()
    run = sl.simulate(beads, beads.start(), until=0.8)
    assert [event.index for event in run.events] == [0, 1, 2]
    np.testing.assert_allclose([event.t for event in run.events], np.sqrt(2 * np.array([1.0, 2.0, 3.0]) / 9.81))


def test_where_events_pile_up_the_guard_tells_what_follows():
    ball = sl.hybrid.system(
        {"flight": lambda t, y: jnp.stack([y[1], -10.0]), "rest": lambda t, y: jnp.zeros(2)},
        jnp.array([1.0, 0.0]),
        [
            Guard(
                "floor", lambda t, y: y[0], jump=lambda t, y: y * jnp.array([1.0, -0.5]), armed="flight",
                settle=(lambda t, y: jnp.zeros(2), "rest"),
            )
        ],
    )  # fmt: skip
    run = sl.simulate(ball, ball.start(), until=5.0)
    assert run.outcome.name == "finished" and run.events[-1].name == "floor_settled"
    assert run.events[-1].t == pytest.approx(np.sqrt(0.2) * 3.0, rel=1e-12)  # t0 (1 + e) / (1 - e)
    np.testing.assert_array_equal(ball.tree(run.end), 0.0)


def test_numbers_inside_a_module_that_is_a_rate_are_differentiable():
    class Decay(eqx.Module):
        constant: jax.Array

        def __call__(self, t, y):
            return -self.constant * y

    made = sl.hybrid.system(Decay(jnp.asarray(0.7)), 1.0)
    run = sl.simulate(made, made.start(), until=2.0)
    slope = eqx.filter_grad(lambda s: s.tree(run.replay(s).end))(made).rates[0].numbers[0]
    assert float(slope) == pytest.approx(-2.0 * np.exp(-1.4), rel=1e-9)


def test_many_runs_give_what_single_runs_give(run):
    e = np.linspace(0.8, 0.95, 5)
    many = simulate_many(run.system, run.system.start(), 3.0, parameters={"e": e})
    for k in (0, 4):
        one = run.system.with_parameters({"e": e[k]})
        alone = sl.simulate(one, one.start(), until=3.0)
        assert many.n_events[k] == len(alone.events)
        # One ball is near the top of a bounce: its speed is a small difference of such as 4 m/s, with their rounding.
        np.testing.assert_allclose(many.end.q[k], alone.end.q, rtol=1e-12, atol=1e-13)
    assert set(many.outcomes) == {"finished"}
    starts = jax.vmap(lambda h: run.system.start({"height": h}))(jnp.array([0.5, 1.0]))
    assert simulate_many(run.system, starts, np.array([1.0, 2.0])).end.t.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: sl.hybrid.system(own._fall, {"a": "b"}), "must be a number or an array"),
        (lambda: sl.hybrid.system(own._fall, {}), "at least one number"),
        (lambda: sl.hybrid.system(own._fall, {"mode": 1.0}), "cannot be called 'mode'"),
        (lambda: sl.hybrid.system(own._fall, 1.0, [Guard("a", 3)]), "must be a function"),
        (lambda: sl.hybrid.system(own._fall, 1.0, [Guard("a", abs), Guard("a", abs)]), "Two guards are called 'a'"),
        (lambda: sl.hybrid.system(own._fall, 1.0, [Guard("a", abs, to="b")]), "Unknown mode 'b'"),
        (lambda: sl.hybrid.system(own._fall, 1.0, [Guard("a", abs, ends="landed")]), "landed"),
        (lambda: sl.hybrid.system(own._fall, 1.0, units={"z": "m"}), "Unknown result 'z'"),
        (lambda: own.ball().with_parameters({"k": 1.0}), "Unknown parameter 'k'"),
        (lambda: own.ball().start({"hight": 1.0}), "Did you mean 'height'"),
        (lambda: simulate_many(own.ball(), own.ball().start(), 1.0), "nothing to run many times"),
    ],
)
def test_what_makes_no_system_is_refused_in_a_sentence(made, told):
    with pytest.raises((TypeError, ValueError), match=told):
        made()


def test_a_rate_of_another_form_is_told_with_both_forms():
    made = sl.hybrid.system(lambda t, y: {"height": y["speed"]}, {"height": 1.0, "speed": 0.0})
    with pytest.raises(TypeError, match="The rate must have the form of the state"):
        sl.simulate(made, made.start(), until=1.0)


def test_a_function_that_hides_a_traced_number_is_refused():
    def end(e):
        return sl.hybrid.system(lambda t, y: -e * y, 1.0).start().q[0]

    with pytest.raises(ValueError, match="Give such numbers as `parameters`"):
        jax.grad(end)(0.5)


def test_a_guard_hands_on_all_that_it_says():
    """`winding` and `likely` were once dropped without a word."""
    flags = {"border": True, "singular": True, "winding": True, "ends": "left_domain", "message": "gone"}
    said = Guard(
        "wall", lambda t, y, p: y, armed="flow", **flags, to="flow", likely=lambda t, y, p: y > p, settle="flow",
        jump=lambda t, y, p: -y,
    )  # fmt: skip
    made = sl.hybrid.system(lambda t, y, p: y, 1.0, [said], parameters=0.5)
    (given,), start = made.guards(), made.start()
    assert {name: getattr(given, name) for name in flags} == flags and given.name == "wall"
    assert given.likely(start) and not given.likely(made.start(0.25))
    assert bool(given.armed(start)) and float(given.function(start)) == 1.0
    assert callable(given.jump) and given.jump(start, 0).q == -1.0 and given.settle(start, 0).q == 1.0
    untold = made.start(), sl.hybrid.system(lambda t, y: y, 1.0, [Guard("wall", lambda t, y: y)]).guards()[0]
    assert not untold[1].likely(untold[0]) and untold[1].settle is None
