"""What saltus asks of JAX: double precision always, and by `configure` a quicker compiler and a cache of programs.

Nothing here imports JAX: its settings are read from the environment when it starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

SMALL_LOOP = 1_000_000_000  # bytes; loops with less in them are compiled as one piece, not kernel by kernel
# A step of a small system consists of hundreds of tiny kernels; compiled as one piece, the loop over the steps runs
# about six times as fast.
FAST_LOOPS = f"--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold={SMALL_LOOP}"
# LLVM writes the bodies of loops out several times over; without it programs are as quick, and compiled in nine tenths
# of the time, those of a raft in three quarters.
FEW_COPIES = "--xla_backend_extra_options=-unroll-allow-partial=false"
# The plainer kernel emitters compile in half the time.
PLAIN_EMITTERS = "--xla_cpu_use_fusion_emitters=false"
# For programs that run only a few times: few optimisations, in one module.
QUICK = ("--xla_backend_optimization_level=1", "--xla_cpu_parallel_codegen_split_count=1")
# Versions of jaxlib that were seen to know all of these (a test tries them): nothing need be tried there.
PROVEN = {"0.10.2": (FAST_LOOPS, FEW_COPIES, PLAIN_EMITTERS, *QUICK)}
# The smallest thing that reads all flags: those of LLVM are read when something is compiled.
PROBE = "import jax; jax.jit(lambda x: x + 1.0)(1.0)"
REFUSALS = b"XLA_FLAGS", b"Unknown command line argument"  # what XLA and LLVM say of a flag that they do not know
PROBE_TIME = 60.0  # seconds in which a new process must have started JAX

STARTED = time.time()  # before any other module of saltus is loaded
_given: list[str] = []  # the flags of the user, before ours came to them
_configured: list[bool] = []  # whether anybody has decided on flags and cache
_programs: list[Path] = []  # where traced programs are kept, if they are


def enable_double_precision() -> None:
    """Events need it; without it JAX computes in single precision. `import saltus` does this and nothing else."""
    _set("jax_enable_x64", True)


def configure(*, flags: bool = True, cache: bool = True, programs: bool | None = None) -> None:
    """Have JAX compile for saltus, and keep compiled programs between runs.

    Both reach all JAX code of the process, so importing saltus does neither. Call it once, after the import and before
    JAX is used. The command line and the workers of an ensemble do. May be called again; what was done stays.

    Args:
        flags: Add to `XLA_FLAGS` what makes loops of small systems about six times as fast on a CPU, and compilation
            about twice as fast. Flags that are set already, or that this version of XLA does not know, are left out.
        cache: Keep compiled programs in the folder `cache_directory()`, unless the environment names another one
            (`SALTUS_CACHE`, which may be `off`, or `JAX_COMPILATION_CACHE_DIR`).
        programs: Keep traced programs too, so that later processes need not trace them; as `cache` if not given.
    """
    _configured[:] = [True]
    if flags:
        _given[:] = _given or [os.environ.get("XLA_FLAGS", "")]
        if _jax_has_started():
            if compiler_flags(os.environ.get("XLA_FLAGS", "")) != os.environ.get("XLA_FLAGS", ""):
                warnings.warn(
                    "saltus.configure() came after JAX had started, so that its compiler flags have no effect and runs "
                    "take longer. Call it right after `import saltus`.",
                    stacklevel=2,
                )
        else:
            os.environ["XLA_FLAGS"] = compiler_flags(os.environ.get("XLA_FLAGS", ""))
    folder = cache_directory() if cache else None
    if folder is not None and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        _set("jax_compilation_cache_dir", str(folder))
        _set("jax_persistent_cache_min_compile_time_secs", 0.0)
    if folder is not None and "JAX_TRACEBACK_IN_LOCATIONS_LIMIT" not in os.environ:
        _set("jax_traceback_in_locations_limit", 0)  # lines of Python in every operation: half of a kept program
    kept = cache if programs is None else programs
    _programs[:] = [] if folder is None or not kept else [folder / "programs"]


def programs_directory() -> Path | None:
    """Where traced programs are kept; None where they are not."""
    return _programs[0] if _programs else None


def remind_of_configure() -> None:
    """Say once, in one sentence, that runs could be faster; not where somebody has decided on it."""
    if not _configured:
        _configured[:] = [True]
        warnings.warn(
            "saltus runs without its compiler flags and its cache of programs, several times slower than need be: call "
            "saltus.configure() after the import, or saltus.configure(flags=False, cache=False) to leave JAX as it is.",
            stacklevel=3,
        )


def cache_directory() -> Path | None:
    """Where compiled code is kept between runs; None with SALTUS_CACHE=off.

    SALTUS_CACHE names another folder; otherwise the user's cache directory is used.
    """
    wanted = os.environ.get("SALTUS_CACHE", "")
    if wanted.lower() in ("off", "0", "no", "false"):
        return None
    if wanted:
        return Path(wanted)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "saltus" / "jax"


def compiler_flags(present: str, quick: bool = False) -> str:
    """The flags of the XLA compiler with ours added to those `present`, which win.

    Args:
        present: Flags that are set already.
        quick: For programs that run only a few times: kernel by kernel, with few optimisations, in one module.
    """
    ours = (PLAIN_EMITTERS, *QUICK) if quick else (FAST_LOOPS, FEW_COPIES, PLAIN_EMITTERS)
    missing = [flag for flag in ours if _name(flag) not in present]
    known = known_flags(tuple(missing)) if missing else []
    return " ".join([*([present] if present else []), *known])


def quick_to_compile() -> dict[str, str]:
    """Environment of a process that compiles much and computes little; to be set before JAX is imported."""
    return {"XLA_FLAGS": compiler_flags(_given[0] if _given else "", quick=True)}


def known_flags(flags: Sequence[str]) -> list[str]:
    """Those of `flags` that the installed XLA knows: an unknown one would end the process that uses it.

    For versions of jaxlib that are not `PROVEN` a new process tries them once, which takes about a second: the answer
    is kept beside the cache of programs.
    """
    if set(flags) <= set(PROVEN.get(_jaxlib(), ())):
        return list(flags)
    memory = _memory(flags)
    try:
        found = json.loads(memory.read_text(encoding="utf-8")) if memory is not None else None
    except (OSError, ValueError):
        found = None
    if not isinstance(found, list):
        found, certain = _try_flags(flags)
        if memory is not None and certain:
            _write(memory, json.dumps(found))
    return [flag for flag in flags if flag in found]


def _try_flags(flags: Sequence[str]) -> tuple[list[str], bool]:
    """Which flags XLA starts with, and whether that is certain: a process may fail for other reasons."""
    if (together := knows(flags)) is not False:
        return (list(flags), True) if together else ([], False)
    each = {flag: knows([flag]) for flag in flags}
    return [flag for flag, known in each.items() if known], None not in each.values()


def knows(flags: Sequence[str]) -> bool | None:
    """Whether XLA knows all of these flags, as a process of its own finds; None where that fails otherwise."""
    environment = {**os.environ, "XLA_FLAGS": " ".join(flags), "JAX_PLATFORMS": "cpu"}
    try:
        tried = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, timeout=PROBE_TIME, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if tried.returncode == 0:
        return True
    return False if any(words in tried.stderr for words in REFUSALS) else None


def _memory(flags: Sequence[str]) -> Path | None:
    """The file that remembers which flags are known; None where nothing is kept."""
    folder = cache_directory()
    if folder is None:
        return None
    digest = hashlib.sha256(" ".join(flags).encode()).hexdigest()[:12]
    return folder.parent / f"flags-{_jaxlib()}-{digest}.json"


def _jaxlib() -> str:
    """Version of the installed jaxlib."""
    import importlib.metadata

    return importlib.metadata.version("jaxlib")


def _write(path: Path, text: str) -> None:
    """Write a file whole, also where another process writes the same; not at all where there is no room."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.stem}.", delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        return  # the next process tries again


def _name(flag: str) -> str:
    return flag.removeprefix("--").partition("=")[0]


def _jax_has_started() -> bool:
    """Whether JAX has read its flags already."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bool(bridge.backends_are_initialized())


def _set(name: str, value: object) -> None:
    if "jax" in sys.modules:
        sys.modules["jax"].config.update(name, value)
    else:
        os.environ[name.upper()] = str(value)
