"""Samples run together give what each gives alone, whatever their neighbours."""

import numpy as np
import pytest

from saltus.ensembles.compute import building, run_samples
from saltus.ensembles.compute.outputs import FAILED, OUTCOME_NAMES
from saltus.scenarios.keys import with_values
from saltus.scenarios.loader import load, validate

PAIR = {
    "kind": "sliding",
    "surface": {"type": "sphere", "radius": 1.0},
    "masses": [
        {"mass": 1.0, "position": [0.3, -0.1], "velocity": [0.0, 0.0]},
        {"mass": 1.0, "position": [0.3, 0.1], "velocity": [0.0, 0.0]},
    ],
    "rods": [{"between": [0, 1]}],
    "friction": {"mu": 0.1},
    "solve": {"until": 2.0, "rtol": 1e-9, "atol": 1e-11},
}


@pytest.fixture(scope="module")
def pair():
    return validate(PAIR)


@pytest.fixture(scope="module")
def friction():
    return {"friction.mu": np.random.default_rng(0).uniform(0.02, 0.3, 40), "masses.1.velocity.1": np.zeros(40)}


@pytest.fixture(scope="module")
def together(pair, friction):
    return run_samples.run(pair, friction)


def _agrees_with_single_runs(scenario, values, found, rows, rtol=1e-7):
    for row in rows:
        run = with_values(scenario, building.sample_values(values, row)).simulate()
        last = run.to_dataset(times=2).isel(time=-1)
        assert OUTCOME_NAMES[found["outcome"][row]] == run.outcome.name
        assert found["events"][row] == len(run.events)
        stopped = run.events[-1].t if not np.any(run.end.v) else float(run.end.t)
        np.testing.assert_allclose(found["stop_time"][row], stopped, rtol=1e-9)
        np.testing.assert_allclose(found["final_position"][row], last.position, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(found["energy_lost"][row], last.dissipated_energy, rtol=rtol, atol=1e-12)
        assert (found["final_mode"][row] == last["mode"].values).all()


def test_samples_that_stop_and_stick_end_as_single_runs_do(pair, friction, together):
    assert together["events"].min() >= 1
    # Two runs with rtol 1e-9 whose steps differ: 1e-7 of the state is ten times what was seen.
    _agrees_with_single_runs(pair, friction, together, range(3))


def test_extremes_of_a_sample_are_those_of_its_run(pair, friction, together):
    for row in range(2):
        run = with_values(pair, building.sample_values(friction, row)).simulate()
        data = run.to_dataset(times=20001)
        speed = float(np.sqrt((data.velocity**2).sum("axis")).max())
        # A parabola through quarters of a step of about 0.1 s; 1e-4 was seen.
        assert together["largest_speed"][row] == pytest.approx(speed, rel=3e-4)
        assert together["largest_rod_force"][row] == pytest.approx(float(abs(data.rod_force).max()), rel=3e-4)


def test_sample_gives_the_same_bits_whatever_its_neighbours(pair, friction, together):
    order = np.random.default_rng(1).permutation(40)[:17]
    again = run_samples.run(pair, {key: column[order] for key, column in friction.items()})
    for name, column in together.items():
        np.testing.assert_array_equal(column[order], again[name], err_msg=name)


def test_sample_that_cannot_be_is_failed_and_leaves_the_others_alone(pair, friction, together):
    some = {key: column[:6].copy() for key, column in friction.items()}
    some["friction.mu"][1:3] = -0.1, np.nan
    some["masses.1.velocity.1"][4] = 0.5  # along the rod, which is rigid: refused as the system is built
    counts = []
    found = run_samples.run(pair, some, counts.append)
    ended = [OUTCOME_NAMES[code] for code in found["outcome"]]
    assert ended == ["finished", FAILED, FAILED, "finished", FAILED, "finished"]
    assert np.isnan(found["run_out"][1])
    np.testing.assert_array_equal(found["final_position"][[0, 3, 5]], together["final_position"][[0, 3, 5]])
    assert sum(counts) == 6


def test_columns_say_what_run_returns(pair, together):
    about = run_samples.columns(pair)
    assert set(about) == set(together)
    for name, column in about.items():
        assert together[name].shape == (40, *column.shape)
        assert together[name].dtype == column.dtype
        assert column.units and column.long_name


def test_words_and_whole_numbers_are_values_too():
    chain = validate({"kind": "chain", "links": 2, "overhang": 0.1, "gravity": 1.0, "solve": {"rtol": 1e-8}})
    values = {"engagement": np.array(["limit", "plastic", "limit"], object), "links": np.array([2, 2, 3])}
    found = run_samples.run(chain, values)
    assert (found["events"] == [3, 3, 4]).all()
    assert found["energy_lost"][1] != found["energy_lost"][0]
    assert np.isfinite(found["final_position"][:2]).all()
    assert np.isnan(found["final_position"][2]).all()  # one particle more than the scenario has


@pytest.mark.slow
def test_constant_steps_run_together_too_and_see_masses_stop():
    start = {"masses": [{**PAIR["masses"][0], "velocity": [0.05, 0.2]}, {**PAIR["masses"][1], "velocity": [0.05, 0.2]}]}
    values = {"friction.mu": np.array([0.1, 0.15, 0.2])}
    stepping = validate({**PAIR, **start, "solve": {"until": 3.0, "method": "rk4", "step": 0.001}})
    stepped = run_samples.run(stepping, values)
    adaptive = run_samples.run(validate({**PAIR, **start, "solve": {"until": 3.0}}), values)
    assert (stepped["events"] == adaptive["events"]).all()
    assert stepped["events"].min() >= 1
    # Fourth order: 2.6e-9 m and 4e-7 s were seen, 16 times as much with twice the step.
    np.testing.assert_allclose(stepped["final_position"], adaptive["final_position"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(stepped["stop_time"], adaptive["stop_time"], rtol=0, atol=1e-6)
    _agrees_with_single_runs(stepping, values, stepped, [1], rtol=1e-9)
    again = run_samples.run(stepping, {"friction.mu": values["friction.mu"][[2, 0]]})
    for name, column in stepped.items():
        np.testing.assert_array_equal(column[[2, 0]], again[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("chain-friction", {"table_friction": (0.3, 0.5), "overhang": (0.055, 0.065)}),
        ("plane-spin-down", {"friction.mu": (0.1, 0.3)}),
        ("rails-to-rest", {"friction.mu": (0.1, 0.2), "start.velocity": (1.0, 2.0)}),
        ("butterfly-slip", {"friction.mu": (0.1, 0.3)}),
        ("alpine-block", {"friction.mu": (0.15, 0.3)}),
        ("ellipsoids", {"impact.restitution": (0.5, 1.0)}),
    ],
)
def test_every_kind_of_system_runs_as_an_ensemble(name, values):
    scenario = load(name).scenario
    rng = np.random.default_rng(0)
    drawn = {key: rng.uniform(*ends, size=4) for key, ends in values.items()}
    _agrees_with_single_runs(scenario, drawn, run_samples.run(scenario, drawn), (0, 3), rtol=1e-6)


@pytest.mark.slow
def test_masses_that_bounce_come_to_rest_within_a_batch():
    hill = {
        "kind": "sliding",
        "surface": {"type": "gaussian", "amplitude": 1.0, "width": 1.0},
        "masses": [{"mass": 1.0, "position": [-1.5, 0.1], "velocity": [5.0, 0.0], "mu": 0.2}],
        "solve": {"until": 8.0, "adhesion": False, "rtol": 1e-10, "atol": 1e-12},
    }
    scenario, values = validate(hill), {"solve.restitution": np.array([0.0, 0.1, 0.3, 0.6])}
    found = run_samples.run(scenario, values)
    assert (found["final_mode"] == 2).all() and (np.diff(found["stop_time"]) > 0.0).all()
    _agrees_with_single_runs(scenario, values, found, range(4))


def test_a_sample_less_accurate_than_promised_says_so_as_its_single_run_does():
    # The state is as small as the absolute tolerance in every other sample.
    scenario = validate({**PAIR, "friction": {"mu": 0.0}, "solve": {"until": 2.0, "rtol": 1e-9, "atol": 1e-3}})
    values = {"gravity": np.array([9.81, 1e-7, 9.81, 1e-7])}
    found = [OUTCOME_NAMES[code] for code in run_samples.run(scenario, values)["outcome"]]
    alone = [with_values(scenario, building.sample_values(values, row)).simulate().outcome.name for row in (0, 1)]
    assert found == alone * 2
    assert "inaccurate" in found
