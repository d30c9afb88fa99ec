"""The table [surface] of a scenario: one model per type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic

from saltus.numerics import formula
from saltus.scenarios.base import Model, Nonnegative, Pair, Positive

if TYPE_CHECKING:
    from saltus.surfaces import AbstractSurface
    from saltus.surfaces.known import KnownSurface


class SurfaceModel(Model):
    """The table [surface]: a type that `saltus.surfaces.named` knows, and its parameters."""

    def build(self) -> AbstractSurface:
        """The surface of the library."""
        from saltus.surfaces import named_surface

        return named_surface(self._description())

    def known(self) -> KnownSurface:
        """The same for known points, without JAX."""
        from saltus.surfaces.known import KnownSurface

        return KnownSurface(self._description())

    def _description(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}


class SphereModel(SurfaceModel):
    """A bowl, its bottom at the origin."""

    type: Literal["sphere"]
    radius: Positive


class DomeModel(SurfaceModel):
    """The upper half of a sphere, its top at the origin."""

    type: Literal["dome"]
    radius: Positive


class PlaneModel(SurfaceModel):
    """A level or tilted plane."""

    type: Literal["plane"]
    slope_x: float = 0.0
    slope_y: float = 0.0


class ParaboloidModel(SurfaceModel):
    """z = a x² + b y² + c x."""

    type: Literal["paraboloid"]
    a: float
    b: float
    c: float = 0.0


class SaddleModel(SurfaceModel):
    """z = a x² - b y²."""

    type: Literal["saddle"]
    a: float
    b: float


class GaussianModel(SurfaceModel):
    """A round hill."""

    type: Literal["gaussian"]
    amplitude: float
    width: Positive


class CosineModel(SurfaceModel):
    """A valley with cosine walls, going down along y."""

    type: Literal["cosine"]
    amplitude: float
    wavenumber: float
    slope: float = 0.0


class ConeModel(SurfaceModel):
    """A funnel with a rounded tip."""

    type: Literal["cone"]
    slope: float
    rounding: Positive


class ExpressionModel(SurfaceModel):
    """Arithmetic in x, y and named parameters."""

    type: Literal["expression"]
    z: str
    parameters: dict[str, float] = {}

    @pydantic.model_validator(mode="after")
    def _arithmetic(self) -> Self:
        formula.check_names(self.parameters, taken=("x", "y"))
        formula.parse(self.z, ("x", "y", *self.parameters))
        return self


class TerrainModel(SurfaceModel):
    """Measured ground from a GeoTIFF or an ESRI ASCII grid; the file is looked for beside the scenario."""

    type: Literal["terrain"]
    file: str
    crs: str | None = None
    coarsen: Annotated[int, pydantic.Field(ge=1)] = 1
    smooth: Nonnegative = 0.0
    origin: Pair = [0.0, 0.0]


AnySurface = Annotated[
    SphereModel
    | DomeModel
    | PlaneModel
    | ParaboloidModel
    | SaddleModel
    | GaussianModel
    | CosineModel
    | ConeModel
    | ExpressionModel
    | TerrainModel,
    pydantic.Field(discriminator="type"),
]
