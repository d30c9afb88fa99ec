"""The machine code of a kept program, loaded as it is: nothing is traced, lowered or looked up by its text.

JAX's own cache of compiled code needs the whole program to find its entry; here the name of the program finds it. The
code holds for one kind of processor (`machine`). Neither reading nor writing it is part of JAX's public surface, so
whatever a version of JAX does otherwise means only that the program is compiled from its text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import os
import platform
import stat
import sys
import threading
import types
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.core
import jax.monitoring
import jax.stages
import numpy as np

from saltus.programs import lean, store

TELLING = ("vendor_id", "model", "model name", "flags", "Features", "CPU implementer", "CPU part")  # of /proc/cpuinfo

PARTS = frozenset((
    "xla_executable", "device_list", "backend", "input_avals", "input_shardings", "output_avals", "output_shardings",
    "committed", "name", "unordered_effects", "ordered_effects", "keepalive", "host_callbacks", "kept_var_idx", "mut",
    "xla_in_layouts", "dispatch_in_layouts", "xla_out_layouts", "all_args_info", "pgle_profiler",
    "auto_spmd_lowering",  # of JAX 0.8
))  # fmt: skip
FOUND = "/jax/compilation_cache/cache_hits"  # what JAX reports
LEAST_TIME = "jax_persistent_cache_min_compile_time_secs"  # that a compilation must take to be kept by JAX
NEVER = 1e9

_found: dict[int, int] = {}  # what each thread has found in JAX's cache
_compiling: list[bool] = []  # one for each thread that compiles now
_least: list[float] = []  # the setting while nobody compiles
_settings, _lapack = threading.Lock(), threading.Lock()

# What a version of JAX raises that has other classes, other fields or another client.
OTHER_JAX = (ImportError, AttributeError, TypeError, KeyError, ValueError, NotImplementedError, RuntimeError,
             zlib.error)  # fmt: skip


@functools.cache
def machine() -> str:
    """What compiled code depends on beside its program: the processor, the compiler's flags and version."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
        facts = [line for line in first.splitlines() if line.partition(":")[0].strip() in TELLING]
    except OSError:
        facts = [platform.machine(), platform.processor(), platform.platform()]
    client = jax.devices()[0].client
    told = "\n".join([*facts, client.platform, client.platform_version, os.environ.get("XLA_FLAGS", "")])
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@functools.cache
def possible() -> bool:
    """Whether this version of JAX hands out its code, and takes it back, in the way known here."""
    try:
        from jax._src.interpreters import pxla

        wanted = {field.name for field in dataclasses.fields(pxla.UnloadedMeshExecutable)}
        return jax.default_backend() == "cpu" and wanted <= PARTS
    except OTHER_JAX:
        return False


@contextlib.contextmanager
def compiling() -> Iterator[Callable[[], bool]]:
    """While a program is compiled whose code is kept here, JAX does not keep it too.

    Yields what tells afterwards whether it was compiled: code that JAX had kept before cannot be handed out again.
    """
    if not possible():
        yield lambda: False
        return
    _listen()
    before = _found.get(threading.get_ident(), 0)
    with _settings:
        if not _compiling:
            _least[:] = [getattr(jax.config, LEAST_TIME)]
            jax.config.update(LEAST_TIME, NEVER)
        _compiling.append(True)
    try:
        yield lambda: _found.get(threading.get_ident(), 0) == before
    finally:
        with _settings:
            _compiling.pop()
            if not _compiling:
                jax.config.update(LEAST_TIME, _least[0])


@functools.cache
def _listen() -> None:
    """Count from now on what JAX finds in its own cache, thread by thread."""

    def hear(event: str, **_: Any) -> None:
        if event == FOUND:
            thread = threading.get_ident()
            _found[thread] = _found.get(thread, 0) + 1

    jax.monitoring.register_event_listener(hear)


def is_there(folder: Path, name: str) -> bool:
    """Whether the code of a program is kept."""
    return possible() and (folder / f"{_file(name)}{store.CODE}").exists()


def read(folder: Path, name: str) -> tuple[Any, Callable] | None:
    """The form of the results and the program as a function of flat arrays; None where it has to be compiled."""
    if not possible() or not _is_trusted(folder / f"{_file(name)}{store.CODE}"):
        return None
    kept = store.read(folder, _file(name), store.CODE)
    if kept is None:
        return None
    header, data = kept
    try:
        return header["form"], _load(header, zlib.decompress(data))
    except OTHER_JAX:
        store.throw_away(folder / f"{_file(name)}{store.CODE}")
        return None


def _is_trusted(path: Path) -> bool:
    """Whether nobody but this user (or root) can have written a file: what is read from it runs."""
    if not hasattr(os, "getuid"):
        return True
    try:
        facts = [one.stat() for one in (path, path.parent)]
    except OSError:
        return False
    return all(one.st_uid in (os.getuid(), 0) and not one.st_mode & stat.S_IWOTH for one in facts)


def write(folder: Path, name: str, form: Any, compiled: jax.stages.Compiled) -> None:
    """Keep the code of a compiled program; not where this version of JAX does not hand it out."""
    if not possible():
        return
    try:
        made: Any = compiled
        unloaded = made._executable._unloaded_executable
        if unloaded.mut or unloaded.host_callbacks or unloaded.unordered_effects or unloaded.ordered_effects:
            return
        count = len(unloaded.input_avals)
        if set(unloaded.kept_var_idx) != set(range(count)) or made._params.const_args:
            return
        data = _serialize(unloaded.xla_executable)
        header = {
            "form": form,
            "libraries": b"custom-call" in data,
            "committed": bool(unloaded.committed),
            "inputs": [_aval(one) for one in unloaded.input_avals],
            "outputs": [_aval(one) for one in unloaded.output_avals],
        }
    except OTHER_JAX:
        return
    store.write(folder, _file(name), header, zlib.compress(_smallest(data), 1), suffix=store.CODE)


def _serialize(executable: Any) -> bytes:
    """Compiled code as bytes; in JAX 0.8 it is the client that writes them."""
    own = getattr(executable, "serialize", None)
    return own() if own is not None else executable.client.serialize_executable(executable)


def _smallest(data: bytes) -> bytes:
    """Serialised code without what only its compiler needs, where its form is known."""
    try:
        return lean.lean(data) if lean.possible() else data
    except lean.OtherFormError:
        return data


def _file(name: str) -> str:
    return f"{name}-{machine()}"


def _aval(one: Any) -> list:
    return [list(one.shape), np.dtype(one.dtype).name, bool(one.weak_type)]


def _load(header: dict, data: bytes) -> Callable:
    """The program as JAX's own reader of compiled code would build it, from plain data in the place of a pickle."""
    from jax._src.interpreters import pxla
    from jax._src.lib import xla_client
    from jax._src.sharding_impls import SingleDeviceSharding

    if header["libraries"]:
        start_lapack()
    device = jax.devices()[0]
    devices = xla_client.DeviceList((device,))
    inputs, outputs = (
        [jax.core.ShapedArray(tuple(shape), np.dtype(kind), weak_type=weak) for shape, kind, weak in header[which]]
        for which in ("inputs", "outputs")
    )
    here = SingleDeviceSharding(device)
    parts: dict[str, Any] = {
        "xla_executable": device.client.deserialize_executable(data, executable_devices=devices),
        "device_list": devices, "backend": device.client,
        "input_avals": inputs, "input_shardings": [here] * len(inputs),
        "output_avals": outputs, "output_shardings": [here] * len(outputs),
        "committed": header["committed"], "name": "saltus program", "unordered_effects": [], "ordered_effects": [],
        "keepalive": [], "host_callbacks": [], "kept_var_idx": set(range(len(inputs))), "mut": None,
        "xla_in_layouts": [None] * len(inputs), "dispatch_in_layouts": [None] * len(inputs),
        "xla_out_layouts": [None] * len(outputs), "all_args_info": None, "pgle_profiler": None,
        "auto_spmd_lowering": False,
    }  # fmt: skip
    wanted = {field.name for field in dataclasses.fields(pxla.UnloadedMeshExecutable)}
    executable = pxla.UnloadedMeshExecutable(**{name: parts[name] for name in wanted}).load()
    return jax.stages.Compiled(executable, [], (tuple(inputs), {}), _tree(len(outputs)), no_kwargs=True)


def start_lapack() -> None:
    """What JAX does before it compiles a call of LAPACK; it asks SciPy for two modules, and needs none but these."""
    with _lapack:  # two threads must not import parts of one package
        _start_lapack()


@functools.cache
def _start_lapack() -> None:
    from jaxlib import lapack

    if "scipy.linalg" not in sys.modules:
        import scipy

        alone = types.ModuleType("scipy.linalg")  # instead of the package, whose other modules take long to load
        alone.__path__ = [str(Path(folder) / "linalg") for folder in scipy.__path__]
        sys.modules["scipy.linalg"] = alone
        try:
            importlib.import_module("scipy.linalg.cython_blas")
            importlib.import_module("scipy.linalg.cython_lapack")
        except (ImportError, AttributeError):  # of a SciPy that is built otherwise: loaded whole below
            pass
        finally:
            del sys.modules["scipy.linalg"]
    lapack._lapack.initialize()


@functools.cache
def _tree(count: int) -> Any:
    return jax.tree.structure([0] * count)
