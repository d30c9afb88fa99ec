"""What pydantic found wrong, in one sentence that a user can act on."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Iterator
from typing import Any

import pydantic

from saltus.checks import suggestion

_RULES = {
    "greater_than": "> {gt:g}",
    "greater_than_equal": ">= {ge:g}",
    "less_than": "< {lt:g}",
    "less_than_equal": "<= {le:g}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text in quotes",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def explain(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> str:
    """One sentence for the first thing that is wrong; a misspelt key comes before what it leaves missing."""
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    if not _is_of_wrong_type(first):
        return _sentence(first, model)
    # Where a key takes one of several types, each of them has its error: one that is not about the type tells more.
    same = [one for one in found if one["loc"][:-1] == first["loc"][:-1] and one["input"] is first["input"]]
    telling = next((one for one in same if not _is_of_wrong_type(one)), None)
    rules = dict.fromkeys(_RULES[one["type"]] for one in same if one["type"] in _RULES)
    return _sentence(telling or first, model, " or ".join(rules))


def _is_of_wrong_type(error: Any) -> bool:
    return error["type"].endswith("_type")


def _sentence(error: Any, model: type[pydantic.BaseModel], types_allowed: str | None = None) -> str:
    kind, context, value = error["type"], error.get("ctx") or {}, error["input"]
    path, table = _locate(error["loc"], model)
    if kind == "extra_forbidden":
        known = [] if table is None else list(table.model_fields)
        if (reason := getattr(table, "not_given", {}).get(str(error["loc"][-1]))) is not None:
            return f"Unknown key `{path}`. {reason}"
        return f"Unknown key `{path}`.{suggestion(str(error['loc'][-1]), known)} Known: {', '.join(known)}."
    if kind == "missing":
        return f"`{path}` is missing. {_advice(error, table)}".strip()
    if kind == "union_tag_not_found":
        tags = _all_tags(error["loc"], model)
        return f"`{path}.{_discriminator(context)}` is missing. Known: {', '.join(tags)}."
    if kind == "union_tag_invalid":
        tags, word = _tags(context), str(context.get("tag"))
        return f"Unknown `{path}.{_discriminator(context)}` {word!r}.{suggestion(word, tags)} Known: {', '.join(tags)}."
    if kind in ("literal_error", "enum"):
        known = [part.strip("' ") for part in str(context["expected"]).replace(" or ", ", ").split(",")]
        return f"Unknown `{path}` {_short(value)}.{suggestion(str(value), known)} Known: {', '.join(known)}."
    if kind in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        word = "at least" if kind == "too_short" else "at most"
        entries = "entry" if bound == 1 else "entries"
        return f"`{path}` must have {word} {bound} {entries}, got {_short(value)}. {_advice(error, table)}".strip()
    if kind == "value_error":
        return str(context.get("error", error["msg"]))
    if kind == "list_type" and isinstance(value, dict):
        return f"`{path}` must be a list of tables. Write [[{path}]], with double brackets, above each of them."
    rule = types_allowed if types_allowed and _is_of_wrong_type(error) else _RULES.get(kind)
    if rule is not None:
        return f"`{path}` must be {rule.format(**context)}, got {_short(value)}.{_in_radians(path, value, model)}"
    return f"`{path}`: {error['msg']}, got {_short(value)}."


def _advice(error: Any, table: type[pydantic.BaseModel] | None) -> str:
    """What to do about this key, where its table says so."""
    return getattr(table, "advice", {}).get(str(error["loc"][-1]), "")


def _in_radians(path: str, value: Any, model: type[pydantic.BaseModel]) -> str:
    """A word on units, where an angle is too large to be meant in radians."""
    if path not in getattr(model, "angles", ()) or not isinstance(value, int | float) or abs(value) <= math.pi / 2:
        return ""
    return f" It is in radians; for {value:g} degrees write {math.radians(value):.6g}, or `{path}_deg = {value:g}`."


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _tags(context: dict[str, Any]) -> list[str]:
    return [tag.strip().strip("'") for tag in str(context.get("expected_tags", "")).split(",") if tag.strip()]


def _all_tags(loc: tuple[Any, ...], model: type[pydantic.BaseModel]) -> list[str]:
    """The types of the union that stands at `loc`."""
    annotation: Any = model
    for part in loc:
        owner = next((one for one in _models(annotation) if part in one.model_fields), None)
        annotation = owner.model_fields[part].annotation if owner else annotation
    fields = [one.model_fields["type"] for one in _models(annotation) if "type" in one.model_fields]
    return [tag for field in fields for tag in typing.get_args(field.annotation)]


def _discriminator(context: dict[str, Any]) -> str:
    return str(context.get("discriminator", "type")).strip("'")


def _locate(loc: tuple[Any, ...], model: type[pydantic.BaseModel]) -> tuple[str, type[pydantic.BaseModel] | None]:
    """The key as the user wrote it, and the table it stands in.

    Where a table or a value is one of several by its type, pydantic puts the type into the location; the user did not.
    """
    parts: list[str] = []
    annotation: Any = model
    table: type[pydantic.BaseModel] | None = model
    for part in loc:
        tagged = _member(annotation, part)
        if tagged is not None:
            annotation = table = tagged
            continue
        models = list(_models(annotation))
        if isinstance(part, str) and not models and typing.get_origin(annotation) in (typing.Union, types.UnionType):
            continue  # which of several types, as pydantic names it
        owner = next((one for one in models if part in one.model_fields), models[0] if models else None)
        if part not in getattr(owner, "implied", ()):
            parts.append(str(part))
        if isinstance(part, int):
            continue
        table = owner or table
        annotation = owner.model_fields[part].annotation if owner and part in owner.model_fields else None
    return ".".join(parts), table


def _models(annotation: Any) -> Iterator[type[pydantic.BaseModel]]:
    """The models within an annotation such as `list[Annotated[A | B, ...]]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        if not isinstance(argument, str | int | float):
            yield from _models(argument)


def _member(annotation: Any, tag: Any) -> type[pydantic.BaseModel] | None:
    """The member of a union that has this type, if the annotation is one."""
    members = list(_models(annotation))
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated)
    if not is_union or len(members) < 2 or not isinstance(tag, str):
        return None
    for one in members:
        field = one.model_fields.get("type")
        if field is not None and tag in typing.get_args(field.annotation):
            return one
    return None
