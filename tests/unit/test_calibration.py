"""Parameters found again from what a run showed of them; errors in one sentence; what the data do not tell."""

import json

import numpy as np
import pytest

import saltus as sl
from saltus.calibration import Observation, Parameter
from saltus.calibration.uncertainty import Uncertainty
from saltus.cli.app import call
from saltus.scenarios import load, loads

BALL = loads("""
    kind = "plane_ball"
    mass = 0.17
    radius = 0.03
    friction = { mu = 0.2, model = "coulomb" }
    start = { velocity = [1.0, 0.4] }
    solve = { until = 0.6 }
""")
TIMES = np.linspace(0.02, 0.5, 13)


@pytest.fixture(scope="module")
def truth():
    return BALL.simulate()


def positions(run, sigma=None, seed=None):
    values = np.stack([np.asarray(run.system.observe(run.at(t))["position"]) for t in TIMES])[:, :2]
    if seed is not None:
        values = values + sigma * np.random.default_rng(seed).standard_normal(values.shape)
    return [Observation("position", values[:, k], TIMES, axis, sigma) for k, axis in enumerate("xy")]


def test_exact_data_give_the_exact_parameters(truth):
    observed = [Observation("time", truth.events[0].t, "rolls"), *positions(truth)]  # not in the order of the alphabet
    found = sl.calibrate(BALL, observed, {"friction.mu": 0.3, "start.velocity.0": 1.3})
    assert found.converged and found.derivatives == "replay"
    assert found["friction.mu"] == pytest.approx(0.2, abs=1e-8)
    assert found["start.velocity.0"] == pytest.approx(1.0, abs=1e-8)
    assert found.scenario.friction.mu == found["friction.mu"]
    assert abs(float(found.run.end.q[0]) - float(truth.end.q[0])) < 1e-8
    assert np.abs(found.residuals).max() < 1e-8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noisy_data_give_the_parameters_within_three_sigma(truth, seed):
    found = sl.calibrate(BALL, positions(truth, 0.002, seed), {"friction.mu": 0.3, "start.velocity.0": 1.2})
    assert found.converged and "do not fit" not in found.message
    for key, value in {"friction.mu": 0.2, "start.velocity.0": 1.0}.items():
        assert 0.0 < abs(found[key] - value) < 3.0 * found.sigma[key]
    assert found.degrees_of_freedom == 24 and 8.0 < found.chi_square < 48.0  # 99.9 % of all seeds
    assert -1.0 < found.correlation[0, 1] < 1.0  # a quicker ball with more friction goes as far


@pytest.mark.slow
def test_standard_deviations_cover_the_errors_as_often_as_they_should(truth):
    pulls = []
    for seed in range(30):
        found = sl.calibrate(BALL, positions(truth, 0.002, 100 + seed), ["friction.mu"])
        pulls.append((found["friction.mu"] - 0.2) / found.sigma["friction.mu"])
    # The mean of 30 pulls has a standard deviation of 0.18, their spread one of 0.13: four of each.
    assert abs(np.mean(pulls)) < 0.75
    assert 0.5 < np.std(pulls) < 1.5


def test_unknown_noise_is_estimated_from_what_is_left(truth):
    with_sigma = sl.calibrate(BALL, positions(truth, 0.002, 5), ["friction.mu"])
    without = [Observation(one.what, one.value, one.at, one.index) for one in positions(truth, 0.002, 5)]
    found = sl.calibrate(BALL, without, ["friction.mu"])
    assert found["friction.mu"] == pytest.approx(with_sigma["friction.mu"], rel=1e-6)
    assert found.noise == pytest.approx(0.002, rel=0.5)
    assert found.sigma["friction.mu"] == pytest.approx(with_sigma.sigma["friction.mu"] * found.noise / 0.002, rel=1e-6)


def test_parameter_without_influence_is_named(truth):
    found = sl.calibrate(BALL, positions(truth, 0.002, 1), {"friction.mu": 0.25, "mass": None})
    assert found.undetermined == ("mass",)
    assert "do not depend on `mass`" in found.message
    assert found["mass"] == 0.17 and found.sigma["mass"] == np.inf
    assert 0.0 < found.sigma["friction.mu"] < 0.1


def test_parameters_that_only_act_together_are_named(truth):
    # Friction and gravity enter as their product alone.
    found = sl.calibrate(BALL, positions(truth, 0.002, 1), ["friction.mu", "gravity"])
    assert set(found.undetermined) == {"friction.mu", "gravity"}
    assert "do not determine `friction.mu` and `gravity` apart" in found.message


def test_data_of_another_law_are_said_not_to_fit(truth):
    wrong = [Observation("position", np.asarray(one.value) ** 1.3, TIMES, one.index, 0.001) for one in positions(truth)]
    assert "do not fit the scenario" in sl.calibrate(BALL, wrong, ["friction.mu"]).message


def test_parameter_stays_within_its_bounds(truth):
    found = sl.calibrate(BALL, positions(truth, 0.002, 1), {"friction.mu": Parameter(0.3, min=0.25, max=0.4)})
    assert found["friction.mu"] == 0.25 and "stopped at a bound" in found.message


def test_dataset_of_a_run_can_be_fitted(truth):
    data = truth.to_dataset(times=TIMES)[["position", "jump_side"]]
    found = sl.calibrate(BALL, data.isel(axis=[0, 1, 2]), {"friction.mu": 0.3})
    assert found["friction.mu"] == pytest.approx(0.2, abs=1e-8)
    assert len(found.observed) == 3 * len(TIMES)


def test_result_shows_itself(truth):
    found = sl.calibrate(BALL, positions(truth, 0.002, 1), {"friction.mu": 0.25, "mass": None})
    assert "friction.mu = 0.2" in repr(found) and "±" in repr(found) and "not determined" in repr(found)
    assert "<table>" in found._repr_html_() and "not determined" in found._repr_html_()
    assert json.loads(json.dumps(found.facts()))["sigma"]["mass"] is None


GOOD = {"what": "position", "value": 0.1, "at": 0.2, "index": "x"}


@pytest.mark.parametrize(
    "observed, words",
    [
        ({**GOOD, "what": "positon"}, "Did you mean 'position'"),
        ({**GOOD, "index": "w"}, "no axis 'w'"),
        ({**GOOD, "index": ("x", 0, 1)}, "has 3 entries"),
        ({**GOOD, "value": [0.1, 0.2]}, r"must have the shape \(\)"),
        ({**GOOD, "value": "far"}, "must be numbers"),
        ({**GOOD, "sigma": 0.0}, "`sigma` of 'position' must be > 0"),
        ({**GOOD, "at": "the end"}, 'a time, "end" or an event'),
        ({**GOOD, "at": 7.0}, "observation at t = 7 s"),
        ({**GOOD, "at": "lands"}, "does not happen"),
        ({**GOOD, "when": 7.0}, "Unknown part 'when'"),
        ({"what": "position"}, "needs `value`"),
        ([GOOD, {**GOOD, "sigma": 1.0}], "for all of them, or for none"),
        ([], "no observations"),
        (7, "must be observations"),
        ({**GOOD, "value": float("nan")}, "no observations"),
    ],
)
def test_observation_that_makes_no_sense_is_told(observed, words):
    with pytest.raises(sl.ScenarioError, match=words):
        sl.calibrate(BALL, observed, ["friction.mu"])


@pytest.mark.parametrize(
    "parameters, words",
    [
        (["friction.nu"], "no key `friction.nu`"),
        (["start.velocity"], "Name one of them, such as `start.velocity.0`"),
        (["friction.model"], "cannot be changed little by little"),
        (["friction.reference_load"], "Give a first guess"),
        ({"friction.mu": "much"}, "first guess or with `min` and `max`"),
        ({"friction.mu": {"low": 0.0}}, "Unknown part 'low'"),
        ({"friction.mu": {"min": 1.0, "max": 0.0}}, "must be less than its `max`"),
        ({"friction.mu": Parameter(0.3, max=0.2)}, "must lie within"),
        ({"friction.mu": -0.3}, "friction.mu.*>= 0"),
        ([], "no parameters"),
        (["friction.mu", "start.velocity.0"], "2 parameters but only 1"),
    ],
)
def test_parameter_that_makes_no_sense_is_told(parameters, words):
    with pytest.raises(sl.ScenarioError, match=words):
        sl.calibrate(BALL, GOOD, parameters)


def test_undetermined_directions_come_from_the_jacobian():
    known = Uncertainty.of(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, -1.0]]))
    assert known.rank == 2 and known.open == [[0, 1]]
    assert np.isinf(known.sigma[:2]).all() and np.isfinite(known.sigma[2])
    full = Uncertainty.of(np.diag([1.0, 10.0]))
    assert np.allclose(full.sigma, [1.0, 0.1]) and np.allclose(full.correlation(), np.eye(2))


def written(folder, text):
    path = folder / "seen.csv"
    path.write_text(text)
    return str(path)


def test_command_line_fits_a_csv_file(truth, tmp_path, capsys):
    (tmp_path / "ball.toml").write_text(
        'kind = "plane_ball"\nmass = 0.17\nradius = 0.03\nfriction = { mu = 0.3, model = "coulomb" }\n'
        "start = { velocity = [1.0, 0.4] }\nsolve = { until = 0.6 }\n"
    )
    x = float(truth.at(0.1).q[0])
    rows = f"position, 0.1, x, {x!r}, 0.001\ntime,rolls,,{truth.events[0].t!r},0.001\n"
    seen = written(tmp_path, f"# a ball\nwhat, at, index, value, sigma\n{rows}")
    out = tmp_path / "fitted.toml"
    arguments = ["calibrate", str(tmp_path / "ball.toml"), "--observed", seen, "--fit", "friction.mu"]
    assert call([*arguments, "--json", "--quiet", "--out", str(out)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["values"]["friction.mu"] == pytest.approx(0.2, abs=1e-8) and facts["observations"] == 2
    assert load(out).scenario.friction.mu == facts["values"]["friction.mu"]
    assert call([*arguments, "--quiet", "--max", "friction.my=1"]) == 2
    assert call(arguments) == 0
    assert "friction.mu" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "holds no observations"),
        ("what,value\nposition,1\n", "no column 'at'"),
        ("what,at,valu\nposition,1,2\n", "Did you mean 'value'"),
        ("what,at,value\n\nposition,1,much\n", "line 3 of seen.csv must be a number"),
        ("what,at,value\nposition,1,2,3\n", "more entries than columns"),
    ],
)
def test_csv_file_that_makes_no_sense_is_told_with_its_line(text, words, tmp_path, capsys):
    assert call(["calibrate", "billiard-roll", "--observed", written(tmp_path, text), "--fit", "friction.mu"]) == 2
    assert words in capsys.readouterr().err


def test_missing_csv_file_is_told(capsys):
    assert call(["calibrate", "billiard-roll", "--observed", "nowhere.csv", "--fit", "friction.mu"]) == 2
    assert "Cannot read the observations" in capsys.readouterr().err


@pytest.mark.slow
def test_restitution_follows_from_what_bodies_do_after_their_impact():
    scenario = load("ellipsoids", ["impact.restitution=0.8"]).scenario
    run = scenario.simulate()
    observed = [Observation("velocity", run.system.observe(run.end)["velocity"], "end"),
                Observation("time", run.events[0].t, "impact")]  # fmt: skip
    found = sl.calibrate(scenario, observed, {"impact.restitution": 0.5, "bodies.1.velocity.0": 1.6})
    assert found["impact.restitution"] == pytest.approx(0.8, abs=1e-8)
    assert found["bodies.1.velocity.0"] == pytest.approx(1.683, abs=1e-8)


@pytest.mark.slow
def test_raft_is_fitted_by_differences():
    scenario = loads("""
        kind = "sliding"
        surface = { type = "plane", slope_x = -0.3 }
        friction = { mu = 0.1 }
        masses = [{ mass = 1.0, position = [0.0, 0.0] }, { mass = 1.0, position = [0.0, 1.0] }]
        rods = [{ between = [0, 1], stiffness = 100.0 }]
        solve = { until = 0.5 }
    """)
    run = scenario.simulate()
    seen = Observation("position", run.system.observe(run.at(0.4))["position"], 0.4)
    found = sl.calibrate(scenario, seen, {"friction.mu": 0.15})
    assert found.derivatives == "differences"
    assert found["friction.mu"] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.slow
def test_key_that_cannot_be_traced_is_fitted_by_differences():
    scenario = loads("""
        kind = "sliding"
        surface = { type = "paraboloid", a = 0.5, b = 0.3 }
        release = { points = [[1.0, 0.2]], mass = 1.0, mu = 0.0 }
        solve = { until = 0.5 }
    """)
    run = scenario.simulate()
    seen = Observation("position", run.system.observe(run.end)["position"])
    found = sl.calibrate(scenario, seen, {"release.points.0.0": 0.9})
    assert found.derivatives == "differences"
    assert found["release.points.0.0"] == pytest.approx(1.0, abs=1e-7)
