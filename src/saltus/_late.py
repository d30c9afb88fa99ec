"""Names of a package that are loaded when first asked for, so that what is not used costs no time."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def late(package: str, where: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names come from these modules of it.

    A module that is listed without names is itself what is asked for. A name may be that of its module (`gap` in
    `gap`): it stands for what the module defines, whether or not the module is loaded. A module of another package is
    given by its full name.
    """
    module_of = {
        name: module if module.startswith("saltus.") else f"{package}.{module}"
        for module, given in where.items()
        for name in given
    }
    modules = [module for module, given in where.items() if not given]

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(module_of[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of, *modules})

    if shadowed := [name for name in module_of if name in where]:
        sys.modules[package].__class__ = _package(load, shadowed)
    return load, names


def _package(load: Callable[[str], Any], names: Sequence[str]) -> type[types.ModuleType]:
    """The class of a package in which these names stand for what is in their modules.

    Python binds each module that it loads to its name in the package; here that leaves the name as it was.
    """

    def property_of(name: str) -> property:
        def find(package: types.ModuleType) -> Any:
            return vars(package)[name] if name in vars(package) else load(name)

        def bind(package: types.ModuleType, value: Any) -> None:
            if not isinstance(value, types.ModuleType):
                vars(package)[name] = value

        return property(find, bind)

    return type("Package", (types.ModuleType,), {name: property_of(name) for name in names})
