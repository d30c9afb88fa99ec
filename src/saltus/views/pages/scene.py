"""What a page draws in space: things with plain arrays, as the player understands them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import xarray as xr

from saltus.views.ground import Ground, ground
from saltus.views.pages.arrays import pack, unit_text

RELIEF = 0.12  # ground that is flatter than this share of its width is drawn higher, which the page says
SMALL, TINY = (
    22.0,
    150.0,
)  # scenes as large as so many radii of their only body are followed; in larger ones it is marked
STEPS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclasses.dataclass
class Scene:
    """Things to draw, gathered one by one; coordinates are taken from `origin`, in float32.

    Args:
        rows: Rows of the dataset that are kept.
        view: Direction from which the scene is first seen: azimuth and elevation [deg].
        heights: Factor by which heights are drawn larger.
        follow: Size of what the camera may stay with [m]; 0: it always stands.
        follows: Whether it does so from the beginning.
    """

    rows: np.ndarray
    view: tuple[float, float] = (-60.0, 32.0)
    heights: float = 1.0
    follow: float = 0.0
    follows: bool = False
    origin: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(3))
    low: np.ndarray = dataclasses.field(default_factory=lambda: np.full(3, np.inf))
    high: np.ndarray = dataclasses.field(default_factory=lambda: np.full(3, -np.inf))
    things: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def around(self, points: np.ndarray, margin: float = 0.0) -> None:
        """Make room for these points (..., 3)."""
        points = np.asarray(points, float).reshape(-1, 3)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points):
            self.low = np.minimum(self.low, points.min(axis=0) - margin)
            self.high = np.maximum(self.high, points.max(axis=0) + margin)

    def size(self) -> float:
        """The diagonal of what has been made room for [m]."""
        return float(np.linalg.norm(self.high - self.low)) if np.isfinite(self.low).all() else 1.0

    def follow_if_small(self, reach: float) -> None:
        """Let the camera stay with a body that would be hard to see from where all of its way is seen."""
        self.follow, self.follows = reach, SMALL * reach < self.size() < TINY * reach

    def place(self, points: np.ndarray) -> dict[str, Any]:
        """Points relative to the origin, packed."""
        return pack(np.asarray(points, float) - self.origin)

    def add(self, what: str, **properties: Any) -> None:
        """Add a thing."""
        self.things.append({"what": what, **properties})

    def arrows_of(self, dataset: xr.Dataset, variable: str, at: np.ndarray, ink: int, shown: bool = False) -> None:
        """Vectors of the dataset, one at each of the points; nothing where the dataset has none."""
        if variable in dataset and dataset[variable].shape[-1] == 3:
            vector = dataset[variable].values[self.rows].reshape(len(self.rows), -1, 3)
            units = unit_text(str(dataset[variable].attrs.get("units", "")))
            self.arrows(variable.replace("_", " "), units, at, vector, ink, shown)

    def arrows(self, name: str, units: str, at: np.ndarray, vector: np.ndarray, ink: int, shown: bool = False) -> None:
        """Vectors that can be switched on, rows by count by 3; none where one is not finite."""
        size = np.linalg.norm(vector, axis=-1)
        size = size[np.isfinite(size)]
        largest = float(np.quantile(size, 0.98)) if size.size else 0.0
        if largest > 0.0:
            self.add(
                "arrows",
                name=name,
                units=units,
                at=self.place(at),
                vector=pack(vector),
                ink=ink,
                shown=shown,
                largest=largest,
            )

    def pack(self) -> dict[str, Any]:
        """The scene for the player."""
        return {
            "origin": self.origin.tolist(),
            "low": (self.low - self.origin).tolist(),
            "view": list(self.view),
            "high": (self.high - self.origin).tolist(),
            "heights": self.heights,
            "follow": self.follow,
            "follows": self.follows,
            "things": self.things,
        }


def add_ground(scene: Scene, dataset: xr.Dataset, exaggerate: bool = True) -> Ground | None:
    """The surface under the motion, drawn higher where it is shallow."""
    found = ground(dataset)
    if found is None:
        return None
    low, _ = found.range
    scene.origin = np.array([found.x.mean(), found.y.mean(), low])
    scene.around(np.stack([found.x, found.y, found.z], axis=-1))
    width, relief = float(np.ptp(found.x)), float(scene.high[2] - scene.low[2])
    # A plane has no relief to be shown.
    if exaggerate and 1e-9 * width < relief < RELIEF * width:
        scene.heights = float(next((step for step in STEPS if step * relief > RELIEF * width), STEPS[-1]))
    grid = {name: pack(getattr(found, name) - scene.origin[axis]) for axis, name in enumerate("xyz")}
    scene.add("ground", **grid)
    return found


def of_attribute(dataset: xr.Dataset, name: str) -> np.ndarray:
    """A list that an attribute keeps as JSON."""
    return np.asarray(json.loads(dataset.attrs.get(name) or "[]"), float)


def inks(count: int) -> list[int]:
    """Number of the colour of each of several like things."""
    return [index % 8 for index in range(count)]
