"""From a TOML file or a name of the catalogue to a checked scenario."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pydantic

from saltus.checks import suggestion
from saltus.errors import ScenarioError
from saltus.scenarios import toml
from saltus.scenarios.base import Scenario
from saltus.scenarios.catalogue import entries
from saltus.scenarios.explain import explain
from saltus.scenarios.keys import check_ensemble, put
from saltus.scenarios.kinds import model_of


@dataclasses.dataclass(frozen=True)
class LoadedScenario:
    """A scenario with its name and the TOML text that says all of it, overrides included."""

    name: str
    text: str
    scenario: Scenario


Source = str | os.PathLike | dict | Scenario | LoadedScenario


def load(source: Source, overrides: Sequence[str] = (), allow_python: bool = False) -> LoadedScenario:
    """Read a scenario.

    Args:
        source: A TOML file, a name of the catalogue, TOML text of several lines, a dictionary, or a scenario that is
            loaded already.
        overrides: `key=value` pairs such as "masses.0.mass=2.0" that replace or add keys.
        allow_python: Whether a scenario of kind "python" may run the code that it names.

    Raises:
        ScenarioError: With one sentence that says what is wrong and where.
    """
    path, text = _text_of(source)
    data = _parse(text, repr(path.name))
    wanted = _locate_files(apply_overrides(data, overrides), path.parent)
    if wanted != data:
        # The first line tells what the scenario is, and stays.
        first = text.partition("\n")[0]
        text = (f"{first}\n" if first.startswith("#") else "") + toml.dumps(wanted)
    if allow_python:
        _trust(wanted, path.parent)
    return LoadedScenario(path.stem, text, validate(wanted))


def _trust(data: dict[str, Any], folder: Path | None = None) -> None:
    """Allow the code that a scenario names, if it names any."""
    if data.get("kind") == "python":
        from saltus.scenarios.python import trust

        trust(data.get("system"), folder)


def _text_of(source: Source) -> tuple[Path, str]:
    """The TOML text of a scenario, and the file it stands in (or would)."""
    if isinstance(source, LoadedScenario):
        return Path(f"{source.name}.toml"), source.text
    if isinstance(source, Scenario):
        return Path("scenario.toml"), toml.dumps(source.model_dump(exclude_unset=True, exclude_none=True))
    if isinstance(source, dict):
        return Path("scenario.toml"), toml.dumps(source)
    if isinstance(source, str) and "\n" in source:
        return Path("scenario.toml"), source
    if not isinstance(source, str | os.PathLike):
        raise ScenarioError(
            f"A scenario is a TOML file, a name of `saltus list`, TOML text, a dictionary or a loaded scenario, got "
            f"a {type(source).__name__}."
        )
    return _read(source)


def _locate_files(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`data` with the files that stand beside the scenario named in full, so that it can be used from anywhere."""
    data = copy.deepcopy(data)
    places = []
    for key in model_of(data.get("kind")).paths:
        *tables, last = key.split(".")
        where: Any = data
        for table in tables:
            where = where.get(table) if isinstance(where, dict) else None
        places += [(one, last) for one in (where if isinstance(where, list) else [where])]
    places += [(table, name) for table in _tables(data.get("ensemble")) for name in ("csv", "polygon", "raster")]
    for where, last in places:
        name = where.get(last) if isinstance(where, dict) else None
        if isinstance(name, str) and (folder / name).is_file():
            where[last] = str((folder / name).resolve())
    return data


def _tables(data: Any) -> Iterator[dict[str, Any]]:
    """A table and the tables within it."""
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from _tables(value)


def loads(text: str, allow_python: bool = False) -> Scenario:
    """A scenario from TOML text, as a dataset stores it."""
    data = _parse(text, "The scenario")
    if allow_python:
        _trust(data)
    return validate(data)


def validate(data: dict[str, Any]) -> Scenario:
    """A checked scenario from plain data."""
    model = model_of(data.get("kind"))
    try:
        scenario = model.model_validate(data)
    except pydantic.ValidationError as error:
        raise ScenarioError(explain(error, model)) from None
    check_ensemble(scenario)
    return scenario


def _read(source: str | os.PathLike) -> tuple[Path, str]:
    path = Path(source)
    known = entries()
    name = str(source) if isinstance(source, str) and path.suffix != ".toml" and path.name == source else None
    if name is not None and name in known and not path.is_file():
        path = known[name].path
    elif name is not None and not path.exists():
        own = path.with_name(f"{path.name}.toml")
        near = f" Did you mean the file '{own}'?" if own.is_file() else suggestion(name, known)
        raise ScenarioError(
            f"There is no scenario {source!r} in the catalogue.{near} `saltus list` shows all; "
            "a file of your own needs its ending .toml."
        )
    if path.is_dir():
        raise ScenarioError(f"{str(source)!r} is a folder, not a scenario file.")
    try:
        return path, path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        near = f" The catalogue has {path.stem!r}." if path.stem in known else _near_files(path)
        raise ScenarioError(f"There is no file {str(source)!r}.{near}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{str(source)!r} is not a text file, so not a scenario.") from None
    except OSError as error:
        raise ScenarioError(f"Cannot read {str(source)!r}: {error.strerror}.") from None


def _near_files(path: Path) -> str:
    """A TOML file of that folder with nearly this name; or how to make one."""
    files = {one.stem: one.name for one in path.parent.glob("*.toml")} if path.parent.is_dir() else {}
    near = difflib.get_close_matches(path.stem, files, n=1, cutoff=0.6)  # the ending alone is no likeness
    return f" Did you mean {files[near[0]]!r}?" if near else f" To make one: saltus new sliding > {path.name}"


DECIMAL_COMMA = re.compile(r"(=|,|\[)\s*[-+]?\d+,\d+\s*(#.*)?$")


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split()) or "nested too deeply"
        raise ScenarioError(f"{name} is not TOML: {reason}.{_hint(reason, text)}") from None


def _hint(reason: str, text: str) -> str:
    """What was probably meant where TOML could not be read."""
    place = re.search(r"at line (\d+)", reason)
    line = text.splitlines()[int(place[1]) - 1] if place else ""
    if DECIMAL_COMMA.search(line):
        return f" Numbers have a decimal point, not a comma: {line.strip().replace(',', '.')}"
    if twice := re.search(r"Cannot declare \('(\w+)',?\) twice", reason):
        return f" Where there are several, write [[{twice[1]}]], with double brackets, above each of them."
    return ' Texts stand in quotes, as in kind = "sliding".' if "Invalid value" in reason else ""


def apply_overrides(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """`data` with `key=value` pairs put in; `data` itself is untouched."""
    data = copy.deepcopy(data)
    for override in overrides:
        key, equals, value = override.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            raise ScenarioError(f"An override is key=value, such as masses.0.mass=2.0, got {override!r}.")
        put(data, parts, _override_value(value.strip()), override)
    return data


def _override_value(text: str) -> Any:
    """A TOML value; a bare word is a text, so that `solve.method=rk4` needs no quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if set(parsed) == {"value"} else text
