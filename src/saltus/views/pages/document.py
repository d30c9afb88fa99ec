"""Everything that a page tells of a run, as plain data for the player."""

from __future__ import annotations

import importlib
import platform
from types import ModuleType
from typing import Any

import numpy as np
import xarray as xr

from saltus.views.motion import moves_until
from saltus.views.pages.arrays import as_texts, chosen_rows, pack, unit_text
from saltus.views.pages.scene import Scene

KINDS = {
    "bodies": "bodies",
    "butterfly": "balls",
    "butterfly_plan": "balls",
    "chain": "chain",
    "ground_body": "bodies",
    "plane_ball": "balls",
    "raft": "sliding",
    "rails": "balls",
    "sliding": "sliding",
}
BYTES = 2_400_000  # of the arrays of a scene, before base64
MOST_ROWS = 3000
CURVE_ROWS = 1600
MOST_EVENTS = 2000
NOT_SHOWN = ("event_time", "event_name", "event_t")


def document(dataset: xr.Dataset, share: float = 1.0) -> dict[str, Any]:
    """The scene, the curves, the events and the facts of a run.

    Args:
        dataset: The run.
        share: Of the size that a page may have; less where a page holds several runs.
    """
    view = view_of(dataset)
    scene = view.scene(dataset, chosen_rows(dataset, _row_limit(dataset, share)))
    rows = scene.rows if scene is not None else chosen_rows(dataset, CURVE_ROWS)
    curve_rows = chosen_rows(dataset, max(int(share * CURVE_ROWS), 300))
    return {
        "title": str(dataset.attrs.get("scenario_name") or dataset.attrs.get("kind", "run")),
        "kind": str(dataset.attrs.get("kind", "")),
        "about": description(dataset),
        "scenario": str(dataset.attrs.get("scenario", "")),
        "outcome": _outcome(dataset),
        "facts": facts(dataset),
        "rows": _times(dataset, rows),
        "curves": {
            **_times(dataset, curve_rows),
            "panels": [panel.pack(curve_rows) for panel in view.panels(dataset) if panel is not None],
        },
        "moves_until": moves_until(dataset),
        "scene": None if scene is None else scene.pack(),
        "modes": _modes(dataset, curve_rows),
        "events": _events(dataset, scene),
    }


def view_of(dataset: xr.Dataset) -> ModuleType:
    """The module that draws this kind; the generic one for other kinds, or where something it needs is missing."""
    name = KINDS.get(str(dataset.attrs.get("kind")))
    if name is not None:
        view = importlib.import_module(f"saltus.views.pages.{name}")
        if all(one in dataset.variables for one in view.NEEDS):
            return view
    return importlib.import_module("saltus.views.pages.generic")


def _row_limit(dataset: xr.Dataset, share: float) -> int:
    """So many rows that the arrays stay within their share of the page."""
    names = ("position", "quaternion", "rod_force", "tension", "velocity", "normal_force")
    per_row = sum(4 * dataset[name][0].size for name in names if name in dataset and dataset[name].dims[0] == "time")
    if per_row > 4000:  # crowds are drawn without arrows
        per_row = sum(4 * dataset[name][0].size for name in names[:4] if name in dataset)
    return int(np.clip(share * BYTES // max(per_row, 1), 120, max(share * MOST_ROWS, 300)))


def _measurements(dataset: xr.Dataset) -> list[tuple[str, str]]:
    """Single numbers of a run, such as the averages of a gas, with their errors and units."""
    found = []
    for name, variable in dataset.data_vars.items():
        if variable.ndim or variable.dtype.kind not in "fiu" or str(name).endswith("_error"):
            continue
        words = str(variable.attrs.get("long_name") or name).replace("_", " ")
        scatter = float(dataset[f"{name}_error"]) if f"{name}_error" in dataset else np.nan
        if np.isnan(float(variable)):  # it was not measured
            continue
        error = f" ± {scatter:.2g}" if np.isfinite(scatter) else ""
        found.append((words, f"{float(variable):.6g}{error} {unit_text(str(variable.attrs.get('units', '')))}".strip()))
    return found


def _times(dataset: xr.Dataset, rows: np.ndarray) -> dict[str, Any]:
    return {"time": pack(dataset["time"].values[rows], "f8"), "side": pack(dataset["jump_side"].values[rows], "i1")}


def description(dataset: xr.Dataset) -> str:
    """The comment in the first line of the scenario, as in the catalogue."""
    first = str(dataset.attrs.get("scenario", "")).lstrip().partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def _outcome(dataset: xr.Dataset) -> dict[str, Any]:
    name = str(dataset.attrs.get("outcome", ""))
    ok = bool(dataset.attrs.get("outcome_ok", True))
    return {"name": name.replace("_", " "), "message": str(dataset.attrs.get("outcome_message", "")), "ok": ok}


def facts(dataset: xr.Dataset) -> list[list[str]]:
    """What is worth knowing of how the run was made and how exact it is."""
    from saltus.diagnostics import constraint_drift, energy_balance

    time = dataset["time"].values
    found = [["kind", str(dataset.attrs.get("kind", ""))], ["time", f"{time[0]:g} to {time[-1]:.9g} s"]]
    if all(f"{name}_energy" in dataset for name in ("kinetic", "potential", "dissipated")):
        balance = energy_balance(dataset)
        found.append(["energy", f"{balance.initial:.6g} J at the start, {balance.final:.6g} J at the end"])
        found.append(["dissipated", f"{balance.dissipated:.6g} J"])
        told = f"{balance.residual:.2g} J unaccounted for, {balance.relative:.1e} of what was exchanged"
        found.append(["energy balance", told])
    drift = constraint_drift(dataset)
    if drift is not None:
        found.append(["constraints", f"kept to {drift:.1e}, relative"])
    found += [[words, text] for words, text in _measurements(dataset)]
    if "wall_time" in dataset.attrs:
        found.append(["wall time", f"{float(dataset.attrs['wall_time']):.3g} s"])
    found.append(["saltus", str(dataset.attrs.get("saltus_version", ""))])
    found.append(["Python, NumPy", f"{platform.python_version()}, {np.__version__}"])
    return found


def _modes(dataset: xr.Dataset, rows: np.ndarray) -> dict[str, Any] | None:
    """The modes of each body over time."""
    names = [word.replace("_", " ") for word in str(dataset.attrs.get("mode_names", "")).split(", ")]
    if "mode" not in dataset or len(names) < 2:
        return None
    values = dataset["mode"].values
    if len(np.unique(values)) < 2:
        return None
    dim = "" if values.ndim == 1 else str(dataset["mode"].dims[1])
    values = values.reshape(len(values), -1)
    of = [f"{dim} {i}" if values.shape[1] > 1 else "mode" for i in range(values.shape[1])]
    return {"names": names, "of": of, "values": pack(values[rows], "u1")}


def _events(dataset: xr.Dataset, scene: Scene | None) -> dict[str, Any]:
    """The table of events, as texts, and where they happened."""
    count = min(dataset.sizes.get("event", 0), MOST_EVENTS)
    names = [str(name).replace("_", " ") for name in dataset["event_name"].values[:count]]
    known = list(dict.fromkeys(names))
    columns = []
    for name, variable in dataset.data_vars.items():
        if variable.dims[:1] != ("event",) or name in NOT_SHOWN or variable.ndim > 2:
            continue
        texts = as_texts(variable.values[:count])
        if any(texts) and not (name == "event_index" and len(set(texts)) < 2):
            units = unit_text(str(variable.attrs.get("units", "")))
            title = str(name).removeprefix("event_").replace("_", " ")
            columns.append({"title": f"{title} [{units}]" if units else title, "cells": texts})
    found = {
        "names": known,
        "which": [known.index(name) for name in names],
        "columns": columns,
        "time": pack(dataset["event_time"].values[:count], "f8"),
        "all": int(dataset.sizes.get("event", 0)),
    }
    if scene is not None and "event_point" in dataset and dataset["event_point"].shape[-1:] == (3,):
        found["point"] = scene.place(dataset["event_point"].values[:count])
    return found
