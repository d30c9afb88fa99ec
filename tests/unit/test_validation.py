import importlib
import json
import math

import numpy as np
import pytest

import saltus
from saltus import validation
from saltus.cli import app
from saltus.errors import ScenarioError
from saltus.validation import Check, difference, fact, runner
from saltus.validation.parts import parts

STATE = {
    "surface": {"kind": "plane", "formula": "sx*x + sy*y", "params": {"sx": 0.0, "sy": 0.0}},
    "g": 10.0, "m": [2.0], "mu": [0.5], "rods": [], "friction_law": "abs", "q": [0.0, 0.0], "v": [1.0, 0.0],
    "h": [], "N": [20.0], "acc": [[-5.0, 0.0, 0.0]],
}  # fmt: skip


def write(path, cases, topic="sliding"):
    path.write_text(json.dumps({"topic": topic, "cases": cases}))
    return path


def instants(**changes):
    return {"id": "block", "group": "instants", "states": [{**STATE, **changes}]}


def test_a_check_is_ok_within_its_tolerance_and_never_with_nan():
    assert Check("a", 1e-11, 1e-10).ok and Check("a", 1e-11, 1e-10).ratio == pytest.approx(0.1)
    assert not Check("a", 2e-10, 1e-10).ok
    assert not Check("a", math.nan, 1e-10).ok and Check("a", math.nan, 1e-10).ratio == math.inf
    assert Check("a", 0.0, 0.0).ok and Check("a", 0.0, 0.0).ratio == 0.0
    assert fact("a", True).ok and not fact("a", False).ok


def test_the_largest_difference_counts():
    assert difference("a", [1.0, 2.0], [1.0, 2.5], 1.0).error == 0.5
    assert difference("a", [], [], 1.0).error == 0.0
    assert not difference("a", [1.0], [1.0, 2.0], 1.0).ok


def test_what_is_undefined_must_be_undefined():
    assert difference("a", [math.nan, 1.0], [None, 1.0], 0.0).ok
    assert not difference("a", [0.0, 1.0], [None, 1.0], 1e9).ok
    assert not difference("a", [math.nan, 1.0], [0.0, 1.0], 1e9).ok


def test_right_and_wrong_cases_are_told_apart(tmp_path, capsys):
    right = write(tmp_path / "right.json", [instants()])
    assert app.call(["validate", str(right)]) == 0
    out = capsys.readouterr().out
    assert "instants" in out and "ok" in out and "FAIL" not in out

    wrong = write(tmp_path / "wrong.json", [instants(), instants(N=[20.0 + 1e-9])])
    assert app.call(["validate", str(wrong)]) == 1
    out = capsys.readouterr().out
    assert "FAIL" in out and "normal force of state 0" in out

    assert app.call(["validate", str(wrong), "--json"]) == 1
    (group,) = json.loads(capsys.readouterr().out)
    assert group["cases"] == 2 and not group["ok"] and len(group["failures"]) == 1


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"id": "a", "group": "instants"}, "the case has no 'states'"),
        (instants(m=[-1.0]), "raised ValueError: `mass` must be > 0"),
        ({"id": "a", "group": "instants", "states": []}, "nothing could be checked"),
    ],
)
def test_a_case_that_cannot_be_run_fails_and_says_why(tmp_path, case, words):
    (result,) = validation.run(validation.read([write(tmp_path / "a.json", [case])]))
    assert not result.checks[0].ok
    assert words in result.checks[0].what


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "as JSON"),
        ("[]", "needs `topic` and a list `cases`"),
        ('{"topic": "slidng", "cases": []}', "Did you mean 'sliding'?"),
        ('{"topic": "sliding", "cases": [{"group": "instant"}]}', "Did you mean 'instants'?"),
        ('{"topic": "sliding", "cases": [3]}', "unknown group"),
        ('{"topic": "sliding", "cases": []}', "There are no reference cases"),
    ],
)
def test_files_that_are_no_reference_cases_are_refused(tmp_path, content, words):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(ScenarioError, match="^[^\n]+$") as caught:
        validation.read([tmp_path / "a.json"])
    assert words in str(caught.value)


MOTION = {
    "group": "trajectory", "g": 9.81, "m": [2.0], "mu": [0.0], "rods": [], "friction_law": "abs", "model": "full",
    "q0": [0.0, 0.0], "accuracy": {"stated_abs": 1e-12},
}  # fmt: skip


def test_a_motion_may_be_known_at_its_lift_off_or_its_start_alone(tmp_path):
    dome = {"kind": "dome", "formula": "sqrt(R**2 - x**2 - y**2) - R", "params": {"R": 1.0}}
    # Half of sqrt(g R): cos(theta) = (2 + 1/4) / 3 where the mass leaves.
    speed, cosine = 0.5 * math.sqrt(9.81), 0.75
    angles, weights = np.polynomial.legendre.leggauss(40)
    angles = 0.5 * math.acos(cosine) * (angles + 1.0)
    time = 0.5 * math.acos(cosine) * weights @ (1.0 / np.sqrt(speed**2 + 2 * 9.81 * (1.0 - np.cos(angles))))
    leaves = {"t_liftoff": float(time), "x_liftoff": math.sin(math.acos(cosine))}
    start = {"t": 0.0, "pos": [[0.0, 0.0, 0.0]], "vel": [[speed, 0.0, 0.0]], "N": [2.0 * 9.81 * 0.75]}
    known = ({"exact": leaves}, {"samples": [start]})
    cases = [{**MOTION, "id": str(i), "surface": dome, "v0": [speed, 0.0], **more} for i, more in enumerate(known)]
    results = list(validation.run(validation.read([write(tmp_path / "a.json", cases)])))
    assert [check for result in results for check in result.checks if not check.ok] == []
    assert any("lift-off" in check.what for check in results[0].checks)


def test_a_surface_without_a_class_comes_from_its_formula():
    from saltus.validation import sliding

    ripple = sliding.surface({"kind": "ripple", "formula": "A*sin(k*x)", "params": {"A": 0.1, "k": 2.0}})
    assert isinstance(ripple, saltus.surfaces.Expression)
    assert float(ripple.height(0.3, 1.0)) == pytest.approx(0.1 * np.sin(0.6), rel=1e-15)


def test_every_topic_has_shipped_cases():
    others = {"nonsmooth"}  # the library of `saltus verify`, beside its solutions
    assert {topic.name for topic in runner.read(runner.shipped_files())} == set(runner.TOPICS) - others


def test_states_of_gases_are_checked_when_asked_for():
    def groups(topics):
        return {case["group"] for topic in topics if topic.name == "gas" for case in topic.cases}

    assert groups(runner.standard()) == {"low_density"}
    assert groups(runner.standard(["gas"])) == {"low_density", "state"}
    with pytest.raises(ScenarioError, match="Did you mean 'gas'"):
        runner.standard(["gass"])


@pytest.mark.parametrize("name", runner.TOPICS)
def test_the_groups_that_files_may_have_are_those_that_can_be_checked(name):
    module = importlib.import_module(f"saltus.validation.{name}")
    assert runner.TOPICS[name] == tuple(module.GROUPS)


def test_every_case_is_in_one_part_and_alike_ones_stay_together():
    topics = runner.read(runner.shipped_files())
    found = parts(topics)
    numbers = sorted(number for part in found for number, _ in part.cases)
    assert numbers == list(range(sum(len(topic.cases) for topic in topics)))
    (chains,) = [part for part in found if part.topic == "chain"]
    assert {case["group"] for _, case in chains.cases} == set(runner.TOPICS["chain"])
    assert len([part for part in found if part.topic == "sliding"]) > 10


def test_results_come_in_the_order_of_the_file_whoever_has_them_first(tmp_path):
    cases = [{**instants(), "id": "first"}, {"id": "other", "group": "illposed"}, {**instants(), "id": "last"}]
    results = list(validation.run(validation.read([write(tmp_path / "a.json", cases)])))
    assert [result.case for result in results] == ["first", "other", "last"]
    assert [group.group for group in validation.by_group(results[::-1])] == ["instants", "illposed"]


@pytest.mark.slow
def test_other_processes_find_the_same(tmp_path):
    cases = [{**instants(), "id": "first"}, {"id": "other", "group": "illposed"}, {**instants(m=[-1.0]), "id": "wrong"}]
    topics = validation.read([write(tmp_path / "a.json", cases)])
    here, there = validation.run(topics), validation.run(topics, workers=2)
    assert sorted(there, key=lambda result: result.number) == list(here)
