"""What is known of a start before anything is compiled is what building it finds: the same modes, the same words."""

import random
import warnings

import pydantic
import pytest
from tests.mutants import SWITCHES, mutant, neighbour
from tests.properties.test_fuzz import BASES

from saltus.cli.check import modes_at_start
from saltus.errors import ScenarioError
from saltus.scenarios import entries, load
from saltus.scenarios.kinds import model_of


def outcome_of(look):
    """What it returns, or the words with which it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return look()
        except ScenarioError as error:
            return str(error)


def differences(scenario: dict) -> tuple[bool, str]:
    """Whether the start of a scenario is known, and how that differs from what building it finds."""
    try:
        model = model_of(scenario["kind"]).model_validate(scenario)
    except pydantic.ValidationError:
        return True, ""
    known = outcome_of(model.known_start)
    if known is None:
        return False, ""
    built = outcome_of(lambda: modes_at_start(model))
    if isinstance(known, str):
        return True, "" if known == built else f"refused with {known!r}, built with {built!r}"
    if known.left and isinstance(built, str):
        return True, ""
    return True, "" if known.modes == built else f"modes {known.modes}, built with {built!r}"


def compared(base: dict, rng: random.Random, count: int, kept: tuple[str, ...] = ()) -> tuple[int, dict]:
    """How many starts of neighbours and mutants of a scenario are known, and those that are known wrongly."""
    known, wrong = 0, {}
    for number in range(count):
        scenario = neighbour(base, rng) if number % 4 == 0 else mutant(base, rng, kept)
        told, how = differences(scenario)
        known += told
        if how:
            wrong[number] = how, scenario
    return known, wrong


@pytest.mark.parametrize("kind", BASES)
def test_a_start_is_known_as_it_is_built_for_any_numbers(kind):
    known, wrong = compared(BASES[kind], random.Random(f"starts {kind}"), 24, SWITCHES)
    assert not wrong
    assert known > 16  # so that JAX is needed for few


GASES = "jammed-ellipsoids", "gas", "gas-mixture"  # whose starts take a second each


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in entries() if name not in GASES])
def test_starts_of_the_catalogue_are_known_as_they_are_built_for_any_numbers(name):
    base = load(name, []).scenario.model_dump(mode="json", exclude_none=True, exclude={"ensemble"})
    _, wrong = compared(base, random.Random(f"starts {name}"), 60)
    assert not wrong
