"""Where events pile up and nothing is known of what follows, a program without a result was called.

The process that had made it went on; a later one, which found it among the kept programs, crashed.
"""

import pytest
from tests.toys import ball

from saltus.engines import EventDriven, loop
from saltus.hybrid import State


@pytest.mark.parametrize("settles", [False, True])
def test_only_a_system_that_knows_what_follows_is_asked_for_it(settles, monkeypatch):
    asked = []

    def settle(system, state, number, index):
        asked.append(number)
        return loop.apply_settle(system, state, number, index)

    monkeypatch.setattr(loop, "_settle", settle)
    run = EventDriven().run(ball(0.5, settles=settles), State.of(q=[1.0], v=[0.0]), 10.0)
    assert run.outcome.name == ("finished" if settles else "accumulation")
    assert len(asked) == settles
