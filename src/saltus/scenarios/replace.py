"""A scenario with other values at some of its keys, traced ones too: nothing is validated or changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import pydantic

from saltus.checks import suggestion
from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario

AnyScenario = TypeVar("AnyScenario", bound=Scenario)


def replace_keys(scenario: AnyScenario, values: Mapping[str, Any]) -> AnyScenario:
    """The scenario with these values at these dotted keys, such as {"masses.0.mu": 0.1}.

    The values may be anything that `build` can work with, such as numbers that JAX traces; they are not checked.

    Args:
        scenario: The scenario; it is left as it is.
        values: What to put at which key.

    Raises:
        ScenarioError: If there is no such key.
    """
    for key, value in values.items():
        scenario = _with(scenario, _parts(key), value, key)
    return scenario


def value_at(scenario: Scenario, key: str) -> Any:
    """What stands at a dotted key of a scenario; defaults are filled in.

    Raises:
        ScenarioError: If there is no such key.
    """
    where: Any = scenario
    parts = _parts(key)
    for depth, part in enumerate(parts):
        where = _entry(where, part, ".".join(parts[:depth]), key)
    return where


def _parts(key: str) -> list[str]:
    if not isinstance(key, str) or not all(key.split(".")):
        raise ScenarioError(f'A key of a scenario is a text with dots, such as "masses.0.mu", got {key!r}.')
    return key.split(".")


def _with(where: Any, parts: list[str], value: Any, key: str) -> Any:
    """`where` with the value put in below it."""
    if not parts:
        return value
    part, *rest = parts
    path = key.split(".")[: -len(parts)]
    inner = _with(_entry(where, part, ".".join(path), key), rest, value, key)
    if isinstance(where, pydantic.BaseModel):
        return where.model_copy(update={part: inner})
    if isinstance(where, Mapping):
        return {**where, part: inner}
    return [inner if k == int(part) else entry for k, entry in enumerate(where)]


def _entry(where: Any, part: str, path: str, key: str) -> Any:
    """One entry of a table or list."""
    if isinstance(where, pydantic.BaseModel):
        known = list(type(where).model_fields)
        if part in known:
            return getattr(where, part)
    elif isinstance(where, Mapping):
        known = list(where)
        if part in where:
            return where[part]
    elif isinstance(where, list | tuple):
        known = [str(k) for k in range(len(where))]
        if part in known:
            return where[int(part)]
    else:
        raise ScenarioError(f"There is no key `{key}`: `{path}` is {where!r}, not a table or list.")
    name = f"{path}.{part}" if path else part
    raise ScenarioError(f"There is no key `{name}`.{suggestion(part, known)} Known: {', '.join(known)}.")
