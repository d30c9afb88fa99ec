"""A page of a chain that slides off a table."""

from __future__ import annotations

import numpy as np
import xarray as xr

from saltus.views.pages.arrays import pack
from saltus.views.pages.panels import MAX_LINES, Panel, energies, labels
from saltus.views.pages.scene import Scene

NEEDS = ("position", "velocity", "tension", "off_table", "edge_force", "table_speed")


def scene(dataset: xr.Dataset, rows: np.ndarray) -> Scene:
    """The table, the links bent over its edge and coloured by tension, the particles, and the force of the edge."""
    drawn = Scene(rows, view=(-68.0, 14.0))
    place = in_space(dataset["position"].values)[rows]
    drawn.around(place)
    back = min(float(place[..., 0].min()), -0.25 * (drawn.high[2] - drawn.low[2]), -1e-9)
    size = max(drawn.size(), -back)
    drawn.around(np.array([[1.04 * back, -0.16 * size, 0.0], [0.0, 0.16 * size, -0.03 * size]]))
    drawn.add("block", low=[1.04 * back, -0.16 * size, -0.03 * size], high=[0.0, 0.16 * size, -0.004 * size])
    path, tension = through_the_edge(dataset, rows), np.nan_to_num(dataset["tension"].values[rows])
    known = np.abs(tension)
    many = place.shape[1] > 60
    drawn.add(
        "path",
        name="tension",
        units="N",
        points=drawn.place(path),
        value=pack(-along(dataset, rows)),
        largest=float(np.quantile(known, 0.98)) if known.size else 0.0,
        radius=0.002 if many else 0.0034,
    )
    drawn.add(
        "masses",
        name="particles",
        position=drawn.place(place),
        inks=[7] * place.shape[1],
        trail=False,
        radius=0.0045 if many else 0.009,
        labels=labels(dataset, "position", "particle"),
        on_ground=False,
    )
    edge = in_space(dataset["edge_force"].values)[rows][:, None]
    drawn.arrows("force of the edge", "N", np.zeros_like(edge), edge, 1)
    if not many:
        drawn.arrows("velocity", "m/s", place, in_space(dataset["velocity"].values)[rows], 5)
    return drawn


def in_space(values: np.ndarray) -> np.ndarray:
    """Vectors (down, outward) of a chain in space: x outward, z up."""
    return np.stack([values[..., 1], np.zeros(values.shape[:-1]), -values[..., 0]], axis=-1)


def through_the_edge(dataset: xr.Dataset, rows: np.ndarray) -> np.ndarray:
    """The chain at each row with one more point, where the link that is bent over the edge touches it."""
    place = in_space(dataset["position"].values)[rows]
    off = np.minimum(dataset["off_table"].values[rows].astype(int), place.shape[1])
    path = np.empty((len(rows), place.shape[1] + 1, 3))
    for row, count in enumerate(off):
        bend = np.zeros(3) if count < place.shape[1] else place[row, -1]
        path[row] = np.insert(place[row], count, bend, axis=0)
    return path


def along(dataset: xr.Dataset, rows: np.ndarray) -> np.ndarray:
    """The tension of each piece of that line: the bent link counts twice."""
    tension = dataset["tension"].values[rows]
    off = np.minimum(dataset["off_table"].values[rows].astype(int), tension.shape[1])
    return np.array([np.insert(one, count, one[count - 1]) for one, count in zip(tension, off, strict=True)])


def panels(dataset: xr.Dataset) -> list[Panel | None]:
    """Tension next to the edge, the force of the edge, speeds and energies."""
    tension = dataset["tension"].values.astype(float)
    if tension.shape[1] <= MAX_LINES:
        lines = dict(zip(labels(dataset, "tension", "link"), tension.T, strict=True))
    else:
        off = np.clip(dataset["off_table"].values.astype(int) - 1, 0, tension.shape[1] - 1)
        at_edge = tension[np.arange(len(tension)), off]
        lines = {"at the edge": at_edge, "largest": np.nanmax(tension, axis=1), "least": np.nanmin(tension, axis=1)}
    lost = {"in jerks": dataset["jerk_loss"].values, "to friction": dataset["friction_loss"].values}
    lost = {name: values for name, values in lost.items() if values.any()}
    return [
        Panel("tension of the links", "N", lines, note="< 0: the link pushes"),
        Panel(
            "force of the edge",
            "N",
            {"down": dataset["edge_force"].values[:, 0], "outward": dataset["edge_force"].values[:, 1]},
            inks=(1, 5),
        ),
        Panel(
            "speed",
            "m s-1",
            {
                "on the table": dataset["table_speed"].values,
                "free end": np.linalg.norm(dataset["velocity"].values[:, 0], axis=-1),
            },
            inks=(5, 0),
        ),
        energies(dataset),
        Panel("energy lost", "J", lost, inks=tuple(range(3, 3 + len(lost)))) if len(lost) > 1 else None,
    ]
