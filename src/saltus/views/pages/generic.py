"""A page of any system: every quantity over time, and points in space where it has positions."""

from __future__ import annotations

import numpy as np
import xarray as xr

from saltus.views.pages.panels import Panel, each, labels
from saltus.views.pages.scene import Scene, add_ground, inks

SKIPPED = ("mode", "jump_side")
MOST_PANELS = 16


def scene(dataset: xr.Dataset, rows: np.ndarray) -> Scene | None:
    """Positions in space (x, y, z) or in a plane (x, and y upwards) as points; None where there are none."""
    position = dataset.get("position")
    if (
        position is None
        or position.dims[0] != "time"
        or position.ndim not in (2, 3)
        or position.shape[-1] not in (2, 3)
    ):
        return None
    place = position.values.astype(float)
    place = place[:, None] if place.ndim == 2 else place
    if place.shape[-1] == 2:
        place = np.stack([place[..., 0], np.zeros(place.shape[:-1]), place[..., 1]], axis=-1)
    drawn = Scene(rows)
    drawn.around(place)
    ground = add_ground(drawn, dataset)
    count = place.shape[1]
    drawn.add(
        "masses",
        name="points",
        position=drawn.place(place[rows]),
        inks=inks(count),
        radius=0.012,
        trail=count <= 40,
        labels=[f"point {index}" for index in range(count)],
        on_ground=ground is not None,
    )
    return drawn


def panels(dataset: xr.Dataset) -> list[Panel | None]:
    """All quantities over time; those with a dimension give a line for each entry."""
    found: list[Panel | None] = []
    for name, variable in dataset.data_vars.items():
        if name in SKIPPED or variable.dims[:1] != ("time",) or variable.dtype.kind not in "fiu" or not variable.size:
            continue
        values = variable.values.astype(float).reshape(variable.shape[0], -1)
        names = labels(dataset, str(name), "") if variable.ndim == 2 else [str(i) for i in range(values.shape[1])]
        title = str(variable.attrs.get("long_name") or name).replace("_", " ")
        found.append(each(values, title, str(variable.attrs.get("units", "")), [one or title for one in names]))
    return found[:MOST_PANELS]
