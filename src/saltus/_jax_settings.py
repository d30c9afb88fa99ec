"""Settings that JAX must have before its first use; importing JAX is not needed for them."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

# The compiler's newer way to emit fused loops takes 2.5 times as long to compile for programs that run no faster.
# XLA ends the process if it does not know a flag, so it is given only to versions that have been tried.
QUICK_COMPILER = "--xla_cpu_use_fusion_emitters=false"
TRIED = ("0.10.",)


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


def quick_compiler_flag() -> str | None:
    """What makes XLA compile faster; None where that is not known, or where the user has decided otherwise."""
    if "fusion_emitters" in os.environ.get("XLA_FLAGS", ""):
        return None
    try:
        version = importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:
        return None
    return QUICK_COMPILER if version.startswith(TRIED) else None


def apply() -> None:
    """Double precision always (events need it), quick compilation, and its cache unless switched off."""
    flag = quick_compiler_flag()
    if flag is not None:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    settings: dict[str, object] = {"jax_enable_x64": True}
    cache = cache_directory()
    if cache is not None and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        settings["jax_compilation_cache_dir"] = str(cache)
        settings["jax_persistent_cache_min_compile_time_secs"] = 0.2
    for name, value in settings.items():
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)
        else:
            os.environ[name.upper()] = str(value)
