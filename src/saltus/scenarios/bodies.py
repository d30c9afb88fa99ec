"""Scenarios of kind "bodies": smooth convex rigid bodies that collide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import pydantic

from saltus.errors import ScenarioError
from saltus.scenarios.base import KnownStart, Model, Nonnegative, Positive, Scenario, Triple, is_known
from saltus.scenarios.gas import (
    EQUILIBRATION,
    CompressTable,
    FillTable,
    MeasureTable,
    compress,
    fill_with_round_bodies,
    look_at_filling,
    measure_gas,
    start_of,
)
from saltus.scenarios.shape import ShapeTable
from saltus.shapes import limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from saltus.gas.run import GasRun
    from saltus.hybrid import HybridSystem, State
    from saltus.shapes import Body
    from saltus.simulation import Run
    from saltus.starts.bodies import Placed
    from saltus.systems import RigidBodies

Quadruple = Annotated[list[float], pydantic.Field(min_length=4, max_length=4)]


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
        limits.check_quaternion(self.quaternion)
        return self

    def check(self) -> None:
        """Refuse what the body would refuse when it is built."""
        self.shape.check()
        if self.principal_inertia is not None:
            limits.check_inertia(self.principal_inertia)

    def placed(self) -> Placed:
        """The body at its place, for a look at the start."""
        import numpy as np

        from saltus.starts.bodies import Placed

        quaternion = np.asarray(self.quaternion, float)
        exponent = float(np.max(self.shape.exponents))
        return Placed(
            np.asarray(self.shape.axes, float),
            exponent,
            np.asarray(self.center, float),
            quaternion / np.sqrt((quaternion * quaternion).sum()),
            self.shape.radius(),
        )

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
    """The table [box]: edges centred in the origin, with walls or periodic; without size if [fill] gives a fraction."""

    size: Annotated[list[Positive], pydantic.Field(min_length=3, max_length=3)] | None = None
    periodic: bool = False


class ImpactTable(Model):
    """The table [impact]: what a touch does."""

    restitution: Annotated[float, pydantic.Field(ge=0, le=1)] = 1.0
    mu: Nonnegative = 0.0
    paradox: Literal["sustain", "pass", "stop"] = "sustain"
    settle_speed: Nonnegative = 1e-8
    rocking_limit: Annotated[float, pydantic.Field(ge=0, le=0.1)] = 1e-3

    def law(self):
        """The law of impact these numbers mean."""
        from saltus.laws.impact import Elastic, Newton, Stronge

        if not is_known(self.mu) or self.mu > 0.0:
            return Stronge(self.restitution, self.mu)
        return Elastic() if is_known(self.restitution) and self.restitution == 1.0 else Newton(self.restitution)


class BodiesScenario(Scenario):
    """Rigid bodies in free flight, with impacts, walls and periodic boxes."""

    paths: ClassVar[tuple[str, ...]] = ("fill.file",)

    kind: Literal["bodies"]
    gravity: Triple = [0.0, 0.0, 0.0]
    bodies: list[BodyTable] = []
    walls: list[WallTable] = []
    box: BoxTable | None = None
    fill: FillTable | None = None
    impact: ImpactTable = ImpactTable()
    measure: MeasureTable | None = None
    compress: CompressTable | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _open_end(cls, data: Any) -> Any:
        """A gas that is measured or compressed needs no [solve]."""
        if isinstance(data, dict) and ("measure" in data or "compress" in data) and "solve" not in data:
            data = {**data, "solve": {"until": math.inf}}
        return data

    @pydantic.model_validator(mode="after")
    def _something_moves(self) -> Self:
        if not self.bodies and self.fill is None:
            raise ValueError("There are no bodies. Give [[bodies]], or [fill] with a [box].")
        if self.fill is not None and self.box is None:
            raise ValueError("[fill] needs a [box] to fill. Give [box] with its size.")
        if self.fill is not None and self.box is not None and (self.compress is None or self.box.size is not None):
            self.box_edges()
        if self.measure is not None or self.compress is not None:
            self._gas_possible()
        elif math.isinf(self.solve.until):
            raise ValueError("`solve.until` must be finite, got inf: bodies have no end of their own. Give a time [s].")
        return self

    def _gas_possible(self) -> None:
        """What [measure] and [compress] need."""
        table = "[measure]" if self.measure is not None else "[compress]"
        if self.fill is None or self.fill.temperature is None:
            raise ValueError(f"{table} needs a gas. Give [fill] with `temperature`, and a [box].")
        if self.bodies:
            raise ValueError(f"{table} is for a box with [fill] alone. Leave out [[bodies]].")
        if self.ensemble is not None:
            raise ValueError(f"An ensemble of scenarios with {table} cannot be run. Use saltus.ensembles.gas_boxes.")
        if self.walls:
            raise ValueError(f"{table} knows the walls of the box alone. Leave out [[walls]]; `box.periodic = false`.")
        if any(self.gravity) and (self.periodic or self.compress is not None):
            raise ValueError(
                f"`gravity` = {self.gravity} is given with {table} in a periodic box, where bodies fall for ever. "
                "Leave it out, or give the box walls with `box.periodic = false`."
            )
        if self.measure is not None and self.compress is not None:
            raise ValueError("Both [measure] and [compress] are given. Give one of them.")
        if self.measure is not None and self.measure.collisions is None and math.isinf(self.solve.until):
            raise ValueError("The measurement has no end. Give `measure.collisions`, or `solve.until`.")

    def box_edges(self) -> list[float]:
        """Edge lengths of the box [m]."""
        if self.box is None:
            raise ValueError("There is no box. Give [box] with its size.")
        return self.box.size if self.fill is None and self.box.size else self.filling.box_size(self.box.size)

    @property
    def filling(self) -> FillTable:
        """The table [fill], for what needs one."""
        if self.fill is None:
            raise ValueError("The box is not filled. Give [fill].")
        return self.fill

    @property
    def periodic(self) -> bool:
        """Whether there is a box, and it has no walls."""
        return self.box is not None and self.box.periodic

    @property
    def goal(self) -> int | None:
        """Contacts after which the run ends, for those who show how far it is."""
        if self.measure is None or self.measure.collisions is None:
            return None
        count = sum(table.count for table in (self.filling, *self.filling.others))
        before = EQUILIBRATION * count // 2 if self.measure.equilibrate is None else self.measure.equilibrate
        return before + self.measure.collisions

    @property
    def leaves_python_free(self) -> bool:
        """A gas is one compiled loop over contacts."""
        return self.measure is not None or self.compress is not None

    def simulate(
        self,
        progress: Callable[[float, int], None] | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        identity: str = "",
    ) -> Run | GasRun:
        """Run the scenario; a gas that is measured can be saved now and then, and resumed."""
        if self.measure is None and self.compress is None:
            return super().simulate(progress)
        try:
            if self.compress is not None:
                return compress(self, progress)
            return measure_gas(self, progress, checkpoint, resume, identity)
        except ScenarioError:
            raise
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    @property
    def start_is_soon_known(self) -> bool:
        return self.fill is None or self.fill.temperature is not None  # others are put at random places, one by one

    def _look(self) -> KnownStart | None:
        for table in self.bodies:
            table.check()
        if self.fill is not None:
            for table in (self.fill, *self.fill.others):
                table.shape.check()
        if self.compress is not None:
            return KnownStart()  # nothing moves yet: the bodies alone are checked, as in `possible`
        if self.fill is not None and self.fill.temperature is not None:
            return None if self.bodies or self.walls or self.fill.file else look_at_filling(self)
        return self._look_at_bodies()

    def _look_at_bodies(self) -> KnownStart | None:
        """Whether bodies certainly do not overlap, and those of a filling fit in."""
        from saltus.starts import bodies as starts

        placed = [table.placed() for table in self.bodies]
        walls = [*((wall.normal, wall.offset) for wall in self.walls), *self._box_walls()]
        planes = starts.unit_walls(*zip(*walls, strict=True)) if walls else None
        if self.fill is not None and self.box is not None:
            added = fill_with_round_bodies(self.fill, self.box_edges(), self.box.periodic, self.bodies)
            if added is None:
                return None
            placed += added
        period = self.box_edges() if self.periodic else None
        return KnownStart() if starts.are_apart(placed, planes, period) else None

    def possible(self) -> tuple[HybridSystem, State] | None:
        """As of every scenario; None for bodies that are compressed, of which nothing moves: they alone are checked."""
        if self.compress is None:
            return self.assemble()
        from saltus.gas.states import bodies_of

        try:
            bodies_of(self.filling.species(), self.filling.seed)
        except ValueError as error:
            raise ScenarioError(str(error)) from error
        return None

    def build(self) -> tuple[RigidBodies, State]:
        from saltus.systems import RigidBodies
        from saltus.systems.bodies.filling import fill_box

        bodies = [body.build() for body in self.bodies]
        if self.fill is not None and self.fill.temperature is not None:
            bodies += self._thermal_bodies()
        elif self.fill is not None and self.box is not None:
            fill = self.fill
            bodies += fill_box(
                fill.shape.build(),
                fill.count,
                self.box_edges(),
                density=fill.density_of_one(),
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
            period=self.box_edges() if self.periodic else None,
            paradox=self.impact.paradox,
            settle_speed=self.impact.settle_speed,
            rocking_limit=self.impact.rocking_limit,
        )
        return system, system.start(bodies)

    def _thermal_bodies(self) -> list[Body]:
        """The bodies of a thermal filling, one by one."""
        from saltus.numerics import rotation
        from saltus.programs.arrays import numbers
        from saltus.shapes import Body

        start = start_of(self)
        shapes = [table.shape.build() for table in (self.filling, *self.filling.others) for _ in range(table.count)]

        def spin(i: int):
            turn = numbers(start.quaternion[i])
            return rotation.rotate(turn, rotation.rotate_back(turn, numbers(start.momentum[i])) / start.inertia[i])

        return [
            Body(
                shapes[i],
                mass=start.mass[i],
                center=start.place[i],
                velocity=start.velocity[i],
                quaternion=start.quaternion[i],
                angular_velocity=spin(i),
            )
            for i in range(start.n)
        ]

    def _box_walls(self) -> list[tuple[list[float], float]]:
        if self.box is None or self.periodic:
            return []
        faces = []
        for axis, edge in enumerate(self.box_edges()):
            for sign in (1.0, -1.0):
                normal = [0.0, 0.0, 0.0]
                normal[axis] = sign
                faces.append((normal, -edge / 2.0))
        return faces
