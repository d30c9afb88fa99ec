"""Values of a scenario by their keys, such as "masses.0.position.1"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import pydantic

from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario
from saltus.scenarios.explain import explain

INDEXED = re.compile(r"(\w+)\[(\d+)\]")


def put(data: Any, parts: list[str], value: Any, wanted: str) -> None:
    """Put a value into nested tables and lists; `wanted` is what the user wrote, for the error."""
    where = data
    if any(INDEXED.fullmatch(part) for part in parts):
        dotted = ".".join(INDEXED.sub(r"\1.\2", part) for part in parts)
        raise ScenarioError(f"Cannot set {wanted!r}: entries of a list are named by dots, as in {dotted}.")
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if isinstance(where, list):
            index = _index(where, part, ".".join(parts[:depth]), wanted)
            if last:
                where[index] = value
            else:
                where = where[index]
        elif isinstance(where, dict):
            if last:
                where[part] = value
            else:
                where = where.setdefault(part, {})
        else:
            path = ".".join(parts[:depth])
            raise ScenarioError(f"Cannot set {wanted!r}: `{path}` is {where!r}, not a table or list.")


def _index(items: list[Any], part: str, path: str, wanted: str) -> int:
    if not items:
        raise ScenarioError(f"Cannot set {wanted!r}: `{path}` is empty.")
    if not part.isdecimal() or int(part) >= len(items):
        raise ScenarioError(
            f"Cannot set {wanted!r}: `{path}` has the entries 0 to {len(items) - 1}, there is no {part!r}."
        )
    return int(part)


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario with other values under these keys, checked; its [ensemble] is left out.

    An angle may be given in degrees with the ending _deg, as in a scenario's file.

    Raises:
        ScenarioError: With one sentence, where a key does not exist or a value is not allowed.
    """
    try:
        return type(scenario).model_validate(_data_with(scenario, values))
    except pydantic.ValidationError as error:
        raise ScenarioError(explain(error, type(scenario))) from None


def check_ensemble(scenario: Scenario) -> None:
    """Refuse an [ensemble] whose keys the scenario does not have, or whose values it cannot take."""
    if scenario.ensemble is None:
        return
    parameters = scenario.ensemble.parameters
    try:
        _check_keys(scenario)
        middle = {key: one.trials[0] for key, one in parameters.items() if one.trials}
        with_values(scenario, middle)
        for key, one in parameters.items():
            for value in one.trials[1:]:
                with_values(scenario, {**middle, key: value})
    except ScenarioError as error:
        raise ScenarioError(f"In [ensemble]: {error}") from None


def _check_keys(scenario: Scenario) -> None:
    """Refuse keys that do not exist; what values they take is not looked at."""
    radians = {}
    for key in scenario.ensemble.parameters if scenario.ensemble is not None else ():
        if key.split(".")[0] in ("ensemble", "kind"):
            raise ScenarioError(f"`{key}` cannot vary within an ensemble.")
        name = _in_radians(scenario, key)
        if name in radians:
            raise ScenarioError(f"Both `{radians[name]}` and `{key}` are given. Give one of them.")
        radians[name] = key
        try:
            type(scenario).model_validate(_data_with(scenario, {key: 1.0}))
        except pydantic.ValidationError as error:
            if any(one["type"] == "extra_forbidden" for one in error.errors()):
                raise ScenarioError(explain(error, type(scenario))) from None


def _data_with(scenario: Scenario, values: Mapping[str, Any]) -> dict[str, Any]:
    data = scenario.model_dump(exclude={"ensemble"}, exclude_none=True)
    for key, value in values.items():
        name = _in_radians(scenario, key)
        put(data, name.split("."), value if name == key else math.radians(value), key)
    # A list that may be left out need not be allowed to be empty.
    return {name: value for name, value in data.items() if value != []}


def _in_radians(scenario: Scenario, key: str) -> str:
    """The name of the key whose value is kept, for an angle given in degrees."""
    name = key.removesuffix("_deg")
    return name if name in scenario.angles else key
