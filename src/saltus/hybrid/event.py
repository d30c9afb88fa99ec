"""What happened at an instant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from saltus.hybrid.state import State
from saltus.hybrid.tables import short, table

SHOWN = 20  # events of a list that a notebook shows


class Event:
    """A guard fired, and the state jumped.

    Args:
        name: Name of the guard, or of the mode the system settled into.
        index: Which of the things that the guard watches.
        t: Time [s].
        before: State just before the jump, or a function that puts it together when it is asked for.
        after: State just after, or such a function; a moment later where what sets in would be too slow to follow.
        data: What the system says of it (impulse, energy lost, ...).
        members: Whom of many members it concerns.
    """

    def __init__(
        self,
        name: str,
        index: int,
        t: float,
        before: State | Callable[[], State],
        after: State | Callable[[], State],
        data: dict[str, Any],
        members: tuple[int, ...] = (),
    ):
        self.name, self.index, self.t, self.data, self.members = name, index, t, data, members
        self._before, self._after = before, after

    @functools.cached_property
    def before(self) -> State:
        """State just before the jump; of several events at one instant, before the first of many members' ones."""
        return self._before() if callable(self._before) else self._before

    @functools.cached_property
    def after(self) -> State:
        """State just after; of many members, after the last event of that instant."""
        return self._after() if callable(self._after) else self._after

    def __repr__(self) -> str:
        told = "".join(f", {key}={short(value)}" for key, value in self.data.items())
        return f"Event({self.name!r}, index={self.index}, t={float(self.t):.9g}{told})"

    def _repr_html_(self) -> str:
        rows = [("time [s]", f"{float(self.t):.9g}"), ("index", str(self.index))]
        return table((self.name, ""), [*rows, *((key, short(value)) for key, value in self.data.items())])


class Events(tuple[Event, ...]):
    """The events of a run; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No events.</p>"
        keys = list(dict.fromkeys(key for event in self[:SHOWN] for key in event.data if key != "t"))
        rows = [
            (f"{float(event.t):.9g}", event.name, str(event.index), *(short(event.data.get(key, "")) for key in keys))
            for event in self[:SHOWN]
        ]
        more = f"<p>and {len(self) - SHOWN} more</p>" if len(self) > SHOWN else ""
        return table(("time [s]", "event", "index", *keys), rows) + more
