"""`program`: a compiled function whose trace is kept between processes, in the place of `equinox.filter_jit`."""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import equinox as eqx
import jax
import jax.core
import jax.export
import jax.numpy as jnp
import numpy as np

from saltus._jax_settings import programs_directory
from saltus.programs import ahead, code, store, waiting
from saltus.programs.sources import changed_since_start
from saltus.programs.structure import FormError, describe, rebuild
from saltus.programs.text import (
    UnwritableError,
    is_data,
    is_number,
    settings,
    surroundings,
    write,
    write_constant,
)

# JAX raises the second and third for callbacks, and for library calls that it does not promise to keep; the last is
# raised where flatbuffers is missing.
NOT_KEPT = (UnwritableError, NotImplementedError, ValueError, ImportError)
P = ParamSpec("P")
R = TypeVar("R")
HASH = 40  # characters of the digest that names a file
# XLA repeats its simplifications until none of them finds anything, and those of loops go on finding things to change
# for ten rounds and more. What stays the same in a loop it moves out of it, one small kernel for each operation; LLVM
# does that too, and better.
MANY_ROUNDS = "simplify-while-loops,while-loop-constant-sinking,reshape-mover,while-loop-invariant-code-motion"
FEWER_ROUNDS = {"xla_disable_hlo_passes": MANY_ROUNDS}
# The loops of large formulas gain nothing from the dearer passes of LLVM, which take a quarter of the time to compile.
# In one module: cut into several for as many threads, it takes a fifteenth longer where all cores are busy anyway.
# XLA adds up 32 numbers and more in windows, which in a loop compiled as one piece are no quicker than the plain sum,
# and take a fifth of the time in which the steps of a raft are compiled.
WINDOWS = "tree_reduction_rewriter"
PLAINER = {
    "xla_disable_hlo_passes": f"{MANY_ROUNDS},{WINDOWS}",
    "xla_backend_optimization_level": 1,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# Machine code without optimisation: compiled in a third of the time, and two to three times as slow. What XLA tells
# LLVM of memory that does not overlap is of use to optimisations alone, and a sixth of the time goes into it.
BRIEF = {
    **PLAINER,
    "xla_backend_optimization_level": 0,
    "xla_llvm_enable_alias_scope_metadata": False,
    "xla_llvm_enable_noalias_metadata": False,
    "xla_llvm_enable_invariant_load_metadata": False,
}


class Program:
    """A function compiled as by `equinox.filter_jit`: arrays are data, all else decides what is traced.

    Its machine code is kept in the folder of `saltus.configure` and read back by later processes, which then neither
    trace nor compile it; with a version of JAX that does not hand out its code, what it traces is kept. Inside another
    trace (`jit`, `grad`, `vmap`), for code of a user, for what JAX cannot export, and where nothing is to be kept it is
    `filter_jit` and no more.

    Args:
        function: What is compiled.
        options: What the compiler is told beside its flags; the same whether or not the program is kept, so that its
            bits are too.
    """

    def __init__(self, function: Callable, options: dict[str, Any] | None = None):
        functools.update_wrapper(self, function)
        self.function, self.options = function, options or {}
        self.within = eqx.filter_jit(function)  # another trace, which decides on options
        told: dict[str, Any] = {"compiler_options": options} if options else {}
        self.plain = eqx.filter_jit(function, **told) if told else self.within
        self._known: dict[Any, _Flat | None] = {}
        self._named: dict[str, Future[_Flat | None]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if programs_directory() is None:
            traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
            return self.within(*args, **kwargs) if traced else self._compute(args, kwargs)
        data, static = [], []
        for leaf in leaves:  # of which there are dozens at every call: each is asked as little as can be
            sort = _sort_of(type(leaf))
            if sort is _Sort.traced:
                return self.within(*args, **kwargs)
            if sort is _Sort.static:
                static.append((type(leaf), leaf))
                continue
            data.append(leaf)
            static.append(leaf.aval if sort is _Sort.device else _aval_of(leaf.shape, leaf.dtype))
        key = tree, tuple(static), settings()
        try:
            flat = self._known[key]
        except KeyError:
            flat = self._known[key] = self._find((args, kwargs), leaves, tree)
        except TypeError:  # something that cannot be hashed, and so not be known again
            return self._compute(args, kwargs)
        return self._compute(args, kwargs) if flat is None else flat(data)

    def _compute(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The answer for known numbers, also while something else is traced: there options are not allowed."""
        if not self.options:
            return self.plain(*args, **kwargs)
        with jax.core.eval_context():
            return self.plain(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def prepare(self, args: tuple, rank: ahead.Rank) -> None:
        """Have another thread make the program for arguments like these, which a run under way will call.

        Only within `ahead.load_ahead`, and only where no code of it is kept: that is loaded ahead.
        """
        folder = programs_directory()
        if folder is None or not ahead.under_way() or not _on_one_device():
            return
        leaves, tree = jax.tree.flatten((args, {}))
        name = self._name((args, {}))
        if name is not None and not code.is_there(folder, name):
            # Not where the run has come to it first: who makes programs goes on with the next.
            ahead.submit(lambda: None if name in self._named else self._once(folder, name, leaves, tree), rank)

    def _find(self, given: tuple, leaves: list, tree: Any) -> _Flat | None:
        """The program for arguments of this form: from the folder, or traced and kept; None if it cannot be kept."""
        folder = programs_directory()
        if folder is None or not _on_one_device():
            return None
        name = self._name(given)
        if name is None:
            return None
        ahead.note(name)  # not where it is only made ready: the run may do without it
        return self._once(folder, name, leaves, tree)

    def _name(self, given: tuple) -> str | None:
        """What the program for these arguments is called; None if it cannot be kept."""
        try:
            parts = [surroundings(), settings(), write_constant(self.function), write(given)]
        except UnwritableError:
            return None
        parts += [f"{key}={value}" for key, value in self.options.items()]
        return f"{self.function.__name__.strip('_<>')}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:HASH]}"

    def _once(self, folder: Path, name: str, leaves: list, tree: Any) -> _Flat | None:
        """The program of this name, read or made by the first thread that asks; others wait for it."""
        with _naming:
            begun = self._named.get(name)
            ours = self._named.setdefault(name, Future()) if begun is None else None
        if begun is not None:
            return begun.result()
        assert ours is not None
        try:
            ours.set_result(self._read_or_make(folder, name, leaves, tree))
        except BaseException as error:
            with _naming:
                del self._named[name]
            ours.set_exception(error)
            raise
        return ours.result()

    def _read_or_make(self, folder: Path, name: str, leaves: list, tree: Any) -> _Flat | None:
        """The program of this name: its code as it was compiled, or compiled from what was traced, or traced."""
        ready = _from_code(ahead.load_code(name, lambda: code.read(folder, name)))
        if ready is not None:
            return ready
        with waiting.making(), contextlib.ExitStack() as alone:
            alone.enter_context(store.alone(folder, name))
            made = _from_code(code.read(folder, name))  # another process may have made it while this one waited
            if made is None and not code.possible():
                made = _from_trace(folder, name, self.options, alone)
            return self._make(folder, name, leaves, tree, alone) if made is None else made

    def _make(self, folder: Path, name: str, leaves: list, tree: Any, alone: contextlib.ExitStack) -> _Flat | None:
        """The program, traced now; None if it cannot be kept. Where its code is, what was traced need not be."""
        try:
            form: list[Any] = []  # known once it is traced
            flat, like = _flatten(self.function, leaves, tree, form)
            if code.possible():
                return _compile(folder, name, form, flat, like, self.options, alone)
            exported = jax.export.export(jax.jit(flat))(*like)
            kept = bytes(exported.serialize())
            made = _compile(folder, name, form, exported.call, exported.in_avals, self.options, alone)
        except NOT_KEPT:
            return None
        if not changed_since_start():
            store.write(folder, name, form[0], kept)
        return made


def _from_code(found: tuple[Any, Callable] | None) -> _Flat | None:
    """The program from its code; None where there is none, or none that fits its form."""
    if found is None:
        return None
    try:
        return _Flat(*found)
    except Exception:  # of another form, although its digest is right
        return None


def _from_trace(folder: Path, name: str, options: dict[str, Any], alone: contextlib.ExitStack) -> _Flat | None:
    """The program from what was traced; None where there is none."""
    kept = store.read(folder, name)
    if kept is None:
        return None
    try:
        exported = jax.export.deserialize(bytearray(kept[1]))
        return _compile(folder, name, [kept[0]], exported.call, exported.in_avals, options, alone)
    except Exception:  # of another form, although its digest is right: made anew
        store.throw_away(folder / f"{name}{store.SUFFIX}")
        return None


def _compile(
    folder: Path, name: str, form: list[Any], function: Callable, like: Sequence[Any], options: dict[str, Any],
    alone: contextlib.ExitStack,
) -> _Flat:  # fmt: skip
    """A function of flat arrays, compiled; its code is kept, and until it is other processes wait for it (`alone`)."""

    # Compiled here and now: the results of an exported program are bound to their device, and `jit` would compile
    # again for arguments that are.
    def call(*data: Any) -> Any:
        return function(*data)

    call.__name__ = call.__qualname__ = name
    code.start_lapack()  # else JAX does it, the long way, whether or not the program calls it
    lowered = jax.jit(call, keep_unused=True).lower(*like)
    ahead.let_python_go()
    with code.compiling() as anew:
        compiled = lowered.compile(compiler_options=options or None)
    if anew() and not changed_since_start():
        until_kept = alone.pop_all()

        def keep() -> None:
            with until_kept:
                code.write(folder, name, form[0], compiled)

        ahead.write(keep)
    return _Flat(form[0], compiled)


_naming = threading.Lock()


class _Flat:
    """A program of flat arrays, and the form of its result."""

    def __init__(self, form: Any, compiled: Any):
        count = compiled.out_tree.num_leaves
        slots = [_Slot() for _ in range(count)]
        template, self.tree = jax.tree.flatten(rebuild(form, slots))
        places = {slot: place for place, slot in enumerate(template) if isinstance(slot, _Slot)}
        if len(places) != count:
            raise FormError("arrays that the form does not hold")
        self.template, self.places = template, [places[slot] for slot in slots]
        self.call = compiled

    def __call__(self, data: list) -> Any:
        leaves = self.template.copy()
        for place, array in zip(self.places, self.call(*data), strict=True):
            leaves[place] = array
        return self.tree.unflatten(leaves)


class _Sort(enum.Enum):
    """What a leaf of the arguments is to a program."""

    device, host, traced, static = range(4)


@functools.cache
def _sort_of(kind: type) -> _Sort:
    """What leaves of this class are; as `is_data` says, which asks every leaf anew."""
    if issubclass(kind, jax.core.Tracer):
        return _Sort.traced
    if issubclass(kind, np.ndarray | np.generic):
        return _Sort.host
    return _Sort.device if issubclass(kind, jax.Array) else _Sort.static


@functools.cache
def _aval_of(shape: tuple[int, ...], dtype: Any) -> Any:
    """The type that an array of NumPy has as one of JAX; the same object for both, so that it is quickly compared."""
    return jax.core.ShapedArray(shape, dtype) if is_number(dtype) else (shape, dtype)


class _Slot:
    """Where an array goes."""


def _on_one_device() -> bool:
    """Whether it is plain where and how a program runs; else JAX decides for every call."""
    device, interpreted = (getattr(jax.config, name) for name in ("jax_default_device", "jax_disable_jit"))
    return jax.device_count() == 1 and (device is None or device in jax.devices()) and not interpreted


def _flatten(function: Callable, leaves: list, tree: Any, form: list[Any]) -> tuple[Callable, list]:
    """A function as one of flat arrays, and what arrays it takes; traced, it puts down the form of its result."""

    def flat(*data: Any) -> list:
        arrays = iter(data)
        args, kwargs = jax.tree.unflatten(tree, [next(arrays) if is_data(leaf) else leaf for leaf in leaves])
        result = function(*args, **kwargs)
        form[:] = [describe(result)[0]]
        # As it will be in later processes, where it is not known any more that a number was written without a type.
        return [jnp.asarray(array, array.dtype) for array in _arrays(result)]

    flat.__name__ = flat.__qualname__ = function.__name__
    like = [
        jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=bool(getattr(leaf, "weak_type", False)))
        for leaf in leaves
        if is_data(leaf)
    ]
    return flat, like


def _arrays(result: Any) -> list:
    """The arrays of a result in the order in which `describe` numbers them."""
    found: list = []

    def gather(value: Any) -> None:
        if value is None:
            return
        if is_data(value):
            found.append(value)
        elif isinstance(value, dict):
            for key in sorted(value):
                gather(value[key])
        elif isinstance(value, tuple | list):
            for entry in value:
                gather(entry)
        elif hasattr(type(value), "__dataclass_fields__"):
            for name in type(value).__dataclass_fields__:
                gather(getattr(value, name))

    gather(result)
    return found


def program(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function and keep what is traced between processes (see `Program`)."""
    return cast("Callable[P, R]", Program(function))


def plain_program(function: Callable[P, R]) -> Callable[P, R]:
    """As `program`, with fewer rounds of XLA over its loops: compiled in nine tenths of the time, as quick to 4 %."""
    return cast("Callable[P, R]", Program(function, FEWER_ROUNDS))


def large_program(function: Callable[P, R]) -> Callable[P, R]:
    """As `plain_program`, for one of thousands of operations on vectors: compiled in three quarters of the time."""
    return cast("Callable[P, R]", Program(function, PLAINER))


def brief_program(function: Callable[P, R]) -> Callable[P, R]:
    """As `program`, for what a run calls a few times: compiled in a third of the time, two to three times as slow."""
    return cast("Callable[P, R]", Program(function, BRIEF))


def prepare(function: Callable, *args: Any, rank: ahead.Rank = ahead.Rank.soon) -> None:
    """Have another thread make a program that a run under way will need (`Program.prepare`)."""
    if isinstance(function, Program):
        function.prepare(args, rank)
