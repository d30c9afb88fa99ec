"""Every shipped reference case of combined friction, within the tolerances of `saltus validate`."""

import pytest

from saltus import validation
from saltus.validation import runner

TOPIC = next(topic for topic in runner.read(runner.shipped()) if topic.name == "friction")

# Groups that compile a whole motion, or scan for a largest error.
SLOW = {"pade_max_error", "symmetric_stop", "trajectory_rails", "trajectory_plane", "trajectory_butterfly_roll",
        "trajectory_butterfly_slip", "butterfly_lift_off", "rail_contact_lost", "point_contact_events",
        "pivot_spin_down", "groove_spin_down"}  # fmt: skip
GROUPS = sorted({case["group"] for case in TOPIC.cases})


@pytest.mark.parametrize(
    "group", [pytest.param(group, marks=pytest.mark.slow if group in SLOW else ()) for group in GROUPS]
)
def test_reference_group(group):
    cases = [case for case in TOPIC.cases if case["group"] == group]
    failed = [
        check
        for result in validation.run([runner.Topic(TOPIC.name, TOPIC.path, cases)])
        for check in result.checks
        if not check.ok
    ]
    assert not failed
