"""What happened at an instant."""

from __future__ import annotations

import dataclasses
from typing import Any

from saltus.hybrid.state import State


@dataclasses.dataclass(frozen=True)
class Event:
    """A guard fired, and the state jumped.

    Args:
        name: Name of the guard, or of the mode the system settled into.
        index: Which of the things that the guard watches.
        t: Time [s].
        before: State just before the jump.
        after: State just after.
        data: What the system says of it (impulse, energy lost, ...).
    """

    name: str
    index: int
    t: float
    before: State
    after: State
    data: dict[str, Any]
