"""Adaptive high-order flow with events located to rounding level."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from saltus import checks
from saltus.engines import loop
from saltus.engines.budget import MAX_STEPS
from saltus.engines.step_control import steps_for
from saltus.engines.steppers import is_fixed, stepper
from saltus.hybrid import AbstractSystem, State
from saltus.hybrid.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class EventDriven:
    """Runs a hybrid system with adaptive steps.

    The earliest guard wins whatever the order of the list; a guard that dips below zero and
    returns within one step is found; an event is located by re-integration from the start of
    its step, to the last bits of the time; a step that leaves the domain is taken again, shorter.

    Args:
        method: Name of the method (`engines.steppers.METHODS`); "dopri8" for smooth flow,
            "kvaerno5" for stiff flow.
        rtol: Error allowed per step, relative, > 0.
        atol: Error allowed per step, absolute, > 0.
        max_events: Events after which a run is ended.
        max_steps: Steps after which a run is ended, earlier where it is seen to need more (`budget`).
    """

    contract: ClassVar[type] = AbstractSystem

    method: str = "dopri8"
    rtol: float = 1e-10
    atol: float = 1e-12
    max_events: int = 10_000
    max_steps: int = MAX_STEPS

    def __post_init__(self):
        if is_fixed(self.method):
            raise ValueError(f"Method {self.method!r} has no error estimate. Use it with `step`, as `FixedStep(step)`.")
        checks.positive("rtol", self.rtol)
        checks.positive("atol", self.atol)

    def run(self, system: AbstractSystem, start: State, until: float, progress=None) -> Trajectory:
        """Alternate smooth flow and jumps from `start` to time `until`."""
        control = steps_for(system, self.rtol, self.atol, None, start.t)
        method = stepper(self.method, self.rtol)
        return loop.run(system, start, until, method, control, self.max_events, self.max_steps, progress)
