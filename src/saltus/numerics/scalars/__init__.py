"""Programs of small arrays, written out as operations on scalars."""

from saltus.numerics.scalars.arrays import as_constants, as_inputs, as_table
from saltus.numerics.scalars.graph import (
    BatchesItselfError,
    CannotScalariseError,
    Node,
    Scalars,
    cost,
    evaluate,
    needed_nodes,
)
from saltus.numerics.scalars.programs import scalarize

__all__ = [
    "BatchesItselfError",
    "CannotScalariseError",
    "Node",
    "Scalars",
    "as_constants",
    "as_inputs",
    "as_table",
    "cost",
    "evaluate",
    "needed_nodes",
    "scalarize",
]
