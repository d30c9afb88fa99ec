"""Scenarios of kind "sliding": point masses and rods on a surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import pydantic

from saltus.numerics import formula
from saltus.scenarios.base import Model, Nonnegative, Pair, Positive, Scenario, Solve

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.surfaces import AbstractSurface
    from saltus.systems import SlidingMasses


class SurfaceModel(Model):
    """The table [surface]: a type that `saltus.surfaces.named` knows, and its parameters."""

    def build(self) -> AbstractSurface:
        """The surface of the library."""
        from saltus.surfaces import named

        return named(self.model_dump())


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


AnySurface = Annotated[
    SphereModel
    | DomeModel
    | PlaneModel
    | ParaboloidModel
    | SaddleModel
    | GaussianModel
    | CosineModel
    | ConeModel
    | ExpressionModel,
    pydantic.Field(discriminator="type"),
]


class MassModel(Model):
    """An entry of [[masses]]."""

    advice: ClassVar[dict[str, str]] = {
        "position": "Give x and y; z follows from the surface.",
        "velocity": "Give the horizontal components; the third follows from the surface.",
    }

    mass: Positive
    position: Pair
    velocity: Pair = [0.0, 0.0]
    mu: Nonnegative | None = None


class RodModel(Model):
    """An entry of [[rods]]; its length is the distance at the start."""

    between: Annotated[list[int], pydantic.Field(min_length=2, max_length=2)]


class FrictionModel(Model):
    """The table [friction], for the masses without a `mu` of their own."""

    mu: Nonnegative


class SlidingSolve(Solve):
    """The table [solve] of a sliding scenario."""

    formulation: Literal["full", "tangent"] = "full"
    friction_reaction: Literal["abs", "signed"] = "abs"
    adhesion: bool = True
    restitution: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    project: bool = False


class SlidingScenario(Scenario):
    """Point masses joined by rods, sliding on a surface."""

    kind: Literal["sliding"]
    gravity: Positive = 9.81
    surface: AnySurface
    masses: Annotated[list[MassModel], pydantic.Field(min_length=1)]
    rods: list[RodModel] = []
    friction: FrictionModel | None = None
    solve: SlidingSolve

    @pydantic.model_validator(mode="after")
    def _rods_join_masses(self) -> Self:
        count, seen = len(self.masses), {}
        for index, rod in enumerate(self.rods):
            first, second = rod.between
            for end in rod.between:
                if not 0 <= end < count:
                    raise ValueError(
                        f"Rod {index} joins mass {end}, which does not exist. The masses are numbered 0 to {count - 1}."
                    )
            if first == second:
                raise ValueError(
                    f"Rod {index} joins mass {first} to itself. Give `between` as two different masses, such as [0, 1]."
                )
            pair = frozenset(rod.between)
            if pair in seen:
                raise ValueError(f"Rods {seen[pair]} and {index} join the same masses {first} and {second}.")
            seen[pair] = index
        return self

    @pydantic.model_validator(mode="after")
    def _every_mass_has_friction(self) -> Self:
        for index, mass in enumerate(self.masses):
            if mass.mu is None and self.friction is None:
                raise ValueError(
                    f"`masses.{index}.mu` is missing. Give mu for every mass, or once under [friction]; 0.0 means none."
                )
        return self

    @property
    def mu(self) -> list[float]:
        """Friction coefficient of each mass [-]."""
        common = self.friction.mu if self.friction else 0.0
        return [common if mass.mu is None else mass.mu for mass in self.masses]

    def build(self) -> tuple[SlidingMasses, State]:
        from saltus.systems import SlidingMasses

        system = SlidingMasses(
            self.surface.build(),
            masses=[mass.mass for mass in self.masses],
            rods=[tuple(rod.between) for rod in self.rods],
            mu=self.mu,
            gravity=self.gravity,
            formulation=self.solve.formulation,
            friction_reaction=self.solve.friction_reaction,
            adhesion=self.solve.adhesion,
            restitution=self.solve.restitution,
        )
        start = system.start(
            position=[mass.position for mass in self.masses],
            velocity=[mass.velocity for mass in self.masses],
            project=self.solve.project,
        )
        return system, start
