"""The shape of a body in a scenario."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pydantic

from saltus.scenarios.base import Triple, is_known
from saltus.scenarios.table import Model
from saltus.shapes import limits


class ShapeTable(Model):
    """|x/a|^p + |y/b|^q + |z/c|^r = 1; exponents 2, 2, 2 give an ellipsoid."""

    axes: Triple
    exponents: list[float] | float = 2.0

    @pydantic.field_validator("axes")
    @classmethod
    def _axes_positive(cls, value: list[float]) -> list[float]:
        if min(value) <= 0.0:
            raise ValueError(f"`axes` must be > 0, got {value}. Give three semi-axes, such as [1.0, 2.0, 3.0].")
        return value

    @pydantic.field_validator("exponents")
    @classmethod
    def _exponents_smooth(cls, value: Any) -> Any:
        numbers = value if isinstance(value, list) else [value]
        if len(numbers) not in (1, 3) or not min(numbers) >= 2.0:
            raise ValueError(
                f"`exponents` must be one number or three, each >= 2, got {value}. Below 2 the body has edges; "
                "take 2 for an ellipsoid."
            )
        return value

    def check(self) -> None:
        """Refuse sizes that the shape would refuse when it is built."""
        if self.kind == "Ball":
            limits.check_radius(self.axes[0])
            return
        limits.check_axes(self.axes)
        if self.kind == "Superellipsoid":
            limits.check_exponents(self.exponents)

    @property
    def kind(self) -> str:
        """Name of the simplest shape that this is."""
        if not self.is_ellipsoid:
            return "Superellipsoid"
        return "Ball" if all(map(is_known, self.axes)) and len(set(self.axes)) == 1 else "Ellipsoid"

    def radius(self) -> float:
        """Radius of a ball about the centre that holds the body [m], for numbers that are known."""
        from saltus.shapes.extents import superellipsoid_radius

        exponents = np.broadcast_to(np.asarray(self.exponents, float), (3,))
        return float(superellipsoid_radius(np.asarray(self.axes, float), exponents))

    def build(self):
        """The simplest shape that this is."""
        from saltus.shapes import Ball, Ellipsoid, Superellipsoid

        if self.kind == "Superellipsoid":
            exponents = self.exponents if isinstance(self.exponents, list) else [self.exponents] * 3
            return Superellipsoid(self.axes, exponents)
        return Ball(self.axes[0]) if self.kind == "Ball" else Ellipsoid(self.axes)

    def volume(self) -> float:
        """Volume [m3], for numbers that are known."""
        if self.is_ellipsoid:
            return 4.0 / 3.0 * math.pi * math.prod(self.axes)
        exponents = self.exponents if isinstance(self.exponents, list) else [self.exponents]
        powers = [1.0 / exponent for exponent in (exponents * 3)[:3]]
        parts = math.prod(math.gamma(1.0 + power) for power in powers) / math.gamma(1.0 + sum(powers))
        return 8.0 * math.prod(self.axes) * parts

    @property
    def is_ellipsoid(self) -> bool:
        """Whether this is an ellipsoid or a ball, whatever its axes."""
        exponents = self.exponents if isinstance(self.exponents, list) else [self.exponents]
        return all(is_known(exponent) and exponent == 2.0 for exponent in exponents)
