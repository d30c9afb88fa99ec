"""Modules that hold numbers and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx


class Record(eqx.Module):
    """A module whose methods are none of its data: its fields are read as quickly as those of any object of Python.

    equinox asks of every attribute of its modules whether it is a method, to pass methods to compiled functions. That
    takes 0.4 us each time, and a run reads some hundred fields beside its program.
    """

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__
