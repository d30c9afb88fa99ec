"""Poincaré sections: the states of a run at the events of one guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from saltus import checks
from saltus.hybrid import State
from saltus.hybrid.trajectory import SIDES

if TYPE_CHECKING:
    from saltus.hybrid import Trajectory


def section(run: Trajectory, guard: str, side: str = "after") -> State:
    """The states of a run at the events of a guard, stacked; a guard that changes nothing makes any surface a section.

    Args:
        run: A run or its trajectory.
        guard: Name of the guard.
        side: "before" or "after" the jump.
    """
    checks.one_of("side", side, SIDES)
    names = {event.name for event in run.events}
    checks.one_of("event of the run", guard, sorted(names))
    states = [getattr(event, side) for event in run.events if event.name == guard]
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *states)
