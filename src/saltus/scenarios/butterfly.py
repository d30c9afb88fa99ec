"""Scenarios of kind "butterfly": a ball on two turning plates, or the turning that a wanted motion needs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import pydantic

from saltus.numerics import formula
from saltus.scenarios.base import KnownStart, Model, Positive, Scenario
from saltus.scenarios.contact_law import ContactLawModel
from saltus.scenarios.rails import HalfAngle, spot_fits

if TYPE_CHECKING:
    from saltus.hybrid import AbstractSystem, State
    from saltus.numerics.jets import Jet
    from saltus.shapes import AbstractProfile
    from saltus.systems.butterfly import AbstractTurning


SURE = 1e-9  # share of its weight by which a load must differ from none, for a start to be known


class CircleModel(Model):
    """A circle of radius a."""

    type: Literal["circle"]
    a: Positive

    def build(self) -> AbstractProfile:
        """The outline of the library."""
        from saltus.shapes import CircleProfile

        return CircleProfile(self.a)

    def radius_of(self, phi: Jet) -> Jet:
        """The radius as a function of the angle phi = x, at known ones."""
        return self.a + 0.0 * phi


class WaistModel(Model):
    """The outline a - b cos(2 phi)."""

    type: Literal["butterfly"]
    a: Positive
    b: float

    def build(self) -> AbstractProfile:
        """The outline of the library."""
        from saltus.shapes import ButterflyProfile

        return ButterflyProfile(self.a, self.b)

    def radius_of(self, phi: Jet) -> Jet:
        """The radius as a function of the angle phi = x, at known ones."""
        from saltus.numerics import jets

        return self.a - self.b * jets.cos(2.0 * phi)


class OutlineFormulaModel(Model):
    """Arithmetic in phi and named parameters, in metres."""

    type: Literal["expression"]
    radius: str
    parameters: dict[str, float] = {}

    @pydantic.model_validator(mode="after")
    def _arithmetic(self) -> Self:
        formula.check_names(self.parameters, taken=("phi",))
        formula.parse(self.radius, ("phi", *self.parameters))
        return self

    def build(self) -> AbstractProfile:
        """The outline of the library."""
        from saltus.shapes import ProfileFunction

        return ProfileFunction(lambda phi: formula.evaluate(self.radius, {"phi": phi, **self.parameters}))

    def radius_of(self, phi: Jet) -> Jet:
        """The radius as a function of the angle phi = x, at known ones."""
        from saltus.numerics import jets

        return 0.0 * phi + formula.evaluate(self.radius, {"phi": phi, **self.parameters}, jets)


AnyProfile = Annotated[CircleModel | WaistModel | OutlineFormulaModel, pydantic.Field(discriminator="type")]


class SinusoidModel(Model):
    """angle + rate t + amplitude sin(frequency t) [rad]."""

    type: Literal["sinusoid"]
    angle: float = 0.0
    rate: float = 0.0
    amplitude: float = 0.0
    frequency: float = 0.0

    def build(self) -> AbstractTurning:
        """The turning of the library."""
        from saltus.systems import Turning

        return Turning(self.angle, self.rate, self.amplitude, self.frequency)

    def at_start(self) -> tuple[float, float, float] | None:
        """Angle, rate and acceleration at t = 0; None where that takes a program."""
        return self.angle, self.rate + self.amplitude * self.frequency, 0.0


class TableModel(Model):
    """Angles at given times, or a file with two columns (time, angle); a cubic spline between."""

    type: Literal["table"]
    times: list[float] | None = None
    angles: list[float] | None = None
    file: str | None = None

    @pydantic.model_validator(mode="after")
    def _one_source(self) -> Self:
        lists = self.times is not None and self.angles is not None
        if lists == (self.file is not None):
            raise ValueError("A table needs either `times` and `angles`, or `file` with two columns, time and angle.")
        return self

    def build(self) -> AbstractTurning:
        """The turning of the library."""
        import numpy as np

        from saltus.systems import TurningTable

        if self.file is None:
            return TurningTable(self.times, self.angles)
        if not Path(self.file).is_file():
            raise ValueError(f"There is no file {self.file!r} with the table of angles.")
        columns = np.loadtxt(self.file, delimiter="," if self.file.endswith(".csv") else None, ndmin=2)
        if columns.shape[1] != 2:
            raise ValueError(f"{self.file!r} must have two columns, time and angle, got {columns.shape[1]}.")
        return TurningTable(columns[:, 0], columns[:, 1])

    def at_start(self) -> tuple[float, float, float] | None:
        """Angle, rate and acceleration at t = 0; None where that takes a program."""
        return None


class TurningFormulaModel(Model):
    """Arithmetic in t and named parameters [rad]."""

    type: Literal["expression"]
    angle: str
    parameters: dict[str, float] = {}

    @pydantic.model_validator(mode="after")
    def _arithmetic(self) -> Self:
        formula.check_names(self.parameters, taken=("t",))
        formula.parse(self.angle, ("t", *self.parameters))
        return self

    def build(self) -> AbstractTurning:
        """The turning of the library."""
        from saltus.systems import TurningFunction

        return TurningFunction(lambda t: formula.evaluate(self.angle, {"t": t, **self.parameters}) + 0.0 * t)

    def at_start(self) -> tuple[float, float, float] | None:
        """Angle, rate and acceleration at t = 0; None where that takes a program."""
        from saltus.numerics import jets

        t, _ = jets.variables(0.0, 0.0)
        found = formula.evaluate(self.angle, {"t": t, **self.parameters}, jets) + 0.0 * t
        angle, rate, _, gain, *_ = found.parts.tolist()
        return angle, rate, gain


AnyTurning = Annotated[SinusoidModel | TableModel | TurningFormulaModel, pydantic.Field(discriminator="type")]


class ButterflyStart(Model):
    """The table [start] of a ball on plates; with `wanted`, that of the plates."""

    phi: float = 0.0
    speed: float = 0.0
    angular_velocity: float | None = None
    plate_angle: float = 0.0
    plate_rate: float = 0.0


class ButterflyScenario(Scenario):
    """A ball on two plates that turn as given, or (`wanted`) the turning for which it rolls as wanted."""

    angles: ClassVar[tuple[str, ...]] = ("half_angle",)

    kind: Literal["butterfly"]
    mass: Positive
    radius: Positive
    half_angle: HalfAngle
    gravity: Positive = 9.81
    profile: AnyProfile
    turning: AnyTurning | None = None
    wanted: AnyTurning | None = None
    friction: ContactLawModel | None = None
    start: ButterflyStart = ButterflyStart()

    @pydantic.model_validator(mode="after")
    def _one_job(self) -> Self:
        if (self.turning is None) == (self.wanted is None):
            raise ValueError(
                "Give either [turning], how the plates turn, or [wanted], how the ball should roll; one of them."
            )
        if self.turning is not None and self.friction is None:
            raise ValueError("`friction` is missing. Give at least `friction = { mu = ... }`.")
        if self.friction is not None:
            spot_fits(self.friction, self.radius)
        return self

    def _look(self) -> KnownStart | None:
        import numpy as np

        from saltus.starts import ball as starts

        if self.friction is not None and self.turning is not None:
            point = self.friction.model == "coulomb" or self.friction.spot_radius <= starts.POINT * self.radius
            starts.check_tilt(self.half_angle, point)
        with np.errstate(all="ignore"):  # numbers out of range, of which nothing is concluded
            if not self._outline_is_known():
                return None
            if self.turning is None:
                return KnownStart()
            motion = self.turning.at_start()
            if motion is None:
                return None
            load = self._load(motion)
        if not abs(load) > SURE:
            return None
        starts.check_load(load)
        return KnownStart()

    def _outline_is_known(self) -> bool:
        """Whether the outline has a curvature everywhere; one on which the ball cannot roll is refused."""
        import numpy as np

        from saltus.numerics import jets
        from saltus.shapes import outline

        around = self.profile.radius_of(jets.variables(outline.ANGLES, 0.0)[0]).parts
        bends = outline.curvature(around[jets.VALUE], around[jets.X], around[jets.XX])
        if not np.isfinite(bends).all():
            return False
        outline.check_ball(around[jets.VALUE], bends, self._height)
        return True

    @property
    def _height(self) -> float:
        """Of the ball's centre over the outline [m]."""
        return self.radius * math.cos(self.half_angle)

    def _load(self, turning: tuple[float, float, float]) -> float:
        """Load at the start, over the weight of the ball."""
        import numpy as np

        from saltus.numerics import jets
        from saltus.shapes.outline import outline_point
        from saltus.systems.butterfly.track import demand, track_along

        phi = np.float64(self.start.phi)
        here = self.profile.radius_of(jets.variables(phi, 0.0)[0]).parts[[jets.VALUE, jets.X, jets.XX]]
        place = track_along(outline_point(phi, *here), self._height)
        return float(demand(place, self.start.speed, turning, self.gravity).load) / self.gravity

    def build(self) -> tuple[AbstractSystem, State]:
        from saltus.systems import Butterfly, ButterflyPlan

        profile, start = self.profile.build(), self.start
        if self.wanted is not None:
            plan = ButterflyPlan(self.mass, self.radius, self.half_angle, profile, self.wanted.build(), self.gravity)
            return plan, plan.start(start.plate_angle, start.plate_rate)
        if self.turning is None or self.friction is None:
            raise ValueError("A ball on plates that turn needs the tables [turning] and [friction].")
        ball = Butterfly(
            self.mass,
            self.radius,
            self.half_angle,
            profile,
            self.turning.build(),
            self.friction.build(),
            self.gravity,
        )
        return ball, ball.start(start.phi, start.speed, start.angular_velocity)
