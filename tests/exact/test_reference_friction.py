"""Every shipped reference case of combined friction, within the tolerances of `saltus validate`."""

import pytest

from saltus import validation
from saltus.validation import runner

TOPIC = next(topic for topic in runner.read(runner.shipped_files()) if topic.name == "friction")

# Groups that compile systems of their own; what is left runs every law and one system of each kind.
SLOW = {"groove_spin_down", "pivot_spin_down", "plane_point_contact", "rail_contact_lost", "slip_to_roll_point_contact",
        "symmetric_stop", "trajectory_plane", "trajectory_butterfly_roll", "butterfly_lift_off"}  # fmt: skip
GROUPS = list(dict.fromkeys(case["group"] for case in TOPIC.cases))


def marks(group):
    return pytest.mark.slow if group in SLOW else ()


@pytest.mark.parametrize("group", [pytest.param(group, marks=marks(group)) for group in GROUPS])
def test_reference_group(group):
    cases = [case for case in TOPIC.cases if case["group"] == group]
    if group == "trajectory_rails":
        # The paper's model is one more system to compile.
        cases = [case for case in cases if case["input"].get("model") != "pade"]
    results = validation.run([runner.Topic(TOPIC.name, TOPIC.path, cases)])
    assert not [(result.case, check) for result in results for check in result.checks if not check.ok]


@pytest.mark.slow
def test_reference_motions_with_the_paper_s_model():
    cases = [
        case for case in TOPIC.cases if case["group"] == "trajectory_rails" and case["input"].get("model") == "pade"
    ]
    results = validation.run([runner.Topic(TOPIC.name, TOPIC.path, cases)])
    assert cases and all(check.ok for result in results for check in result.checks)


def test_every_group_is_checked_and_nothing_passes_by_itself():
    from saltus.validation import friction

    assert set(GROUPS) == set(friction.GROUPS)
    chosen = [case for case in TOPIC.cases if case["group"] in ("contact_vector", "rails_state", "critical_slope")]
    wrong = [{**case, "expected": {key: _changed(value) for key, value in case["expected"].items()}} for case in chosen]
    for result in validation.run([runner.Topic(TOPIC.name, TOPIC.path, wrong)]):
        assert not any(check.ok for check in result.checks), result


def _changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return [_changed(x) for x in value]
    return value * (1 + 1e-7) + 1e-7


# Error at the default tolerances over the largest value of the quantity, as docs/engines.md promises.
PROMISED = {
    "trajectory_rails": 2e-10,
    "trajectory_butterfly_slip": 2e-10,
    "trajectory_butterfly_roll": 2e-10,
    "trajectory_plane": 5e-11,
}


@pytest.mark.parametrize("group", [pytest.param(group, marks=marks(group)) for group in PROMISED])
def test_default_tolerances_keep_what_they_promise(group, monkeypatch):
    from saltus.validation import friction

    monkeypatch.setattr(friction, "TIGHT", {})
    for case in TOPIC.cases:
        if case["group"] != group or case["input"].get("model") == "pade":
            continue
        for check in friction.GROUPS[group](case):
            relative = check.error / check.tolerance * friction.accuracy(case)
            assert relative <= PROMISED[group], (case["id"], check)
