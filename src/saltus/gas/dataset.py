"""A measured gas as an xarray dataset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.gas.equilibrium import drift
from saltus.gas.measure import Gas
from saltus.hybrid import Outcome
from saltus.numerics.on_host import rotation_matrices
from saltus.systems.gas.bodies import Bodies

if TYPE_CHECKING:
    import xarray as xr

NAMES = {
    "compressibility": ("1", "compressibility factor p V / (N kT)"),
    "collision_rate": ("s-1", "collisions per body and time"),
    "pressure": ("Pa", "pressure"),
    "temperature_translation": ("J", "kT of translation"),
    "temperature_rotation": ("J", "kT of rotation"),
    "mean_order": ("1", "nematic order S2, averaged over time"),
}


def dataset_of(
    gas: Gas,
    outcome: Outcome,
    attributes: dict[str, Any] | None = None,
    states: list[tuple[float, Bodies]] | None = None,
) -> xr.Dataset:
    """Averages with their errors, bins over time, correlations, and the last states (or those given, with times)."""
    variables: dict[str, Any] = {}
    for name, value in gas.results().items():
        units, long_name = NAMES[name]
        variables[name] = ((), value.value, {"units": units, "long_name": long_name})
        variables[f"{name}_error"] = ((), value.error, {"units": units, "long_name": f"standard error: {long_name}"})
    film = gas.film or [(gas.hard.time, float(gas.hard.fluid.tally.loss), gas.hard.snapshot())]
    if states is not None:
        film = [(t, film[0][1] + gas.total_energy(film[0][2]) - gas.total_energy(one), one) for t, one in states]
    variables |= _bins(gas) | _correlations(gas) | _states(gas, film) | _events(gas, len(film))
    lags = np.arange(gas.correlations.counts.size) * gas.step
    coordinates = {
        "time": ("time", np.array([t for t, _, _ in film]), {"units": "s", "long_name": "time"}),
        "lag": ("lag", lags, {"units": "s", "long_name": "time between"}),
        "distance": ("distance", gas.pairs.correlation(2)[0], {"units": "m", "long_name": "distance of centres"}),
        "axis": ["x", "y", "z"],
        "quaternion_part": ["w", "x", "y", "z"],
    }
    import xarray as xr  # here: until then another thread can load it while the gas is computed

    return xr.Dataset(variables, coordinates, _attributes(gas, outcome, film[-1][2]) | (attributes or {}))


def _bins(gas: Gas) -> dict[str, Any]:
    """Means over the bins of the measurement."""
    series, n = gas.series, gas.hard.arena.n
    duration = series.column("duration")
    begin = gas.hard.time if gas.begun is None else gas.begun
    rows = {
        "bin_time": (begin + np.cumsum(duration), "s", "end of the bin"),
        "order": (series.column("order") / duration, "1", "nematic order S2"),
        "bin_collision_rate": (2.0 / n * series.column("contacts") / duration, "s-1", "collisions per body and time"),
    }
    return {name: ("bin", values, {"units": units, "long_name": text}) for name, (values, units, text) in rows.items()}


def _events(gas: Gas, rows: int) -> dict[str, Any]:
    """What every dataset of a run has; of the contacts of a gas the last ones are kept, as many as were asked for."""
    kept = gas.hard.contacts()
    columns = {
        "event_time": (kept[:, 0], "s", "time of the event"),
        "event_name": (np.full(len(kept), "impact", "U9"), "1", "kind of the event"),
        "event_body": (kept[:, 1].astype(int), "1", "body"),
        "event_partner": (kept[:, 2].astype(int), "1", "other body; walls are counted after the bodies"),
        "event_impulse": (kept[:, 3], "N s", "normal impulse"),
        "event_energy_loss": (kept[:, 4], "J", "energy lost"),
    }
    return {
        "jump_side": ("time", np.zeros(rows, np.int8), {"units": "1", "long_name": "sample (0)"}),
        **{name: ("event", values, {"units": u, "long_name": text}) for name, (values, u, text) in columns.items()},
    }


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


def _states(gas: Gas, film: list[tuple[float, float, Bodies]]) -> dict[str, Any]:
    """The last states, a sample apart."""
    bodies = [one for _, _, one in film]
    turns = [rotation_matrices(one.quaternion) for one in bodies]
    omega = [np.einsum("nij,nj->ni", turn, one.spin() / one.inertia) for turn, one in zip(turns, bodies, strict=True)]
    vector, first = ("time", "body", "axis"), film[0][1]
    pushes = [one.mass @ one.velocity for one in bodies]
    kinetic = [sum(part.sum() for part in one.energies()) for one in bodies]
    rows = {
        "position": (vector, [one.place for one in bodies], "m", "centre of mass"),
        "velocity": (vector, [one.velocity for one in bodies], "m s-1", "velocity of the centre of mass"),
        "quaternion": (
            ("time", "body", "quaternion_part"), [one.quaternion for one in bodies], "1", "orientation, body to lab",
        ),
        "angular_velocity": (vector, omega, "rad s-1", "angular velocity in the lab"),
        "linear_momentum": (("time", "axis"), pushes, "kg m s-1", "total momentum"),
        "kinetic_energy": ("time", kinetic, "J", "kinetic energy"),
        "potential_energy": ("time", [gas.potential_energy(one) for one in bodies], "J", "potential energy"),
        "dissipated_energy": ("time", [lost - first for _, lost, _ in film], "J", "energy lost in impacts"),
        "semi_axes": (("body", "axis"), bodies[-1].axes * gas.hard.scale, "m", "semi-axes of each body"),
        "mass": ("body", bodies[-1].mass, "kg", "mass of each body"),
    }  # fmt: skip
    return {
        name: (dims, np.asarray(values), {"units": units, "long_name": text})
        for name, (dims, values, units, text) in rows.items()
    }


def _exponents(bodies: Bodies) -> list[list[float]]:
    """Of superellipsoids; 2 for ellipsoids, and for what is drawn as one."""
    return [[2.0, 2.0, 2.0]] * bodies.n if bodies.shapes is None else bodies.shapes.exponents().tolist()


def _attributes(gas: Gas, outcome: Outcome, bodies: Bodies) -> dict[str, Any]:
    from saltus import __version__

    hard, volume = gas.hard, float(np.prod(gas.hard.box))
    lost = float(hard.fluid.tally.loss) - gas.lost
    unaccounted = 0.0 if gas.begun is None else (gas.total_energy(bodies) + lost) / gas.energy - 1.0
    change = drift(gas.series)
    return {
        "kind": "bodies",
        "saltus_version": __version__,
        "outcome": outcome.name,
        "outcome_message": outcome.message,
        "mode_names": "free",
        "count": hard.arena.n,
        "collisions": gas.contacts,
        "equilibration": gas.equilibrated,
        "equilibrium": change.verdict,
        "equilibrium_message": change.text(),
        "volume_fraction": float(hard.bodies.volume * hard.scale**3 / volume),
        "box": json.dumps(hard.box.tolist()),
        "period": json.dumps(hard.box.tolist() if hard.periodic.all() else []),
        "walls": json.dumps(hard.walls.tolist()),
        "shape_axes": json.dumps((hard.bodies.axes * hard.scale).tolist()),
        "shape_exponents": json.dumps(_exponents(hard.bodies)),
        "law": type(hard.terms.law).__name__,
        "deepest_overlap": max(0.0, -float(hard.fluid.tally.deepest)),
        "energy_drift": float(unaccounted),
        "degrees_of_freedom": gas.freedoms,
    }
