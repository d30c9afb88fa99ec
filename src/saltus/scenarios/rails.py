"""Scenarios of kind "rails": a ball on two parallel rails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import pydantic

from saltus import checks
from saltus.scenarios.base import KnownStart, Model, Positive, Scenario, Triple
from saltus.scenarios.contact_law import ContactLawModel

if TYPE_CHECKING:
    from saltus.hybrid import AbstractSystem, State

Slope = Annotated[float, pydantic.Field(ge=-1.5707, le=1.5707)]  # as `BallOnPlane` and `BallOnRails` take it
HalfAngle = Annotated[float, pydantic.Field(ge=0, lt=math.pi / 2)]


class RailsStart(Model):
    """The table [start] of a ball on rails."""

    velocity: float = 0.0
    angular_velocity: Triple = [0.0, 0.0, 0.0]
    position: float = 0.0


class RailsScenario(Scenario):
    """A homogeneous ball on two parallel rails; half_angle = 0 is a plane."""

    angles: ClassVar[tuple[str, ...]] = ("half_angle", "slope")

    kind: Literal["rails"]
    mass: Positive
    radius: Positive
    half_angle: HalfAngle
    slope: Slope = 0.0
    gravity: Positive = 9.81
    friction: ContactLawModel
    start: RailsStart = RailsStart()

    @pydantic.model_validator(mode="after")
    def _spot_is_smaller_than_the_ball(self) -> Self:
        spot_fits(self.friction, self.radius)
        return self

    def _look(self) -> KnownStart:
        return KnownStart()  # a ball on its track can begin with any motion

    def build(self) -> tuple[AbstractSystem, State]:
        from saltus.systems import BallOnPlane, BallOnRails

        start = self.start
        checks.note(self.half_angle > 0.0)
        if checks.concrete(self.half_angle) == 0.0:
            flat = BallOnPlane(self.mass, self.radius, self.friction.build(), self.slope, self.gravity)
            return flat, flat.start([start.velocity, 0.0], start.angular_velocity, [start.position, 0.0])
        ball = BallOnRails(self.mass, self.radius, self.half_angle, self.friction.build(), self.slope, self.gravity)
        ball = ball.with_tolerance(self.solve.rtol)
        self.prepare(ball, ball.blank())
        return ball, ball.start(start.velocity, start.angular_velocity, start.position)


def spot_fits(friction: ContactLawModel, radius: float) -> None:
    if friction.spot_radius >= radius:
        raise ValueError(
            f"`friction.spot_radius` must be < `radius`, got {friction.spot_radius} and {radius}. "
            "A contact spot is smaller than the ball."
        )
