"""Scenarios of kind "bodies": smooth convex rigid bodies that collide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic

from saltus.scenarios.base import Model, Nonnegative, Positive, Scenario, Triple, is_known

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.systems import RigidBodies

Quadruple = Annotated[list[float], pydantic.Field(min_length=4, max_length=4)]


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
        if len(numbers) not in (1, 3) or min(numbers) < 2.0:
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


class BodyTable(Model):
    """One entry of [[bodies]]."""

    shape: ShapeTable
    density: Positive | None = None
    mass: Positive | None = None
    principal_inertia: Triple | None = None
    center: Triple = [0.0, 0.0, 0.0]
    velocity: Triple = [0.0, 0.0, 0.0]
    quaternion: Quadruple = [1.0, 0.0, 0.0, 0.0]
    angular_velocity: Triple = [0.0, 0.0, 0.0]

    @pydantic.model_validator(mode="after")
    def _mass_once(self) -> Self:
        if self.density is not None and self.mass is not None:
            raise ValueError("Both `density` and `mass` are given. Give one of them.")
        if self.principal_inertia is not None and self.mass is None:
            raise ValueError("`principal_inertia` is given without `mass`. Give both.")
        if not math.hypot(*self.quaternion) > 0.0:
            raise ValueError(f"`quaternion` must not be zero, got {self.quaternion}. For no rotation use [1, 0, 0, 0].")
        return self

    def build(self):
        """The body; the physics checks its inertia."""
        from saltus.shapes import Body

        return Body(
            self.shape.build(),
            density=self.density,
            mass=self.mass,
            principal_inertia=self.principal_inertia,
            center=self.center,
            velocity=self.velocity,
            quaternion=self.quaternion,
            angular_velocity=self.angular_velocity,
        )


class WallTable(Model):
    """One entry of [[walls]]: bodies stay where normal . x > offset."""

    normal: Triple
    offset: float


class BoxTable(Model):
    """The table [box]: edges centred in the origin, with walls or periodic."""

    size: Triple
    periodic: bool = False


class FillTable(Model):
    """The table [fill]: many alike bodies at random places of the box, reproducible by seed."""

    shape: ShapeTable
    count: Annotated[int, pydantic.Field(ge=1, le=100_000)]
    density: Positive = 1.0
    speed: Nonnegative = 1.0
    spin: Nonnegative = 1.0
    seed: Annotated[int, pydantic.Field(ge=0)] = 0


class ImpactTable(Model):
    """The table [impact]: what a touch does."""

    restitution: Annotated[float, pydantic.Field(ge=0, le=1)] = 1.0
    mu: Nonnegative = 0.0
    paradox: Literal["sustain", "pass", "stop"] = "sustain"
    settle_speed: Nonnegative = 1e-8

    def law(self):
        """The law of impact these numbers mean."""
        from saltus.laws.impact import Elastic, Newton, Stronge

        if not is_known(self.mu) or self.mu > 0.0:
            return Stronge(self.restitution, self.mu)
        return Elastic() if is_known(self.restitution) and self.restitution == 1.0 else Newton(self.restitution)


class BodiesScenario(Scenario):
    """Rigid bodies in free flight, with impacts, walls and periodic boxes."""

    kind: Literal["bodies"]
    gravity: Triple = [0.0, 0.0, 0.0]
    bodies: list[BodyTable] = []
    walls: list[WallTable] = []
    box: BoxTable | None = None
    fill: FillTable | None = None
    impact: ImpactTable = ImpactTable()

    @pydantic.model_validator(mode="after")
    def _something_moves(self) -> Self:
        if not self.bodies and self.fill is None:
            raise ValueError("There are no bodies. Give [[bodies]], or [fill] with a [box].")
        if self.fill is not None and self.box is None:
            raise ValueError("[fill] needs a [box] to fill. Give [box] with its size.")
        return self

    def build(self) -> tuple[RigidBodies, State]:
        from saltus.systems import RigidBodies
        from saltus.systems.bodies.filling import filled

        bodies = [body.build() for body in self.bodies]
        if self.fill is not None and self.box is not None:
            fill = self.fill
            bodies += filled(
                fill.shape.build(),
                fill.count,
                self.box.size,
                density=fill.density,
                speed=fill.speed,
                spin=fill.spin,
                seed=fill.seed,
                periodic=self.box.periodic,
                among=bodies,
            )
        system = RigidBodies(
            bodies,
            gravity=self.gravity,
            law=self.impact.law(),
            walls=[*((wall.normal, wall.offset) for wall in self.walls), *self._box_walls()],
            period=self.box.size if self.box is not None and self.box.periodic else None,
            paradox=self.impact.paradox,
            settle_speed=self.impact.settle_speed,
        )
        return system, system.start(bodies)

    def _box_walls(self) -> list[tuple[list[float], float]]:
        if self.box is None or self.box.periodic:
            return []
        faces = []
        for axis, edge in enumerate(self.box.size):
            for sign in (1.0, -1.0):
                normal = [0.0, 0.0, 0.0]
                normal[axis] = sign
                faces.append((normal, -edge / 2.0))
        return faces
