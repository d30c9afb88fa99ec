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
    return {"n_events": int(dataset.attrs["collisions"]), "measured": counted | single}


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """A summary as lines for people."""
    energy, drift = facts["energy"], facts["constraint_drift"]
    events = ", ".join(f"{count} {name}" for name, count in facts["events"].items())
    lines = [
        ("scenario", facts["scenario"] or f"(kind {facts['kind']})"),
        ("outcome", f"{facts['outcome']}: {facts['outcome_message']}"),
        ("time", f"{facts['start_time']:g} to {facts['end_time']:.9g} s"),
        ("events", f"{facts['n_events']} ({events})" if events else "none"),
    ]
    if energy is not None:
        unaccounted = f"{energy['unaccounted']:.2g} J unaccounted ({energy['unaccounted_relative']:.1e} relative)"
        lines += [
            ("energy", f"{energy['initial']:.6g} J at the start, {energy['final']:.6g} J at the end"),
            ("dissipated", f"{energy['dissipated']:.6g} J"),
            ("energy balance", unaccounted),
        ]
    lines += _rows_of_measurements(facts.get("measured", {}))
    lines.append(("constraint drift", "no constraints" if drift is None else f"{drift:.1e} relative"))
    if "wall_time" in facts:
        whole = f", {facts['total_time']:.3g} s with start and sampling" if "total_time" in facts else ""
        lines.append(("wall time", f"{facts['wall_time']:.3g} s{whole}"))
    lines += [("written", path) for path in facts.get("files", [])]
    return lines


def _rows_of_measurements(measured: dict[str, float]) -> list[tuple[str, str]]:
    """Measured numbers with their errors; those that were not measured are left out."""
    lines = []
    for name, value in measured.items():
        if name.endswith("_error") or value != value:
            continue
        error = measured.get(f"{name}_error")
        lines.append((name.replace("_", " "), f"{value:.6g}" + ("" if error is None else f" +- {error:.2g}")))
    return lines
