"""What an engine needs to know of a system that knows its own step."""

from __future__ import annotations

import abc
from typing import Any

from jaxtyping import Array, Bool

from saltus.hybrid.state import State
from saltus.hybrid.system import HybridSystem


class AbstractSteppedSystem(HybridSystem):
    """A system that moves by an implicit step of its own, through stick and slip; events are at the ends of steps.

    `advance`, `change` and `resting` are traced by JAX.
    """

    @abc.abstractmethod
    def suggested_step(self, start: State) -> float:
        """A step for a run from `start` where none is given [s]."""

    @abc.abstractmethod
    def advance(self, state: State, duration: Array) -> tuple[State, Bool[Array, ""]]:
        """The state after `duration`, and whether the step could be solved."""

    @abc.abstractmethod
    def change(self, state: State) -> State:
        """What the rules make of a state at the end of a step; only mode and ledger change."""

    @abc.abstractmethod
    def changes(self, before: State, after: State) -> list[tuple[str, int, dict[str, Any]]]:
        """The events between two states of one instant: name, index and what is told of each."""

    @abc.abstractmethod
    def resting(self, state: State) -> Bool[Array, ""]:
        """Whether nothing will move any more."""
