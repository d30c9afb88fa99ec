"""What a program depends on, as text that is the same in every process.

Numbers in arrays are data, of which only shape and type count. All else that a function is given decides what is
traced: classes and functions by name, the contents of closures, static fields by value. Only code of saltus and of
the libraries it computes with is told by name, because its versions are part of the text; code of a user may change
between two processes under the same name, so nothing that holds any is written (`UnwritableError`).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import os
import sys
import types
from typing import Any

import jax
import jax.core
import numpy as np

from saltus.programs.sources import LIBRARIES, changed_since_start, sources, versions

# Code whose version is known; of anything else a name does not tell what it does.
KNOWN = frozenset(("saltus", "builtins", "functools", "operator", "math", "jaxtyping", *LIBRARIES))
# What of JAX's settings changes the programs that it traces.
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_rank_promotion", "jax_numpy_dtype_promotion",
            "jax_threefry_partitionable", "jax_default_prng_impl")  # fmt: skip
UNOPTIMISED = "jax_disable_most_optimizations"  # changes what is compiled of them: the code is several times slower


class UnwritableError(Exception):
    """Something has no text that says in every process what it is."""


@functools.cache
def surroundings() -> str:
    """Versions, flags and settings on which every program depends; the code of saltus by its digest."""
    if changed_since_start():
        raise UnwritableError("code that has changed")
    return "\n".join(
        [
            f"saltus {sources()}",
            f"python {sys.version_info[:2]}",
            *versions(),
            f"backend {jax.default_backend()}",
            f"flags {os.environ.get('XLA_FLAGS', '')}",
        ]
    )


def settings() -> str:
    """The settings of JAX that may change while a process runs."""
    told = (getattr(jax.config, name, None) for name in SETTINGS)
    return ", ".join(str(value) for value in (*told, _optimisations_are_off()))


def _optimisations_are_off() -> bool | None:
    try:
        return jax.config.read(UNOPTIMISED)
    except AttributeError:  # a version of JAX without it
        return None


def write(value: Any) -> str:
    """The text of a value.

    Raises:
        UnwritableError: if it holds code of a user, or something that cannot be told.
    """
    return _Writer().text(value, data=True)


def write_constant(value: Any) -> str:
    """The text of a value whose numbers, too, belong to the program."""
    return _Writer().text(value, data=False)


def is_data(leaf: Any) -> bool:
    """Whether a leaf is an array of numbers that a program takes as data."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def shape_of(leaf: Any) -> tuple:
    """What of such a leaf a program depends on."""
    return leaf.shape, leaf.dtype, bool(getattr(leaf, "weak_type", False))


class _Writer:
    """Writes values part by part; knows which it is inside of, since an object may hold its own methods."""

    def __init__(self):
        self.parts: list[str] = []
        self.open: dict[int, int] = {}

    def text(self, value: Any, data: bool) -> str:
        """The whole text of one value; with `data`, arrays of numbers by shape and type alone."""
        self.write(value, data)
        return "".join(self.parts)

    def write(self, value: Any, data: bool) -> None:
        """Add a value."""
        if value is None or (isinstance(value, bool | int | float | complex | str | bytes) and _is_plain(type(value))):
            self.parts.append(f"{type(value).__name__}:{value!r};")
        elif is_data(value):
            self._array(value, data)
        elif isinstance(value, enum.Enum):
            self.parts.append(f"{_name(type(value))}.{value.name};")
        elif isinstance(value, type):
            self.parts.append(f"class {_name(value)};")
        elif isinstance(value, types.ModuleType):
            self.parts.append(f"module {_check(value.__name__)};")
        elif isinstance(value, slice | range):
            self.parts.append(f"{value!r};")
        elif isinstance(value, np.dtype):
            self.parts.append(f"dtype {value.str};")
        elif id(value) in self.open:
            self.parts.append(f"again {self.open[id(value)]};")
        else:
            self.open[id(value)] = len(self.open)
            self._compound(value, data)
            del self.open[id(value)]

    def _compound(self, value: Any, data: bool) -> None:
        if isinstance(value, tuple | list):
            kind = type(value)
            self._all(kind.__name__ if _is_plain(kind) else _name(kind), value, data)
        elif isinstance(value, dict | types.MappingProxyType):
            self._all("keys", list(value), False)
            self._all("values", value.values(), data)
        elif isinstance(value, frozenset | set):
            self._all("set", sorted(write_constant(entry) for entry in value), False)
        elif callable(value) and not dataclasses.is_dataclass(value):
            self._function(value)
        else:
            self._object(value, data)

    def _all(self, name: str, values: Any, data: bool) -> None:
        self.parts.append(f"{name}(")
        for value in values:
            self.write(value, data)
        self.parts.append(")")

    def _array(self, value: Any, data: bool) -> None:
        if isinstance(value, jax.core.Tracer) or not is_number(value.dtype):
            raise UnwritableError("an array whose numbers are not known")
        self.parts.append(f"array {shape_of(value)}")
        if not data:
            self.parts.append(hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest())
        self.parts.append(";")

    def _function(self, value: Any) -> None:
        if isinstance(value, functools.partial):
            self._all("partial", (value.func, value.args, value.keywords), False)
        elif isinstance(value, types.MethodType):
            self._all("method", (value.__self__, value.__func__), False)
        elif isinstance(value, types.FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            name = f"def {_name(value)} line {value.__code__.co_firstlineno} {_code(value.__code__)}"
            self._all(name, (cells, value.__defaults__, value.__kwdefaults__), False)
        elif isinstance(value, types.BuiltinFunctionType | np.ufunc):
            self.parts.append(f"builtin {value.__name__};")
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType) and _is_known(type(value)):
            self._all(f"{type(value).__name__} of", (value.__wrapped__,), False)
        else:
            self._object(value, False)

    def _object(self, value: Any, data: bool) -> None:
        """A module of equinox, a dataclass, or a plain object of saltus: its class and its fields."""
        name = _name(type(value))
        if dataclasses.is_dataclass(value):
            # Only in what JAX takes apart are arrays data; elsewhere they are constants.
            data = data and not jax.tree_util.all_leaves([value])
            fields = [(field.name, field.metadata.get("static", False)) for field in dataclasses.fields(value)]
        elif name.startswith("saltus.") and hasattr(value, "__dict__"):
            fields = [(key, True) for key in sorted(vars(value))]
        else:
            raise UnwritableError(f"an object of {name}")
        self.parts.append(f"{name}{{")
        for field, static in fields:
            self.parts.append(f"{field}=")
            self.write(getattr(value, field, None), data and not static)
        self.parts.append("}")


def is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biufc"


def _is_plain(kind: type) -> bool:
    return kind.__module__ == "builtins"


def _is_known(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in KNOWN


def _code(code: types.CodeType) -> str:
    """What tells apart two functions of one name and line."""
    digest = hashlib.sha256(code.co_code)
    for constant in code.co_consts:
        told = _code(constant) if isinstance(constant, types.CodeType) else repr(constant)
        digest.update(told.encode())
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    return digest.hexdigest()[:16]


def _check(module: str) -> str:
    if module.partition(".")[0] not in KNOWN:
        raise UnwritableError(f"code of {module or 'nowhere'}")
    return module


def _name(thing: Any) -> str:
    """Module and name of a class or function, if that says what it is."""
    module = _check(getattr(thing, "__module__", None) or "")
    if isinstance(thing, type) and "<locals>" in thing.__qualname__:
        raise UnwritableError(f"the class {thing.__qualname__}, made by a function")
    return f"{module}.{thing.__qualname__}"
