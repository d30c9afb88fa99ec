"""A turning ball: its orientation from the angular velocity, and dots on it that show the turning."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from saltus.views.style import INK, colour

_DOTS = 14


def radius(dataset: xr.Dataset) -> float:
    """Radius of the ball, from its centre and where it touches."""
    between = dataset["position"].values[:, None] - dataset["contact_position"].values
    return float(np.median(np.linalg.norm(between, axis=-1)))


def orientations(times: np.ndarray, angular_velocity: np.ndarray) -> np.ndarray:
    """Rotation of the ball at each row since the first, (n, 3, 3); the angular velocity is taken as steady between."""
    turned = [np.eye(3)]
    for row in range(1, len(times)):
        mean = 0.5 * (angular_velocity[row] + angular_velocity[row - 1]) * (times[row] - times[row - 1])
        turned.append(_rotation(mean) @ turned[-1])
    return np.array(turned)


def _rotation(vector: np.ndarray) -> np.ndarray:
    """Rotation about `vector` by its length (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def dots() -> np.ndarray:
    """Points spread evenly over the unit sphere."""
    k = np.arange(_DOTS) + 0.5
    polar, azimuth = np.arccos(1 - 2 * k / _DOTS), np.pi * (1 + 5**0.5) * k
    return np.stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)], axis=-1)


class DrawnBall:
    """A ball seen along one axis, with dots on the side that is seen."""

    def __init__(self, axes: Axes, size: float, across: tuple[int, int], towards: tuple[int, float]):
        self._across, self._towards, self._size = list(across), towards, size
        self._disc = Circle((0.0, 0.0), size, facecolor="#F4F1EA", edgecolor=INK, linewidth=1.2, zorder=5)
        axes.add_patch(self._disc)
        (self._dots,) = axes.plot([], [], "o", color=colour(0), markersize=4, zorder=6)

    def show(self, centre: np.ndarray, rotation: np.ndarray) -> list:
        """Draw the ball here, turned so."""
        self._disc.center = tuple(centre[self._across])
        axis, sign = self._towards
        points = dots() @ rotation.T
        seen = points[points[:, axis] * sign > 0.0]
        self._dots.set_data(*(centre[self._across] + self._size * seen[:, self._across]).T)
        return [self._disc, self._dots]
