"""Scenarios of kind "ground_body": one rigid convex body on a surface."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import pydantic

from saltus.scenarios.base import (
    IMPLICIT_METHODS,
    EndTime,
    KnownStart,
    Model,
    Nonnegative,
    Pair,
    Positive,
    Scenario,
    Solve,
    Triple,
)
from saltus.scenarios.bodies import Quadruple, ShapeTable
from saltus.scenarios.contact_law import ContactLawModel
from saltus.scenarios.surfaces import AnySurface
from saltus.shapes import limits

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.systems import BodyOnGround

WITHIN = 0.99  # share of a radius within which a centre of mass is certainly in the body
FASTEST = 1e100  # speed up to which the motion at the start is certainly told in numbers
FORMS = ("axes", "radius", "disc", "balls")
EXTRAS = {"exponents": "axes", "bulge": "axes", "rounding": "disc"}  # keys that belong to one of the forms only


class BallOfBody(Model):
    """One of several balls that a body is made of."""

    radius: Positive
    center: Triple = [0.0, 0.0, 0.0]


class GroundShape(Model):
    """The body's shape: `axes` (and `exponents`) of an ellipsoid or superellipsoid, `radius` of a ball, `disc` (radius
    of a thin disc, with `rounding` of its rim) or `balls`.

    The faces of a superellipsoid bulge by the share `bulge` of its size: flat ones would touch hollow ground twice.
    """

    axes: Triple | None = None
    exponents: list[float] | float = 2.0
    bulge: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.02
    radius: Positive | None = None
    disc: Positive | None = None
    rounding: Nonnegative = 0.0
    balls: Annotated[list[BallOfBody], pydantic.Field(min_length=1)] | None = None

    @pydantic.model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [name for name in FORMS if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(f"`{name}`" for name in given) if given else "none of them"
            raise ValueError(f"`body.shape` needs one of axes, radius, disc or balls, got {said}.")
        for name, form in EXTRAS.items():
            value = getattr(self, name)
            if given != [form] and value != type(self).model_fields[name].default:
                told = f"`body.shape.{name}` belongs to a shape with `{form}`, got {value} beside `{given[0]}`."
                raise ValueError(f"{told} Leave it out.")
        if self.axes is not None:
            ShapeTable(axes=self.axes, exponents=self.exponents)
        return self

    def check(self) -> None:
        """Refuse sizes that the shapes would refuse when they are built."""
        if self.axes is not None:
            ShapeTable(axes=self.axes, exponents=self.exponents).check()
        for ball in self.balls or []:
            limits.check_radius(ball.radius)
        if self.radius is not None:
            limits.check_radius(self.radius)

    def extents(self) -> tuple[float, float]:
        """Radius of a ball about the centre that holds the body, and of one that it certainly holds [m]."""
        if self.balls is not None:
            return max(ball.radius + math.hypot(*ball.center) for ball in self.balls), 0.0
        if self.radius is not None:
            return self.radius, self.radius
        if self.disc is not None:
            return self.disc + self.rounding, self.rounding
        shape = ShapeTable(axes=self.axes or [], exponents=self.exponents)
        # A block is larger than the superellipsoid by its bulge: by a twentieth at most (`shapes.Block`).
        return 1.05 * shape.radius(), min(shape.axes)

    def build(self) -> tuple[list, list[list[float]]]:
        """The shapes and their centres."""
        from saltus.shapes import Ball, Block, Disc

        if self.balls is not None:
            return [Ball(ball.radius) for ball in self.balls], [ball.center for ball in self.balls]
        if self.radius is not None:
            return [Ball(self.radius)], [[0.0, 0.0, 0.0]]
        if self.disc is not None:
            return [Disc(self.disc, self.rounding)], [[0.0, 0.0, 0.0]]
        if self.axes is None:
            raise ValueError("`body.shape` needs one of axes, radius, disc or balls.")
        # Checked already; ensembles build with numbers that are not known yet, which no check would take.
        shape = ShapeTable.model_construct(axes=self.axes, exponents=self.exponents)
        built = shape.build() if shape.is_ellipsoid else Block(self.axes, self.exponents, self.bulge)
        return [built], [[0.0, 0.0, 0.0]]


class GroundBodyTable(Model):
    """The table [body]."""

    advice: ClassVar[dict[str, str]] = {"position": "Give x and y; the body is put on the ground, or `height` above."}

    shape: GroundShape
    density: Positive | None = None
    mass: Positive | None = None
    principal_inertia: Triple | None = None
    principal_axes: Quadruple = [1.0, 0.0, 0.0, 0.0]
    center_of_mass: Triple = [0.0, 0.0, 0.0]
    position: Pair = [0.0, 0.0]
    height: Nonnegative | None = None
    velocity: Triple = [0.0, 0.0, 0.0]
    quaternion: Quadruple = [1.0, 0.0, 0.0, 0.0]
    angular_velocity: Triple = [0.0, 0.0, 0.0]

    @pydantic.model_validator(mode="after")
    def _mass_once(self) -> Self:
        if (self.density is None) == (self.mass is None):
            raise ValueError("Give `body.mass` or `body.density`, one of them.")
        for name in ("quaternion", "principal_axes"):
            limits.check_quaternion(getattr(self, name), f"body.{name}")
        if self.density is not None and (self.shape.balls is not None or self.shape.disc is not None):
            raise ValueError("`body.density` is for ellipsoids, superellipsoids and balls. Give `body.mass` instead.")
        return self

    def check(self) -> bool:
        """Refuse what the body would refuse when it is built; False where only building it tells."""
        self.shape.check()
        balls, aside = self.shape.balls, math.hypot(*self.center_of_mass)
        if balls is not None:
            within = any(math.dist(ball.center, self.center_of_mass) < WITHIN * ball.radius for ball in balls)
        else:
            within = aside == 0.0 or aside < WITHIN * self.shape.extents()[1]
        if not within or (balls is not None and len(balls) > 1 and self.principal_inertia is None):
            return False
        if self.principal_inertia is not None:
            limits.check_inertia(self.principal_inertia)
        return True

    def radius(self) -> float:
        """Radius of a ball about the centre of mass that holds the body [m]."""
        return self.shape.extents()[0] + math.hypot(*self.center_of_mass)

    def build(self):
        """The body without its place and motion; the physics checks its inertia."""
        from saltus.shapes import Solid

        shapes, centers = self.shape.build()
        return Solid(
            shapes,
            density=self.density,
            mass=self.mass,
            principal_inertia=self.principal_inertia,
            principal_axes=self.principal_axes,
            center_of_mass=self.center_of_mass,
            centers=centers,
        )


class GroundFriction(ContactLawModel):
    """The table [friction]: `spot_radius` may be "hertz", with the reduced modulus of body and ground."""

    modulus: Positive | None = None
    rolling_friction: Nonnegative = 0.0

    @pydantic.model_validator(mode="before")
    @classmethod
    def _hertz(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        by_hertz = data.get("spot_radius") == "hertz"
        if by_hertz and "modulus" not in data:
            raise ValueError('`friction.spot_radius` is "hertz": give `friction.modulus` as well, the reduced modulus.')
        if "modulus" in data and data.get("spot_radius", 0.0) not in (0.0, "hertz"):
            raise ValueError("Both `friction.modulus` and a number for `friction.spot_radius` are given. Give one.")
        if "modulus" in data and data.get("model") == "coulomb":
            raise ValueError("`friction.modulus` gives a spot its radius, but model 'coulomb' is a point contact.")
        return {**data, "spot_radius": 0.0} if by_hertz else data


class GroundImpact(Model):
    """The table [impact]: which law, and its numbers; `mu` is that of [friction] if left out."""

    law: Literal["newton", "poisson", "stronge", "soil"] = "stronge"
    restitution: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    mu: Nonnegative | None = None
    reference_speed: Positive | None = None
    reference_mass: Positive | None = None
    tangential_restitution: Annotated[float, pydantic.Field(ge=-1, le=1)] | None = None
    settle_height: Positive = 1e-10

    @pydantic.model_validator(mode="after")
    def _own_keys(self) -> Self:
        for name in ("reference_speed", "reference_mass", "tangential_restitution"):
            if self.law != "soil" and getattr(self, name) is not None:
                raise ValueError(f"`impact.{name}` belongs to law 'soil', got law {self.law!r}. Leave it out.")
        return self

    def build(self, mu: float):
        """The law of the library, with this friction where none is given."""
        from saltus.laws import impact

        mu = mu if self.mu is None else self.mu
        if self.law == "soil":
            names = ("reference_speed", "reference_mass", "tangential_restitution")
            given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
            return impact.Soil(self.restitution, mu, **given)
        laws = {"newton": impact.RoughNewton, "poisson": impact.Poisson, "stronge": impact.Stronge}
        return laws[self.law](self.restitution, mu)


class GroundType(Model):
    """An entry of [[ground]]: where a type of ground lies, and what it has of its own; later entries lie on top.

    `polygon` is a list of corners in the coordinates of the surface, or a GeoJSON file; `raster` a file whose pixels
    with `value` (one number or several; without it all above zero) are of this type.
    """

    polygon: str | list[Pair] | None = None
    raster: str | None = None
    value: float | list[float] | None = None
    mu: Nonnegative | None = None
    rolling_friction: Nonnegative | None = None
    restitution: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None

    @pydantic.model_validator(mode="after")
    def _one_area(self) -> Self:
        if (self.polygon is None) == (self.raster is None):
            raise ValueError("An entry of [[ground]] needs `polygon` or `raster`, one of them.")
        if self.value is not None and self.raster is None:
            raise ValueError("`ground.value` belongs to a `raster`. Leave it out.")
        if isinstance(self.polygon, list) and len(self.polygon) < 3:
            raise ValueError(f"`ground.polygon` needs at least 3 corners [x, y], got {len(self.polygon)}.")
        return self

    def pixels(self, grid) -> Any:
        """Which pixels of a terrain are of this type."""
        from saltus.io import cover

        if self.polygon is not None:
            return cover.in_polygon(grid, self.polygon)
        values = self.value if isinstance(self.value, list) or self.value is None else [self.value]
        return cover.in_raster(grid, str(self.raster), values)


class GroundSolve(Solve):
    """The table [solve]: `until` may be "rest"; a body that does not rest is left after `patience` seconds."""

    until: EndTime | Literal["rest"] = "rest"
    patience: Positive = 600.0

    @pydantic.field_validator("until", mode="before")
    @classmethod
    def _time_or_rest(cls, value: Any) -> Any:
        if isinstance(value, str) and value != "rest":
            raise ValueError(f'`solve.until` must be a time > 0 in seconds or "rest", got {value!r}.')
        if isinstance(value, int | float) and not value > 0:
            raise ValueError(f'`solve.until` must be > 0, or "rest", got {value}.')
        return value

    @pydantic.model_validator(mode="after")
    def _explicit(self) -> Self:
        if self.method in IMPLICIT_METHODS:
            raise ValueError(
                f"`solve.method` {self.method!r} cannot run a body on the ground: implicit steps need derivatives of "
                "its rate, which leave out those of slow slip. Take an explicit one, such as 'dopri8'."
            )
        return self


class GroundBodyScenario(Scenario):
    """One rigid convex body on a surface: it flies, bounces, slides, rolls, spins and rests."""

    paths: ClassVar[tuple[str, ...]] = ("surface.file", "ground.polygon", "ground.raster")

    kind: Literal["ground_body"]
    gravity: Positive = 9.81
    surface: AnySurface
    body: GroundBodyTable
    friction: GroundFriction
    impact: GroundImpact = GroundImpact()
    ground: list[GroundType] = []
    solve: GroundSolve = GroundSolve()

    @pydantic.model_validator(mode="after")
    def _ground_on_a_map(self) -> Self:
        if self.ground and self.surface.type != "terrain":
            raise ValueError(f'[[ground]] is for surface.type = "terrain", got {self.surface.type!r}. Leave it out.')
        return self

    def _kinds(self, grid):
        """Number of the type of ground in each pixel of the terrain."""
        import numpy as np

        kinds = np.zeros(grid.shape, int)
        for number, one in enumerate(self.ground, start=1):
            kinds[one.pixels(grid)] = number
        return kinds

    def _cover(self, grid):
        """The types of ground over the pixels of the terrain."""
        from saltus.surfaces.cover import Cover

        kinds = self._kinds(grid)
        own = {"mu": self.friction.mu, "rolling_friction": self.friction.rolling_friction}
        own["restitution"] = self.impact.restitution
        each = {
            name: [value, *(value if getattr(one, name) is None else getattr(one, name) for one in self.ground)]
            for name, value in own.items()
        }
        return Cover(grid, kinds, **each)

    @property
    def end_time(self) -> float:
        """When the run ends at the latest [s]; infinite if it ends at rest."""
        return math.inf if self.solve.until == "rest" else float(self.solve.until)

    def _look(self) -> KnownStart | None:
        from saltus.starts import ground_body as starts

        if not self.body.check() or not math.hypot(*self.body.velocity, *self.body.angular_velocity) < FASTEST:
            return None
        surface, position = self.surface.known(), self.body.position
        if self.ground:
            self._kinds(surface.grid)
        starts.check_ground(surface.at(*position).margin, position)
        return KnownStart() if starts.has_ground(surface, position, self.body.radius()) else None

    def build(self) -> tuple[BodyOnGround, State]:
        from saltus.surfaces import Terrain
        from saltus.systems import BodyOnGround
        from saltus.systems.ground_body.system import NO_END

        body, friction = self.body, self.friction
        surface = self.surface.build()
        system = BodyOnGround(
            surface,
            body.build(),
            friction.build(),
            self.impact.build(friction.mu),
            gravity=self.gravity,
            rolling_friction=friction.rolling_friction,
            modulus=friction.modulus,
            settle_height=self.impact.settle_height,
            patience=self.solve.patience if self.solve.until == "rest" else NO_END,
            cover=self._cover(surface.grid) if self.ground and isinstance(surface, Terrain) else None,
        )
        run = system.with_tolerance(self.solve.rtol)
        self.prepare(run, run.blank(flies=body.height is not None))
        start = run.start(
            body.position,
            velocity=body.velocity,
            quaternion=body.quaternion,
            angular_velocity=body.angular_velocity,
            height=body.height,
        )
        return run, start
