"""The table [release]: many masses laid out over an area, free or joined into a raft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

import pydantic

from saltus.scenarios.base import Model, Nonnegative, Pair, Positive

if TYPE_CHECKING:
    from saltus.io.release import ReleaseMasses
    from saltus.surfaces import AbstractSurface
    from saltus.surfaces.known import KnownSurface


class ElasticModel(Model):
    """The table [release.rods]: rods between neighbours."""

    stiffness: Positive
    damping: Nonnegative = 0.0
    strength: Positive | None = None


class ReleaseModel(Model):
    """The table [release]: where masses start, and how they are joined.

    `points` and a `polygon` given as a list are in the coordinates of the surface; files are in those of the map.
    """

    points: Annotated[list[Pair], pydantic.Field(min_length=1)] | None = None
    polygon: str | list[Pair] | None = None
    raster: str | None = None
    spacing: Positive | None = None
    grid: Literal["triangular", "square"] = "triangular"
    reach: Positive | None = None
    mass: Positive
    mu: Nonnegative | None = None
    velocity: Pair = [0.0, 0.0]
    rods: ElasticModel | None = None

    @pydantic.field_validator("polygon", mode="before")
    @classmethod
    def _corners(cls, polygon):
        if isinstance(polygon, list) and len(polygon) < 3:
            raise ValueError(f"`release.polygon` needs at least 3 corners [x, y], got {len(polygon)}.")
        return polygon

    @pydantic.model_validator(mode="after")
    def _one_area(self) -> Self:
        given = [name for name in ("points", "polygon", "raster") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{name}`" for name in given) or "none of them"
            raise ValueError(f"[release] needs one of `points`, `polygon` and `raster`, got {found}.")
        if self.points is None and self.spacing is None:
            raise ValueError("`release.spacing` is missing: the distance of the masses in metres.")
        if self.points is not None and self.rods is not None and self.reach is None:
            raise ValueError("`release.reach` is missing: points closer than that are joined by a rod.")
        return self

    def lay(self, surface: AbstractSurface | KnownSurface) -> ReleaseMasses:
        """The masses, wherever they lie, and the pairs of neighbours that a rod joins."""
        import numpy as np

        from saltus.io import release

        spacing = self.spacing or 0.0  # asked for above wherever it is used
        if self.points is not None:
            position = np.asarray(self.points, float)
        elif self.raster is not None:
            position = release.in_raster(surface, self.raster, spacing, self.grid)
        elif self.polygon is not None:
            position = release.in_polygon(surface, self.polygon, spacing, self.grid)
        else:
            raise ValueError("[release] needs one of `points`, `polygon` and `raster`.")
        reach = self.reach or release.REACH[self.grid] * spacing
        pairs = release.neighbours(position, reach) if self.rods is not None else []
        return release.ReleaseMasses(position, pairs)
