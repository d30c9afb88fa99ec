"""Every shipped reference case of sliding masses, within the tolerances of `saltus validate`."""

import pytest

from saltus import validation
from saltus.validation import runner

TOPIC = next(topic for topic in runner.read(runner.shipped_files()) if topic.name == "sliding")

# The longest compile several systems; the others are enough to notice a broken equation quickly.
SLOW = {"paper_ex1_stop_mu010", "own_flat_triangle_stop", "own_dome_liftoff", "own_triangle", "paper_ex2_mu010",
        "paper_ex1_mu002"}  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["id"], marks=pytest.mark.slow if case["id"] in SLOW else ()) for case in TOPIC.cases],
)
def test_reference_case(case):
    (result,) = validation.run([runner.Topic(TOPIC.name, TOPIC.path, [case])])
    failed = [check for check in result.checks if not check.ok]
    assert not failed
