"""What is to be found: keys of a scenario with a first guess and bounds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from saltus.checks import suggestion
from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario
from saltus.scenarios.replace import value_at


@dataclasses.dataclass(frozen=True)
class Parameter:
    """How a key of the scenario may be changed.

    Args:
        guess: First guess; the scenario's own value if None.
        min: Smallest value allowed.
        max: Largest value allowed.
    """

    guess: float | None = None
    min: float = -math.inf
    max: float = math.inf


def parameters_of(scenario: Scenario, given: Any) -> dict[str, Parameter]:
    """The parameters by key, checked, each with its guess."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping):
        if not isinstance(given, Iterable):
            raise ScenarioError(f'`parameters` must be keys of the scenario, such as ["friction.mu"], got {given!r}.')
        given = {key: None for key in given}
    if not given:
        raise ScenarioError('There are no parameters to find. Give keys of the scenario, such as ["friction.mu"].')
    return {key: _check(scenario, key, _parameter(key, one)) for key, one in given.items()}


def _parameter(key: str, given: Any) -> Parameter:
    if given is None:
        return Parameter()
    if isinstance(given, Parameter):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Parameter(float(given))
    if isinstance(given, Mapping):
        known = [field.name for field in dataclasses.fields(Parameter)]
        for name in given:
            if name not in known:
                near = suggestion(str(name), known)
                raise ScenarioError(f"Unknown part {name!r} of the parameter `{key}`.{near} Known: {', '.join(known)}.")
        return Parameter(**given)
    raise ScenarioError(f"The parameter `{key}` must be given as a first guess or with `min` and `max`, got {given!r}.")


def _check(scenario: Scenario, key: str, parameter: Parameter) -> Parameter:
    value = value_at(scenario, key)
    if isinstance(value, list | tuple | Mapping) or hasattr(type(value), "model_fields"):
        raise ScenarioError(
            f"`{key}` is not one number but several. Name one of them, such as `{_inside(key, value)}`."
        )
    if isinstance(value, bool | int | str):
        raise ScenarioError(f"`{key}` is {value!r}, which cannot be changed little by little. Choose a real number.")
    guess = value if parameter.guess is None else parameter.guess
    if guess is None:
        raise ScenarioError(f"`{key}` has no value in the scenario. Give a first guess for it.")
    low, high = (_real(key, name, getattr(parameter, name)) for name in ("min", "max"))
    guess = _real(key, "guess", guess)
    if not low < high:
        raise ScenarioError(f"`min` of `{key}` must be less than its `max`, got {low:g} and {high:g}.")
    if not math.isfinite(guess) or not low <= guess <= high:
        raise ScenarioError(f"The first guess of `{key}` must lie within {low:g} to {high:g}, got {guess:g}.")
    return Parameter(guess, low, high)


def _real(key: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ScenarioError(f"`{name}` of the parameter `{key}` must be a number, got {value!r}.")
    return float(value)


def _inside(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{key}.0"
    names = list(value) if isinstance(value, Mapping) else list(type(value).model_fields)
    return f"{key}.{names[0]}" if names else key
