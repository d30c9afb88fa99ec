"""What is said of a run: the same for machines and for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


def summary(dataset: xr.Dataset, name: str = "") -> dict[str, Any]:
    """Outcome, events, energy balance and constraint drift of a run."""
    from saltus.diagnostics import constraint_drift, energy_balance

    balance = energy_balance(dataset) if "kinetic_energy" in dataset else None
    facts = {
        "scenario": name or dataset.attrs.get("scenario_name", ""),
        "kind": dataset.attrs["kind"],
        "outcome": dataset.attrs["outcome"],
        "outcome_message": dataset.attrs["outcome_message"],
        "start_time": float(dataset.time[0]),
        "end_time": float(dataset.time[-1]),
        "n_events": int(dataset.sizes["event"]),
        "events": dict(Counter(str(event) for event in dataset["event_name"].values)),
        "energy": balance
        and {
            "initial": balance.initial,
            "final": balance.final,
            "dissipated": balance.dissipated,
            "unaccounted": balance.residual,
            "unaccounted_relative": balance.relative,
        },
        "constraint_drift": constraint_drift(dataset),
        "saltus_version": dataset.attrs["saltus_version"],
    }
    if "collisions" in dataset.attrs:
        facts |= _averages(dataset)
    return facts


def _averages(dataset: xr.Dataset) -> dict[str, Any]:
    """What was measured of a gas: numbers, and their standard errors where they have any."""
    single = {str(name): float(values) for name, values in dataset.data_vars.items() if values.ndim == 0}
    counted = {
        name: dataset.attrs[name] for name in ("collisions", "volume_fraction", "deepest_overlap", "energy_drift")
    }
    units = {str(name): str(values.attrs.get("units", "1")) for name, values in dataset.data_vars.items()}
    return {
        "n_events": int(dataset.attrs["collisions"]),
        "measured": counted | single,
        "units": {name: units.get(name, "1") for name in single} | {"deepest_overlap": "m"},
        "equilibration": {
            "collisions": int(dataset.attrs["equilibration"]),
            "verdict": dataset.attrs.get("equilibrium", "unknown"),
            "message": dataset.attrs.get("equilibrium_message", ""),
        },
        "correlations": correlations(dataset),
    }


def correlations(dataset: xr.Dataset) -> dict[str, str]:
    """What a gas remembers, and its structure, in one line each; nothing of what was not measured."""
    import numpy as np

    found = {}
    lag, squared = dataset["lag"].values, dataset["mean_squared_displacement"].values
    known = np.flatnonzero(np.isfinite(squared) & (lag > 0.0))
    if known.size:
        found["mean squared displacement"] = f"{squared[known[-1]]:.4g} m2 after {lag[known[-1]]:.4g} s"
    for name in ("velocity", "orientation"):
        values = dataset[f"{name}_autocorrelation"].values
        low = np.flatnonzero(values < values[0] / np.e) if values[0] > 0.0 else np.zeros(0, int)
        if low.size:
            after = np.interp(values[0] / np.e, values[[low[0], low[0] - 1]], lag[[low[0], low[0] - 1]])
            found[f"{name} autocorrelation"] = f"falls to 1/e after {after:.4g} s"
    pairs = dataset["pair_correlation"].values
    if pairs.max() > 0.0:
        found["pair correlation"] = f"largest {pairs.max():.4g} at {float(dataset['distance'][pairs.argmax()]):.4g} m"
    return found


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """A summary as lines for people."""
    energy, drift = facts["energy"], facts["constraint_drift"]
    events = ", ".join(f"{count} {name}" for name, count in facts["events"].items())
    lines = [
        ("scenario", facts["scenario"] or f"(kind {facts['kind']})"),
        ("outcome", f"{facts['outcome']}: {facts['outcome_message']}"),
        ("time", f"{facts['start_time']:g} to {facts['end_time']:.9g} s"),
        ("events", _count_text(facts["n_events"], events)),
    ]
    if energy is not None:
        unaccounted = f"{energy['unaccounted']:.2g} J unaccounted ({energy['unaccounted_relative']:.1e} relative)"
        lines += [
            ("energy", f"{energy['initial']:.6g} J at the start, {energy['final']:.6g} J at the end"),
            ("dissipated", f"{energy['dissipated']:.6g} J"),
            ("energy balance", unaccounted),
        ]
    if "measured" in facts:
        lines += _rows_of_gas(facts)
    lines.append(("constraint drift", "no constraints" if drift is None else f"{drift:.1e} relative"))
    if "wall_time" in facts:
        whole = f", {facts['total_time']:.3g} s with start and sampling" if "total_time" in facts else ""
        lines.append(("wall time", f"{facts['wall_time']:.3g} s{whole}"))
    lines += [("written", path) for path in facts.get("files", [])]
    return lines


def _count_text(count: int, names: str) -> str:
    if names:
        return f"{count} ({names})"
    return f"{count}, none of them kept" if count else "none"


def _rows_of_gas(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Measured numbers with their errors and units; those that were not measured are left out."""
    measured, units, before = facts["measured"], facts["units"], facts["equilibration"]
    lines = []
    if before["collisions"] and before["message"]:
        lines.append(("equilibration", f"{before['collisions']} collisions; {before['message']}"))
    for name, value in measured.items():
        if name.endswith("_error") or value != value:
            continue
        error = measured.get(f"{name}_error", float("nan"))
        text = f"{value:.6g}" + (f" +- {error:.2g}" if error == error else "")
        unit = units.get(name, "1")
        lines.append((name.replace("_", " "), text if unit == "1" else f"{text} {unit}"))
    return lines + list(facts["correlations"].items())
