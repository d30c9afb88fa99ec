"""A measured gas as an xarray dataset."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from saltus.gas.measure import Gas
from saltus.hybrid import Outcome

NAMES = {
    "compressibility": ("1", "compressibility factor p V / (N kT)"),
    "collision_rate": ("s-1", "collisions per body and time"),
    "pressure": ("Pa", "pressure"),
    "temperature_translation": ("J", "kT of translation"),
    "temperature_rotation": ("J", "kT of rotation"),
    "mean_order": ("1", "nematic order S2, averaged over time"),
}


def dataset_of(gas: Gas, outcome: Outcome, attributes: dict[str, Any] | None = None) -> xr.Dataset:
    """Averages with their errors, what happened over time, correlations, and the last state."""
    variables: dict[str, Any] = {}
    for name, value in gas.results().items():
        units, long_name = NAMES[name]
        variables[name] = ((), value.value, {"units": units, "long_name": long_name})
        variables[f"{name}_error"] = ((), value.error, {"units": units, "long_name": f"standard error: {long_name}"})
    variables |= _over_time(gas) | _correlations(gas) | _last_state(gas)
    bins = gas.series.column("duration")
    begin = gas.hard.time if gas.begun is None else gas.begun
    coordinates = {
        "time": ("time", begin + np.concatenate([[0.0], np.cumsum(bins)]), {"units": "s", "long_name": "time"}),
        "lag": ("lag", np.arange(gas.correlations.counts.size) * gas.step, {"units": "s", "long_name": "time between"}),
        "distance": ("distance", gas.pairs.correlation(2)[0], {"units": "m", "long_name": "distance of centres"}),
        "axis": ["x", "y", "z"],
        "quaternion_part": ["w", "x", "y", "z"],
    }
    return xr.Dataset(variables, coordinates, _attributes(gas, outcome) | (attributes or {}))


def _over_time(gas: Gas) -> dict[str, Any]:
    """Bin by bin, from the moment at which averages began."""
    series = gas.series
    duration = series.column("duration")

    def each(name: str, factor: float = 1.0) -> np.ndarray:
        values = factor * series.column(name) / duration if len(duration) else np.zeros(0)
        return np.concatenate([values[:1], values]) if len(values) else np.full(1, np.nan)

    n = gas.hard.arena.n
    heat = each("heat", 0.5 * gas.freedoms)
    lost = np.concatenate([[0.0], np.cumsum(series.column("loss"))])
    rows = {
        "kinetic_energy": (heat, "J", "kinetic energy of the degrees of freedom that exchange it"),
        "potential_energy": (np.zeros_like(heat), "J", "potential energy"),
        "dissipated_energy": (lost, "J", "energy lost in impacts"),
        "order": (each("order"), "1", "nematic order S2"),
        "collisions_per_time": (each("contacts", 2.0 / n), "s-1", "collisions per body and time, bin by bin"),
    }
    found = {
        name: ("time", values, {"units": units, "long_name": text}) for name, (values, units, text) in rows.items()
    }
    found["jump_side"] = ("time", np.zeros(len(heat), np.int8), {"units": "1", "long_name": "sample (0)"})
    none = {"units": "1", "long_name": "events are not kept one by one"}
    found["event_time"] = ("event", np.zeros(0), {"units": "s", "long_name": "time of the event"})
    found["event_name"] = ("event", np.zeros(0, "U9"), none)
    return found


def _correlations(gas: Gas) -> dict[str, Any]:
    squared, velocity, orientation = gas.correlations.means()
    _, pairs = gas.pairs.correlation(gas.hard.arena.n)
    return {
        "mean_squared_displacement": ("lag", squared, {"units": "m2", "long_name": "mean squared displacement"}),
        "velocity_autocorrelation": ("lag", velocity, {"units": "m2 s-2", "long_name": "mean of v(0) . v(t)"}),
        "orientation_autocorrelation": ("lag", orientation, {"units": "1", "long_name": "mean of P2(u(0) . u(t))"}),
        "pair_correlation": ("distance", pairs, {"units": "1", "long_name": "pair correlation g(r) of centres"}),
        "diffusion": ((), gas.diffusion(), {"units": "m2 s-1", "long_name": "coefficient of self-diffusion"}),
    }


def _last_state(gas: Gas) -> dict[str, Any]:
    bodies = gas.hard.snapshot()
    frame = ("body", "axis")
    return {
        "final_position": (frame, bodies.place, {"units": "m", "long_name": "centres at the end"}),
        "final_velocity": (frame, bodies.velocity, {"units": "m s-1", "long_name": "velocities at the end"}),
        "final_quaternion": (
            ("body", "quaternion_part"), bodies.quaternion, {"units": "1", "long_name": "orientations at the end"},
        ),
        "final_angular_momentum": (
            frame, bodies.momentum, {"units": "kg m2 s-1", "long_name": "angular momenta in the lab at the end"},
        ),
        "semi_axes": (frame, bodies.axes * gas.hard.scale, {"units": "m", "long_name": "semi-axes of each body"}),
        "mass": ("body", bodies.mass, {"units": "kg", "long_name": "mass of each body"}),
    }  # fmt: skip


def _attributes(gas: Gas, outcome: Outcome) -> dict[str, Any]:
    from saltus import __version__

    hard = gas.hard
    axes = hard.bodies.axes * hard.scale
    volume = float(np.prod(hard.box))
    return {
        "kind": "bodies",
        "saltus_version": __version__,
        "outcome": outcome.name,
        "outcome_message": outcome.message,
        "mode_names": "free",
        "count": hard.arena.n,
        "collisions": gas.contacts,
        "equilibration": gas.equilibrated,
        "volume_fraction": float(hard.bodies.volume * hard.scale**3 / volume),
        "box": json.dumps(hard.box.tolist()),
        "period": json.dumps(hard.box.tolist() if hard.periodic.all() else []),
        "shape_axes": json.dumps(np.unique(axes, axis=0).tolist()),
        "deepest_overlap": float(max(-float(hard.fluid.tally.deepest), 0.0)),
        "degrees_of_freedom": gas.freedoms,
    }
