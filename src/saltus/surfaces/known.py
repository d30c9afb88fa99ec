"""Surfaces of scenarios at known points, by NumPy alone: for a look at a start, where JAX would take a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from saltus.numerics import formula, jets
from saltus.numerics.jets import Values
from saltus.surfaces import relief
from saltus.surfaces.grid import Grid

# Height of each surface by the keys of its table. The classes say the same in forms that keep more digits.
HEIGHTS = {
    "sphere": "(x**2 + y**2) / (radius + sqrt(radius**2 - x**2 - y**2))",
    "dome": "-(x**2 + y**2) / (radius + sqrt(radius**2 - x**2 - y**2))",
    "plane": "slope_x*x + slope_y*y",
    "paraboloid": "a*x**2 + b*y**2 + c*x",
    "saddle": "a*x**2 - b*y**2",
    "gaussian": "amplitude*exp(-(x**2 + y**2) / (2*width**2))",
    "cosine": "2*amplitude*sin(wavenumber*x/2)**2 - slope*y",
    "cone": "slope*(x**2 + y**2) / (rounding + sqrt(x**2 + y**2 + rounding**2))",
}


class Sight(NamedTuple):
    """A surface at points: height, slopes f_x and f_y, second derivatives f_xx, f_xy and f_yy, and its margin."""

    height: Values
    gradient: tuple[Values, Values]
    curvature: tuple[Values, Values, Values]
    margin: Values  # > 0 where the surface is defined

    @property
    def normal(self) -> np.ndarray:
        """Unit vectors out of the surface, upwards."""
        fx, fy = self.gradient
        return np.stack([-fx, -fy, np.ones_like(fx)], axis=-1) / np.sqrt(1.0 + fx**2 + fy**2)[..., None]


class KnownSurface:
    """The surface that a table [surface] describes.

    >>> bowl = KnownSurface({"type": "sphere", "radius": 2.0})
    >>> seen = bowl.at(np.array([1.2, 3.0]), np.array([0.0, 0.0]))
    >>> [round(float(number), 12) for number in (seen.height[0], seen.gradient[0][0], seen.margin[0], seen.margin[1])]
    [0.4, 0.75, 0.64, -1.25]
    """

    def __init__(self, description: Mapping[str, Any]):
        self.numbers = dict(description)
        self.type = self.numbers.pop("type")
        self.ground: relief.Relief | None = None
        if self.type == "terrain":
            self.ground = relief.read(**self.numbers)

    @property
    def grid(self) -> Grid | None:
        """The pixels of a terrain; None for other surfaces."""
        return None if self.ground is None else self.ground.grid

    @property
    def flat(self) -> bool:
        """Whether it is curved nowhere."""
        return self.type == "plane"

    @property
    def defined_everywhere(self) -> bool:
        """Whether it certainly has a height at every point, be it beyond the border of a map."""
        return self.type not in ("sphere", "dome", "expression")

    def at(self, x, y) -> Sight:
        """What masses there would lie on."""
        with np.errstate(all="ignore"):  # what is no number lies where the surface is not defined
            if self.ground is not None:
                relief.hand_on(self.ground, **self.numbers)
                x, y = np.asarray(x, float), np.asarray(y, float)
                return Sight(*relief.local(self.ground, x, y), relief.margin(self.ground, x, y))
            first, second = jets.variables(x, y)
            found = self._height(first, second)
            height, fx, fy, *bends = found.parts
            return Sight(height, (fx, fy), tuple(bends), self._margin(first.value, second.value, height))

    def _height(self, x: jets.Jet, y: jets.Jet) -> jets.Jet:
        text, numbers = HEIGHTS.get(self.type), self.numbers
        if text is None:
            text, numbers = self.numbers["z"], self.numbers["parameters"]
        # As arrays: a formula takes plain numbers for parts of its text that never change.
        given = {name: np.float64(value) for name, value in numbers.items()}
        found = formula.evaluate(text, {"x": x, "y": y, **given}, jets)
        return found if isinstance(found, jets.Jet) else jets.constant(found, x)

    def _margin(self, x: Values, y: Values, height: Values) -> Values:
        if self.type in ("sphere", "dome"):
            return 1.0 - (x**2 + y**2) / self.numbers["radius"] ** 2
        if self.type == "expression":
            return np.where(np.isfinite(height), 1.0, -1.0)
        return np.ones_like(x)
