"""A page of masses and rods on a surface, rafts included."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from saltus.views.pages.arrays import pack
from saltus.views.pages.panels import Panel, energies, of_each, speeds
from saltus.views.pages.scene import Scene, add_ground, inks

NEEDS = ("position", "velocity")
ARROWS = 40  # more masses than this carry no arrows
POINT = 0.011  # radius of a mass as it is drawn, in units of the scene


def scene(dataset: xr.Dataset, rows: np.ndarray) -> Scene:
    """The surface, masses with their trails, rods coloured by their force, and arrows."""
    drawn = Scene(rows)
    position = dataset["position"].values
    drawn.around(position)
    ground = add_ground(drawn, dataset)
    count, place = position.shape[1], position[rows]
    many = count > ARROWS
    drawn.add(
        "masses",
        name="masses",
        position=drawn.place(place),
        inks=[0] * count if many else inks(count),
        radius=POINT * (1.0 if not many else max(0.22, 0.5 * ARROWS / count)),
        trail=not many,
        labels=[f"mass {index}" for index in range(count)],
        on_ground=ground is not None,
    )
    if dataset.sizes.get("rod", 0):
        ends = rod_ends(dataset)
        whole = {"whole": pack(dataset["rod_whole"].values[rows], "u1")} if "rod_whole" in dataset else {}
        force = dataset["rod_force"].values[rows]
        drawn.add(
            "rods",
            masses="masses",
            ends=ends,
            value=pack(force),
            largest=_largest(force),
            units="N",
            name="rod force",
            radius=POINT * (0.3 if not many else 0.12),
            **whole,
        )
    if not many:
        drawn.arrows_of(dataset, "velocity", place, 5)
        if ground is not None and "normal_force" in dataset:
            force = dataset["normal_force"].values[rows][..., None] * ground.normals(place)
            drawn.arrows("reaction of the surface", "N", place, force, 2)
    spread = float(np.linalg.norm(np.ptp(position[0], axis=0))) if count > 1 else 0.0
    drawn.follow = max(0.4 * spread, 0.02 * drawn.size())
    return drawn


def rod_ends(dataset: xr.Dataset) -> list[tuple[int, int]]:
    """The masses that each rod joins, from its label such as "0-1"."""
    if "rod" not in dataset.coords:
        return []
    return [tuple(int(end) for end in str(label).split("-")) for label in dataset["rod"].values]  # type: ignore[misc]


def _largest(force: np.ndarray) -> float:
    known = np.abs(force[np.isfinite(force)])
    return float(np.quantile(known, 0.99)) if known.size else 0.0


def panels(dataset: xr.Dataset) -> list[Panel | None]:
    """Forces, speeds, heights and energies."""
    rods = of_each(dataset, "rod_force", "rod force", "rod", "> 0 pushes the masses apart")
    if rods is not None and "normal_force" in dataset:
        rods = dataclasses.replace(rods, scale=_largest(dataset["normal_force"].values))
    found = [
        rods,
        of_each(dataset, "normal_force", "reaction of the surface", "mass", "along the upward normal"),
        speeds(dataset, "mass"),
        energies(dataset),
    ]
    if "rod_whole" in dataset:
        found.insert(0, Panel("whole rods", "1", {"whole rods": dataset["rod_whole"].values.sum(axis=1)}, inks=(3,)))
    return found
