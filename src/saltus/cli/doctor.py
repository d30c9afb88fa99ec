"""saltus doctor: what is installed, and whether it works."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import typer

from saltus.cli.console import print_json, print_pairs
from saltus.cli.options import Debug, Json

CORE = (
    "jax",
    "jaxlib",
    "equinox",
    "flatbuffers",
    "diffrax",
    "numpy",
    "scipy",
    "xarray",
    "netCDF4",
    "pydantic",
    "typer",
    "matplotlib",
)
# What each extra brings, by the name of a package to import, and what for.
EXTRAS = {
    "zarr": (("zarr",), "ensembles, .zarr results"),
    "cluster": (("distributed", "zarr"), "ensembles on a Dask cluster"),
    "sensitivity": (("SALib",), "Sobol indices"),
    "terrain": (("rasterio",), "maps as surfaces, hazard maps"),
    "studio": (("starlette", "uvicorn"), "the studio in the browser"),
}
PROGRAMS = {"ffmpeg": "animations as .mp4"}
ALLOWED = 1e-12  # [s]


def command(json: Json = False, debug: Debug = False) -> None:
    """Tell what is installed, on what it computes, and whether it works."""
    facts = examine()
    if json:
        print_json(facts)
    else:
        print_pairs(_rows(facts))
    if not facts["works"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """All that the doctor finds; exit code 1 hangs on `works`."""
    from saltus import __version__

    facts: dict[str, Any] = {
        "saltus": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "packages": {name: _version(name) for name in CORE},
        "extras": {
            name: {"installed": all(importlib.util.find_spec(one) for one in packages), "for": purpose}
            for name, (packages, purpose) in EXTRAS.items()
        },
        "programs": {name: {"installed": shutil.which(name) is not None, "for": use} for name, use in PROGRAMS.items()},
        "cache": _cache(),
    }
    return facts | _self_test()


def _version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    """Where compiled programs are kept, how many, and whether they can be written."""
    from saltus._jax_settings import cache_directory

    folder = cache_directory()
    if folder is None:
        return {"folder": None, "programs": 0, "bytes": 0, "writable": False}
    files = [one for one in folder.rglob("*") if one.is_file()] if folder.is_dir() else []
    nearest = next(one for one in (folder, *folder.parents) if one.exists())
    return {
        "folder": str(folder),
        "programs": len(files),
        "bytes": sum(one.stat().st_size for one in files),
        "writable": os.access(nearest, os.W_OK),
    }


def _self_test() -> dict[str, Any]:
    """A ball dropped from one metre: the time of its first bounce, and how long that took, after all is loaded."""
    try:
        import jax

        from saltus.diagnostics import self_test

        device = ", ".join(f"{one.platform} ({one.device_kind})" for one in jax.devices())
        began = time.perf_counter()
        error = abs(self_test.first_bounce() - self_test.EXACT)
        seconds = time.perf_counter() - began
        double = bool(jax.config.read("jax_enable_x64"))
    except Exception as problem:
        reason = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
        return {"device": None, "self_test": {"error": None, "reason": reason}, "works": False}
    return {
        "device": device,
        "self_test": {"error": error, "seconds": seconds, "double_precision": double},
        "works": error < ALLOWED and double,
    }


def _rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    cache, test = facts["cache"], facts["self_test"]
    rows = [("saltus", f"{facts['saltus']} in {Path(__file__).parents[1]}")]
    rows += [("python", f"{facts['python']} ({sys.executable})"), ("system", facts["system"])]
    rows += [(name, version or "not installed") for name, version in facts["packages"].items()]
    for name, extra in facts["extras"].items():
        told = "installed" if extra["installed"] else f"not installed: pip install 'saltus[{name}]'"
        rows.append((f"extra {name}", f"{told} ({extra['for']})"))
    for name, program in facts["programs"].items():
        rows.append((name, f"{'found' if program['installed'] else 'not found'} ({program['for']})"))
    if cache["folder"] is None:
        rows.append(("cache", "off (SALTUS_CACHE)"))
    else:
        writable = "" if cache["writable"] else ", cannot be written"
        rows.append(
            ("cache", f"{cache['programs']} files, {cache['bytes'] / 1e6:.1f} MB in {cache['folder']}{writable}")
        )
    rows.append(("device", facts["device"] or "none"))
    if facts["works"]:
        told = f"ok: a ball bounces {test['error']:.0e} s from its exact time, after {test['seconds']:.1f} s"
    else:
        told = f"FAIL: {test.get('reason') or test}"
    return [*rows, ("self-test", told)]
