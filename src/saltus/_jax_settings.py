"""Settings that JAX must have before its first use; importing JAX is not needed for them."""

from __future__ import annotations

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


def apply() -> None:
    """Double precision always (events need it), and the compilation cache unless switched off."""
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
