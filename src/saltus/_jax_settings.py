"""Settings that JAX must have before its first use; importing JAX is not needed for them."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path


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


SMALL_LOOP = 1_000_000_000  # bytes; loops with less in them are compiled as one piece, not kernel by kernel
QUICK_EMITTERS = ("0.9", "0.10")  # versions of jaxlib that know the flag (an unknown one ends the process)


_given: list[str] = []  # the flags of the user, before ours came to them


def compiler_flags(present: str, quick: bool = False) -> str:
    """The flags of the XLA compiler with ours added to those `present`, which win.

    A step of a small system consists of hundreds of tiny kernels; compiled as one piece, the loop
    over the steps runs about six times as fast. The plainer kernel emitters compile in half the time.

    Args:
        present: Flags that are set already.
        quick: For programs that run only a few times: kernel by kernel, with few optimisations, in one module.
    """
    known = importlib.metadata.version("jaxlib").rpartition(".")[0] in QUICK_EMITTERS
    ours = {"xla_cpu_use_fusion_emitters": "false"} if known else {}
    if not quick:
        ours = {"xla_backend_extra_options": f"xla_cpu_small_while_loop_byte_threshold={SMALL_LOOP}"} | ours
    elif known:
        ours |= {"xla_backend_optimization_level": "1", "xla_cpu_parallel_codegen_split_count": "1"}
    added = [f"--{name}={value}" for name, value in ours.items() if name not in present]
    return " ".join([*([present] if present else []), *added])


def quick_to_compile() -> dict[str, str]:
    """Environment of a process that compiles much and computes little; to be set before JAX is imported."""
    return {"XLA_FLAGS": compiler_flags(_given[0] if _given else "", quick=True)}


def apply() -> None:
    """Double precision always (events need it), compiler flags, and the cache unless switched off."""
    _given[:] = _given or [os.environ.get("XLA_FLAGS", "")]
    os.environ["XLA_FLAGS"] = compiler_flags(os.environ.get("XLA_FLAGS", ""))
    settings: dict[str, object] = {"jax_enable_x64": True}
    cache = cache_directory()
    if cache is not None and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        settings["jax_compilation_cache_dir"] = str(cache)
        settings["jax_persistent_cache_min_compile_time_secs"] = 0.0
    for name, value in settings.items():
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)
        else:
            os.environ[name.upper()] = str(value)
