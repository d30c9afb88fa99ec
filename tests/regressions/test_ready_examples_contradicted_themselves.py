"""Ready examples once did not do what their first line says, or exited with 1 for doing it."""

import pytest

from saltus.cli.app import main
from saltus.hybrid.outcome import OUTCOMES
from saltus.scenarios import entries, load

SHOWN = {"rails-jam": ["jams"], "butterfly-slip": ["lift_off"], "butterfly-roll": ["slips", "lift_off"]}


@pytest.mark.parametrize("name", SHOWN)
def test_an_end_that_is_the_purpose_of_an_example_is_a_success(name):
    loaded = load(name)
    run = loaded.scenario.simulate()
    assert [event.name for event in run.events] == SHOWN[name]
    assert not OUTCOMES[run.outcome.name] and loaded.scenario.success(run.outcome.name)
    assert not loaded.scenario.success("finished")


def test_an_unknown_expectation_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "rails-jam", "--set", "solve.expect=jamed"])
    assert ended.value.code == 2 and "jammed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", entries())
def test_every_ready_example_succeeds(name):
    scenario = load(name).scenario
    run = scenario.simulate()
    assert scenario.success(run.outcome.name), run.outcome.message
