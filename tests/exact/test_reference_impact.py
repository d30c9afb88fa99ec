"""Every shipped reference case of the bodies, within the tolerances of `saltus validate`."""

import pytest

from saltus import validation
from saltus.validation import runner

TOPIC = next(topic for topic in runner.read(runner.shipped_files()) if topic.name == "impact")

# The search for first contacts of superellipsoids compiles for long; what needs none of it is quick.
SLOW = ("first_contact", "paradox_event", "sustained_contact", "near_paradox_from_past")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"], marks=pytest.mark.slow if case["group"] in SLOW else ())
        for case in TOPIC.cases
    ],
)
def test_reference_case(case):
    (result,) = validation.run([runner.Topic(TOPIC.name, TOPIC.path, [case])])
    failed = [check for check in result.checks if not check.ok]
    assert not failed
