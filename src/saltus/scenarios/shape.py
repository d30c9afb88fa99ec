"""The shape of a body in a scenario."""

from __future__ import annotations

import math
from typing import Any

import pydantic

from saltus.scenarios.base import Triple, is_known
from saltus.scenarios.table import Model


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

    def build(self):
        """The simplest shape that this is."""
        from saltus.shapes import Ball, Ellipsoid, Superellipsoid

        exponents = self.exponents if isinstance(self.exponents, list) else [self.exponents] * 3
        if all(is_known(exponent) and exponent == 2.0 for exponent in exponents):
            is_ball = all(map(is_known, self.axes)) and len(set(self.axes)) == 1
            return Ball(self.axes[0]) if is_ball else Ellipsoid(self.axes)
        return Superellipsoid(self.axes, exponents)

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
