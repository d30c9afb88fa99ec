"""Scenarios of kind "plane_ball": a ball that slides, spins and rolls on a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import pydantic

from saltus.scenarios.base import KnownStart, Model, Pair, Positive, Scenario, Triple
from saltus.scenarios.contact_law import ContactLawModel
from saltus.scenarios.rails import Slope, spot_fits

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.systems import BallOnPlane


class PlaneStart(Model):
    """The table [start] of a ball on a plane."""

    velocity: Pair = [0.0, 0.0]
    angular_velocity: Triple = [0.0, 0.0, 0.0]
    position: Pair = [0.0, 0.0]


class PlaneBallScenario(Scenario):
    """A homogeneous ball on a plane, level or sloping down towards +x."""

    angles: ClassVar[tuple[str, ...]] = ("slope",)

    kind: Literal["plane_ball"]
    mass: Positive
    radius: Positive
    slope: Slope = 0.0
    gravity: Positive = 9.81
    friction: ContactLawModel
    start: PlaneStart = PlaneStart()

    @pydantic.model_validator(mode="after")
    def _spot_is_smaller_than_the_ball(self) -> Self:
        spot_fits(self.friction, self.radius)
        return self

    def _look(self) -> KnownStart:
        return KnownStart()  # a ball on its track can begin with any motion

    def build(self) -> tuple[BallOnPlane, State]:
        from saltus.systems import BallOnPlane

        ball = BallOnPlane(self.mass, self.radius, self.friction.build(), self.slope, self.gravity)
        self.prepare(ball, ball.blank())
        return ball, ball.start(self.start.velocity, self.start.angular_velocity, self.start.position)
