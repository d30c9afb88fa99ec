"""Scenarios of kind "python": a system of one's own, named as module:function.

Such a file runs code, so it is read only for those who say that they trust it: `--allow-python` on the command line,
`load(..., allow_python=True)` in Python. Nothing else allows it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import pydantic

from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario

if TYPE_CHECKING:
    from saltus.hybrid import HybridSystem, State

_trusted: set[str] = set()  # names of functions that the user of this process has allowed


def trust(name: Any, folder: Path | None = None) -> None:
    """Allow scenarios of this process to call the function of this name.

    Args:
        name: module:function.
        folder: Folder of the scenario; modules beside it are found.
    """
    if isinstance(name, str):
        _trusted.add(name)
    if folder is not None and str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))


class PythonScenario(Scenario):
    """A system built by a function of the user.

    The function is called with the entries of [parameters] as keywords. It returns a system and its start, or a
    system made of functions, which knows its own start.
    """

    kind: Literal["python"]
    system: str
    parameters: dict[str, float | int | str | bool | list[Any]] = {}

    @pydantic.model_validator(mode="after")
    def _is_trusted(self) -> Self:
        if self.system not in _trusted:
            raise ValueError(
                f"This scenario runs Python code of its own, {self.system!r}. If you trust it, say so with "
                "--allow-python (in Python: allow_python=True)."
            )
        return self

    def build(self) -> tuple[HybridSystem, State]:
        from saltus.hybrid import HybridSystem, State

        function = self._function()
        made = function(**self.parameters)
        start = getattr(made, "start", None)
        if isinstance(made, HybridSystem) and start is not None:
            made = (made, start())
        if not (
            isinstance(made, tuple)
            and len(made) == 2
            and isinstance(made[0], HybridSystem)
            and isinstance(made[1], State)
        ):
            raise ScenarioError(
                f"{self.system!r} must return a system and its start (hybrid.State), or a system with a start of its "
                f"own, got {type(made).__name__}."
            )
        return made

    def _function(self) -> Any:
        module, colon, name = self.system.partition(":")
        if not colon or not module or not name.isidentifier():
            raise ScenarioError(f"`system` must be module:function, such as 'shaken:build', got {self.system!r}.")
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ImportError as error:
            raise ScenarioError(f"Cannot import {module!r} for {self.system!r}: {error}.") from error
        if not callable(found):
            raise ScenarioError(f"The module {module!r} has no function {name!r}.")
        return found
