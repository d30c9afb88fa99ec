"""Plain data as TOML text: what `tomllib` reads comes back the same.

Not by tomli-w, which writes every list with one entry per line: positions and velocities stay readable here, also in
the scenario that `saltus calibrate` writes and that every dataset carries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dumps(data: Mapping[str, Any]) -> str:
    """TOML text of tables, lists, texts, numbers and booleans."""
    return "\n".join(_table(data, ())).lstrip("\n") + "\n"


def _table(data: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"{_key(name)} = {_value(value)}" for name, value in data.items() if not _is_table(value)]
    for name, value in data.items():
        if not _is_table(value):
            continue
        title = ".".join(_key(part) for part in (*path, name))
        if isinstance(value, Mapping):
            lines += ["", f"[{title}]", *_table(value, (*path, name))]
        else:
            for item in value:
                lines += ["", f"[[{title}]]", *_table(item, (*path, name))]
    return lines


def _is_table(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return _is_list(value) and len(value) > 0 and all(isinstance(item, Mapping) for item in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    # TOML's escapes are those of JSON, but a character beyond 16 bits stands as itself.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    if _is_list(value):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    raise TypeError(f"{value!r} cannot be written as TOML.")
