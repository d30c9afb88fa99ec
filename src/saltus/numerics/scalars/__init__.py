"""Programs of small arrays, written out as operations on scalars."""

from saltus.numerics.scalars.arrays import as_constants, as_inputs
from saltus.numerics.scalars.graph import (
    CannotScalariseError,
    Node,
    Scalars,
    cost,
    evaluate,
    needed_nodes,
)
from saltus.numerics.scalars.programs import scalarize
from saltus.numerics.scalars.slow_path import SlowPathWarning, warn_of_slow_path

__all__ = [
    "CannotScalariseError",
    "Node",
    "Scalars",
    "SlowPathWarning",
    "as_constants",
    "as_inputs",
    "cost",
    "evaluate",
    "needed_nodes",
    "scalarize",
    "warn_of_slow_path",
]
