"""The chain: its tensions, its starts, its scenario, its pictures, and what it refuses."""

import equinox as eqx
import numpy as np
import pytest

import saltus as sl
from saltus.errors import ScenarioError
from saltus.laws.impact.engagement import ENGAGEMENTS, ChosenEngagement
from saltus.scenarios import entries, load
from saltus.simulation import observe


@eqx.filter_jit
def rate_of(chain, state):
    return chain.rate(state)


def dense_acceleration(chain, angle, rate, edge, edge_rate):
    """The corrected equations (2) of the article as one dense system, for equal or unequal pieces, no friction."""
    k, mass, length, g = len(angle), np.asarray(chain.mass), np.asarray(chain.length), float(chain.gravity)
    sums, table = np.cumsum(mass), mass[k + 1 :].sum()
    index = np.minimum.outer(np.arange(k), np.arange(k))
    weight = sums[index] * np.multiply.outer(length[:k], length[:k])
    turn = np.subtract.outer(angle, angle)
    r = np.hypot(*edge)
    e, spin = edge / r, (edge[0] * edge_rate[1] - edge[1] * edge_rate[0]) / r**2
    arm = sums[:k] * length[:k]
    matrix = np.zeros((k + 2, k + 2))
    matrix[:k, :k] = weight * np.cos(turn)
    matrix[:k, k], matrix[:k, k + 1] = -arm * np.sin(angle), arm * np.cos(angle)
    matrix[k:, :k] = matrix[:k, k:].T
    matrix[k:, k:] = sums[k] * np.eye(2) + table * np.outer(e, e)
    right = np.concatenate([
        -(weight * np.sin(turn)) @ rate**2 - arm * g * np.sin(angle),
        [arm * rate**2 @ np.cos(angle) + sums[k] * g, arm * rate**2 @ np.sin(angle)] - table * r * spin**2 * e,
    ])  # fmt: skip
    return np.linalg.solve(matrix, right)


@pytest.mark.parametrize("n, k", [(1, 0), (4, 2), (12, 9)])
def test_rate_is_that_of_the_dense_equations(n, k):
    random = np.random.default_rng(n)
    chain = sl.systems.Chain(n, mass=random.uniform(0.5, 2, n + 1), length=random.uniform(0.5, 2, n), gravity=9.81)
    angle, rate = random.normal(size=k), random.normal(size=k)
    edge, edge_rate = random.uniform(0.1, 0.3, 2), random.normal(size=2)
    found = np.asarray(rate_of(chain, chain.state_of(angle, edge, rate, edge_rate)).v)
    wanted = dense_acceleration(chain, angle, rate, edge, edge_rate)
    np.testing.assert_allclose(np.concatenate([found[:k], found[n : n + 2]]), wanted, rtol=1e-11, atol=1e-11)


def test_long_chain_has_a_finite_rate():
    chain = sl.systems.Chain(5000)
    state = chain.start(overhang=1000.5)
    assert int(state.mode[0]) == 1000
    assert np.isfinite(rate_of(chain, state).v).all()


def test_table_part_shares_the_pull_of_the_edge_link():
    chain = sl.systems.Chain(4, gravity=1.0)
    tension = np.asarray(observe(chain, chain.start(1.5))["tension"])
    # Two particles hang: all move with 2/5 g, so the links carry the masses behind them.
    np.testing.assert_allclose(tension, [0.6, 1.2, 0.8, 0.4], atol=1e-14)


def test_whole_links_over_the_edge_start_straight_down():
    chain = sl.systems.Chain(4, gravity=1.0)
    state = chain.start(2.0)
    assert int(state.mode[0]) == 2
    np.testing.assert_allclose(observe(chain, state)["position"][:3, 0], [2.0, 1.0, 0.0])


def test_state_from_particles_is_seen_as_given():
    chain = sl.systems.Chain(3, length=[1.0, 0.5, 2.0], gravity=1.0)
    position = np.array([[1.3, 0.2], [0.3, 0.2]])
    velocity = np.array([[0.1, 0.7], [0.1, 0.2]])
    seen = observe(chain, chain.state(position, velocity))
    np.testing.assert_allclose(seen["position"][:2], position, atol=1e-15)
    np.testing.assert_allclose(seen["velocity"][:2], velocity, atol=1e-15)


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: sl.systems.Chain(0), "whole number >= 1, got 0"),
        (lambda: sl.systems.Chain(3, mass=[1.0, 2.0]), "one per particle"),
        (lambda: sl.systems.Chain(3, length=[1.0, -2.0, 1.0]), "-2.0 at index 1"),
        (lambda: sl.systems.Chain(3, engagement="limt"), "Did you mean 'limit'"),
        (lambda: sl.systems.Chain(3, table_friction=0.5, static_friction=0.4), "must be >= `table_friction`"),
        (lambda: sl.systems.Chain(3).start(-1.0), "`overhang` must be > 0"),
        (lambda: sl.systems.Chain(3).start(3.5), "less than the chain of 3 m, got 3.5"),
        (lambda: sl.systems.Chain(3).start(edge=(0.0, 0.0)), "no direction is defined"),
        (lambda: sl.systems.Chain(3).start(edge=(0.5, 1.0)), "nearer than the link's length"),
        (lambda: sl.systems.Chain(3).start(), "either `overhang`"),
        (lambda: sl.systems.Chain(3).state([[5.0, 0.0], [0.5, 0.0]], np.zeros((2, 2))), "Link 1 is"),
    ],
)
def test_wrong_input_is_told_in_one_sentence(build, words):
    with pytest.raises(ValueError, match=words.replace("(", "\\(").replace("[", "\\[")):
        build()


@pytest.mark.parametrize("law", ["printed", "frozen"])
def test_laws_that_create_energy_warn(law):
    with pytest.warns(UserWarning, match="creates energy"):
        sl.systems.Chain(2, engagement=law)


@pytest.mark.parametrize(
    "override, words",
    [
        ("links=0", "`links` must be >= 1"),
        ("overhang=-1.0", "`overhang` must be > 0"),
        ("overhang=100.0", "less than the chain"),
        ("mass=[1.0, 2.0]", "11 of them"),
        ("engagement=limt", "Did you mean 'limit'"),
        ("solve.until=often", 'or "off"'),
        ("solve.links=wire", "Unknown"),
        ("lenght=2.0", "Did you mean 'length'"),
    ],
)
def test_wrong_scenario_is_told_in_one_sentence(override, words):
    with pytest.raises(ScenarioError, match=words):
        load("chain", [override]).scenario.assemble()


def test_every_chain_of_the_catalogue_can_be_built():
    chains = [name for name in entries() if name.startswith("chain")]
    assert len(chains) >= 8
    for name in chains:
        loaded = load(name)
        if loaded.scenario.kind == "chain" and loaded.scenario.engagement == "limit":
            system, start = loaded.scenario.assemble()
            assert np.isfinite(np.asarray(start.q)).all() and system.kind == "chain"


def test_result_names_the_law_and_its_crossings_and_can_be_drawn(tmp_path):
    run = load("chain", ["links=3", "overhang=0.1"]).scenario.simulate()
    data = run.to_dataset(times=60)
    assert data.attrs["engagement"] == "limit" and data.attrs["links"] == "rod"
    assert list(data.event_name.values).count("crossing") == 2 and data.event_name.values[-1] == "exit"
    assert (data.event_energy_loss.values[data.event_name.values == "crossing"] > 0).all()
    assert data.event_velocity_after.dims == ("event", "axis") and data.event_angle.attrs["units"] == "rad"
    assert {"position", "velocity", "tension", "off_table", "edge_force"} <= set(data)
    sl.views.save_figure(data, tmp_path / "chain.png")
    assert (tmp_path / "chain.png").stat().st_size > 10_000
    scene = sl.views.animation(data)
    artists = scene._func(5)  # one frame
    assert len(artists[0].get_xdata()) >= 4
    scene._draw_was_started = True  # only one frame was wanted


def test_chain_that_is_held_for_ever_says_so():
    run = load("chain-stuck", ["links=3", "overhang=0.05", "angle=0.0"]).scenario.simulate()
    assert run.outcome.name == "at_rest"


def test_command_line_warns_of_a_law_that_creates_energy_in_one_line(capsys):
    from saltus.cli.app import call

    assert call(["run", "chain-printed-law", "--set", "links=1"]) == 0
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1 and "creates energy" in told[0]


@pytest.mark.slow
def test_a_chain_with_room_for_more_links_moves_as_one_without():
    masses, lengths = [1.0, 2.0, 0.5, 1.5], [1.0, 0.7, 1.2]
    options = {"mass": masses, "length": lengths, "gravity": 9.81, "table_friction": 0.1, "ends_off_table": True}
    runs = []
    for room in (None, 7):
        chain = sl.systems.Chain(3, room=room, **options)
        runs.append(sl.simulate(chain, chain.start(edge=(0.3, 0.0), hanging=1), until=100.0, rtol=1e-12))
    exact, roomy = runs
    assert [event.name for event in roomy.events] == [event.name for event in exact.events]
    assert roomy.outcome.name == "finished"
    # Both runs are right to the tolerance; steps differ because errors are averaged over more numbers.
    np.testing.assert_allclose([e.t for e in roomy.events], [e.t for e in exact.events], rtol=1e-10)
    narrow, wide = (run.to_dataset(times=50) for run in runs)
    assert wide.position.shape[1:] == (8, 2)
    assert np.isnan(wide.position.values[:, 4:]).all() and np.isnan(wide.tension.values[:, 3:]).all()
    # The instants differ by 1e-10 of the time, hence the places by as much.
    np.testing.assert_allclose(wide.position.values[:, :4], narrow.position.values, atol=1e-7)
    np.testing.assert_allclose(wide.kinetic_energy, narrow.kinetic_energy, rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="`room` must be a whole number of links >= 3, got 2"):
        sl.systems.Chain(3, room=2)


@pytest.mark.parametrize("name", ENGAGEMENTS)
def test_a_chosen_law_is_that_law(name):
    law, chosen = ENGAGEMENTS[name](), ChosenEngagement(name)
    assert (chosen.name, chosen.creates_energy) == (law.name, law.creates_energy)
    one, other = eqx.filter_jit(law)(0.4, 3.0, 0.6, 0.1), eqx.filter_jit(chosen)(0.4, 3.0, 0.6, 0.1)
    # The same formulas in another program: rounding only.
    np.testing.assert_allclose(one.velocity, other.velocity, rtol=1e-14)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-13)
