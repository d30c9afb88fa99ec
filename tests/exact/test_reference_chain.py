"""Every shipped reference case of the chain, within the tolerances of `saltus validate`."""

import pytest

from saltus import validation
from saltus.validation import runner

TOPIC = next(topic for topic in runner.read(runner.shipped_files()) if topic.name == "chain")

# Every number of links compiles anew; a few sizes and all that needs no run notice a broken equation quickly.
QUICK = ("closed-0", "rhs", "jerk", "crossing", "run-limit-n1-", "run-limit-n3-")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"], marks=() if case["id"].startswith(QUICK) else pytest.mark.slow)
        for case in TOPIC.cases
    ],
)
def test_reference_case(case):
    (result,) = validation.run([runner.Topic(TOPIC.name, TOPIC.path, [case])])
    failed = [check for check in result.checks if not check.ok]
    assert not failed
