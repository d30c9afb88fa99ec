"""A turning ball, with dots on it that show the turning."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from saltus.numerics.on_host import rotation_matrices
from saltus.views.style import INK, colour

_DOTS = 14


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

    def show(self, centre: np.ndarray, quaternion: np.ndarray) -> list:
        """Draw the ball here, turned so."""
        self._disc.center = tuple(centre[self._across])
        axis, sign = self._towards
        points = dots() @ rotation_matrices(quaternion).T
        seen = points[points[:, axis] * sign > 0.0]
        self._dots.set_data(*(centre[self._across] + self._size * seen[:, self._across]).T)
        return [self._disc, self._dots]
