"""The table `friction` of scenarios with a ball: which law, and its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, Self

import pydantic

from saltus.scenarios.base import Model, Nonnegative, Positive

if TYPE_CHECKING:
    from saltus.laws.friction import AbstractFrictionLaw

PRESSURES = ("hertz", "uniform", "punch")
Share = Annotated[float, pydantic.Field(ge=-1, le=1)]


class ContactLawModel(Model):
    """The table `friction` of a ball."""

    mu: Nonnegative
    model: Literal["exact", "pade", "first_order", "second_order", "power_norm", "elliptic_cone", "coulomb"] = "exact"
    pressure: str | float = "hertz"
    spot_radius: Nonnegative = 0.0
    rolling_shift: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    sliding_shift: Share = 0.0
    reference_load: Positive | None = None
    lateral_shift: bool = False

    @pydantic.model_validator(mode="after")
    def _possible(self) -> Self:
        from saltus import checks

        if isinstance(self.pressure, str):
            checks.one_of("`friction.pressure`", self.pressure, PRESSURES)
        elif not 1.0 < self.pressure < math.inf:
            raise ValueError(
                f"`friction.pressure` must be > 1 as an exponent gamma, got {self.pressure}. "
                "Give 'hertz' (2.5), 'uniform' (2), 'punch' (1.5) or another number."
            )
        if abs(self.sliding_shift) + self.rolling_shift > 1.0:
            raise ValueError(
                "`friction.sliding_shift` and `friction.rolling_shift` must not exceed 1 together, got "
                f"{self.sliding_shift} and {self.rolling_shift}. Otherwise the pressure would pull."
            )
        if self.model == "coulomb" and self.spot_radius > 0.0:
            raise ValueError(
                f"Model 'coulomb' is a point contact, but `friction.spot_radius` is {self.spot_radius}. "
                "Leave it out, or use model 'exact'."
            )
        if self.lateral_shift and self.model != "pade":
            raise ValueError(
                f"`friction.lateral_shift` belongs to model 'pade', got model {self.model!r}. Leave it out."
            )
        return self

    def build(self) -> AbstractFrictionLaw:
        """The law of the library."""
        from saltus.laws import friction

        if self.model == "coulomb":
            return friction.Coulomb(self.mu)
        laws = {
            "exact": friction.Combined,
            "pade": friction.Pade,
            "first_order": friction.FirstOrder,
            "second_order": friction.SecondOrder,
            "power_norm": friction.PowerNorm,
            "elliptic_cone": friction.EllipticCone,
        }
        options = {"lateral_shift": True} if self.lateral_shift else {}
        return laws[self.model](
            self.mu,
            self.spot_radius,
            self.pressure,
            sliding_shift=self.sliding_shift,
            rolling_shift=self.rolling_shift,
            reference_load=self.reference_load,
            **options,
        )
