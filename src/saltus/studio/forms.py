"""The fields of a scenario, from its own schema: type, limits, choices, and help as in the commented template."""

from __future__ import annotations

import re
from typing import Any

from saltus.errors import ScenarioError
from saltus.scenarios.kinds import model_of
from saltus.scenarios.templates import template

LIMITS = {"minimum": "min", "exclusiveMinimum": "above", "maximum": "max", "exclusiveMaximum": "below"}
HELP = re.compile(r"^\s*#?\s*([A-Za-z_]+)\s*=\s*.*?\s{2,}#\s*(.+)$")
TABLE = re.compile(r"^\s*#?\s*\[+([A-Za-z_.]+)\]+")
# Lists of numbers along x, y and z; other lists are numbered.
VECTORS = ("position", "velocity", "center", "angular_velocity", "gravity", "axes", "size", "center_of_mass", "normal")
LONGEST = 12  # numbers of a list that are shown as fields
STARTS = {"sliding": ("masses", "position", 2), "bodies": ("bodies", "center", 3)}  # tables, key, numbers


def fields(data: dict[str, Any]) -> list[dict[str, Any]]:
    """A flat list of fields for the values of a scenario; each has its key, value, type, limits and help."""
    model = model_of(data.get("kind"))
    schema = model.model_json_schema()
    told = _help(str(data["kind"]))
    found: list[dict[str, Any]] = []
    _walk(data, schema, schema.get("$defs", {}), (), told, found)
    return [field for field in found if field["key"] != "kind"]


def starts(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Where each body starts and how fast, with the keys that say so: what can be dragged in the scene."""
    if data.get("kind") == "rails":
        return [_start(data, "start", ("position", 1), ("velocity", 1))]
    if data.get("kind") == "plane_ball":
        return [_start(data, "start", ("position", 2), ("velocity", 2))]
    if data.get("kind") == "ground_body":
        return [_start(data, "body", ("position", 2), ("velocity", 3))]
    listed, position, parts = STARTS.get(str(data.get("kind")), ("", "", 0))
    tables = data.get(listed, [])
    return [_start(data, f"{listed}.{i}", (position, parts), ("velocity", parts)) for i in range(len(tables))]


def _start(data: dict[str, Any], where: str, *names: tuple[str, int]) -> dict[str, Any]:
    """The numbers of a start; zeros where none are given, as in the scenario."""
    table: Any = data
    for part in where.split("."):
        table = table[int(part)] if part.isdecimal() else table.get(part, {})
    found = {}
    for what, (name, parts) in zip(("position", "velocity"), names, strict=True):
        value = table.get(name, [0.0] * parts)
        found[what] = {"key": f"{where}.{name}", "value": value if isinstance(value, list) else [value]}
        found[what]["single"] = parts == 1
    return found


def _help(kind: str) -> dict[str, str]:
    """What the template of a kind says of each key, by the name of its table and its own: "friction.mu"."""
    try:
        lines = template(kind).splitlines()
    except ScenarioError:  # a kind without a template
        return {}
    found: dict[str, str] = {}
    table = ""
    for line in lines:
        if match := HELP.match(line):
            found.setdefault(f"{table}.{match[1]}", match[2])
        elif match := TABLE.match(line):
            table = match[1]
    return found


def _walk(value: Any, schema: dict, definitions: dict, path: tuple[str, ...], told: dict, found: list) -> None:
    schema = _resolve(schema, definitions, value)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name, inner in value.items():
            _walk(inner, properties.get(name, {}), definitions, (*path, name), told, found)
    elif isinstance(value, list) and ((value and isinstance(value[0], dict | list)) or len(value) <= LONGEST):
        for index, inner in enumerate(value):
            _walk(inner, schema.get("items", {}), definitions, (*path, str(index)), told, found)
    elif not isinstance(value, list):
        found.append(_field(value, schema, path, told))


def _field(value: Any, schema: dict, path: tuple[str, ...], told: dict) -> dict[str, Any]:
    names = [part for part in path if not part.isdecimal()]
    table, name = (names[0] if len(names) > 1 else ""), names[-1] if names else ""
    field: dict[str, Any] = {"key": ".".join(path), "value": value, "help": told.get(f"{table}.{name}", "")}
    field["group"], field["label"] = _place(path)
    if isinstance(value, bool):
        field["type"] = "switch"
    elif isinstance(value, int | float):
        whole = schema.get("type") == "integer"
        field["type"] = "whole" if whole else "number"
        field.update({ours: schema[name] for name, ours in LIMITS.items() if name in schema})
    else:
        field["type"] = "text"
        choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
        if choices:
            field.update(type="choice", choices=choices)
    return field


def _place(path: tuple[str, ...]) -> tuple[str, str]:
    """The heading under which a field stands, and what it is called there: masses 1, position y."""
    *above, last = path
    depth = 2 if len(above) > 1 and above[1].isdecimal() else 1
    along = last.isdecimal() and int(last) < 3 and above and above[-1] in VECTORS
    component = "xyz"[int(last)] if along else last
    return " ".join(above[:depth]), " ".join([*above[depth:], component]).replace("_", " ")


def _resolve(schema: dict, definitions: dict, value: Any) -> dict:
    """The schema behind references and alternatives, chosen by what the value is."""
    while "$ref" in schema:
        schema = definitions.get(schema["$ref"].rpartition("/")[2], {})
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if not alternatives:
        return schema
    fitting = [_resolve(one, definitions, value) for one in alternatives]
    fitting = [one for one in fitting if _fits(one, value)]
    return fitting[0] if fitting else {}


def _fits(schema: dict, value: Any) -> bool:
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int}
    expected = kinds.get(schema.get("type", ""))
    if expected is None or not isinstance(value, expected):
        return False
    if isinstance(value, dict):
        told = schema.get("properties", {}).get("type", {})
        return "const" not in told or told["const"] == value.get("type")
    return True
