"""Constant steps, as the papers use them."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from saltus import checks
from saltus.engines import loop
from saltus.engines.budget import MAX_STEPS
from saltus.engines.step_control import ConstantSteps
from saltus.engines.steppers import stepper
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.trajectory import Trajectory
from saltus.programs.arrays import numbers


@dataclasses.dataclass(frozen=True)
class FixedStep:
    """Runs a hybrid system with a constant step; no error is estimated.

    Guards are watched as by `EventDriven`: a step in which one fires is cut there, and the next
    one ends on the grid again. Towards a singular event (`Guard`), such as a stop by friction,
    steps are halved. Constraints are not restored after a step, so that their drift
    shows the error of the scheme.

    Args:
        step: Length of a step, > 0 [s].
        method: Name of the method; "rk4" is the papers' scheme.
        project: Whether the constraints are restored after each step.
        max_events: Events after which a run is ended.
        max_steps: Steps after which a run is ended, earlier where it is seen to need more (`budget`).
    """

    contract: ClassVar[type] = AbstractSystem

    step: float
    method: str = "rk4"
    project: bool = False
    max_events: int = 10_000
    max_steps: int = 10 * MAX_STEPS

    @property
    def rtol(self) -> None:
        """No error is promised: steps are constant."""
        return None

    def __post_init__(self):
        checks.positive("step", self.step, "It is the time from one state to the next, in seconds.")

    def run(self, system: AbstractSystem, start: State, until: float, progress=None) -> Trajectory:
        """Alternate smooth flow and jumps from `start` to time `until`."""
        control = ConstantSteps(numbers(self.step), start.t, project=self.project)
        method = stepper(self.method)
        return loop.run(system, start, until, method, control, self.max_events, self.max_steps, progress)
