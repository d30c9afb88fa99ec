"""The systems and starts of many samples of one scenario, built at once by tracing `build`."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from saltus import checks
from saltus.ensembles.store.layout import BLOCK, plain
from saltus.errors import ScenarioError
from saltus.scenarios.base import Scenario
from saltus.scenarios.keys import with_values
from saltus.scenarios.replace import replace_keys

CORNERS = 6  # uncertain numbers up to which all corners of their range are validated instead of every sample
Values = Mapping[str, np.ndarray]


def sample_values(values: Values, row: int) -> dict[str, Any]:
    """The values of one sample, as plain numbers and words."""
    return {key: plain(column[row]) for key, column in values.items()}


def in_radians(scenario: Scenario, values: Values) -> Values:
    """The values with angles given as `<key>_deg` under their own keys."""
    degrees = {f"{name}_deg": name for name in scenario.angles}
    return {degrees.get(key, key): np.radians(column) if key in degrees else column for key, column in values.items()}


def valid(scenario: Scenario, values: Values) -> np.ndarray:
    """Which samples pass the checks of the scenario's tables.

    A check allows a range of each number, so where the corners of the samples' range pass, all do.
    """
    count = len(next(iter(values.values())))
    if len(values) <= CORNERS:
        ends = [(column.min(), column.max()) for column in values.values()]
        if all(_passes(scenario, dict(zip(values, corner, strict=True))) for corner in itertools.product(*ends)):
            return np.ones(count, bool)
    rows = zip(*values.values(), strict=True)
    return np.array([_passes(scenario, dict(zip(values, row, strict=True))) for row in rows])


def _passes(scenario: Scenario, values: dict[str, Any]) -> bool:
    try:
        with_values(scenario, {key: plain(value) for key, value in values.items()})
    except ScenarioError:
        return False
    return True


@dataclasses.dataclass(frozen=True)
class Stack:
    """Systems and starts of many samples.

    Args:
        varying: The numbers of the systems that differ, stacked; None for the others.
        shared: The rest of the system, the same for all.
        start: The states at the beginning, stacked.
        good: Which samples satisfy every condition that `build` made on its numbers.
    """

    varying: Any
    shared: Any
    start: Any
    good: np.ndarray


class Builder:
    """Builds samples of a scenario that differ in some numbers.

    The scenario's own `build` is traced once for all samples, with the numbers as vectors that JAX maps over; what
    does not depend on them is the same for all and shared.

    Args:
        scenario: The scenario.
        keys: Dotted keys of the numbers.
    """

    def __init__(self, scenario: Scenario, keys: tuple[str, ...]):
        import jax

        from saltus.programs.kept import BRIEF

        self.scenario, self.keys = scenario, keys
        self._fixed: Any = None
        together = jax.vmap(self._make, out_axes=(0, None, 0, 0))
        self._together = jax.jit(together, compiler_options=BRIEF if jax.default_backend() == "cpu" else None)

    def _make(self, *numbers):
        """The numbers of one sample's system: those that vary and the others; its start; whether all conditions hold.

        What of the system is no number to be computed is kept aside.
        """
        import equinox as eqx
        import jax
        import jax.numpy as jnp
        from jax.core import Tracer

        mapped = type(numbers[0])
        with checks.noting() as notes:
            values = dict(zip(self.keys, numbers, strict=True))
            system, start = replace_keys(self.scenario, values).build()
        varying, shared = eqx.partition(system, lambda leaf: isinstance(leaf, mapped))
        traced, self._fixed = eqx.partition(shared, lambda leaf: isinstance(leaf, Tracer))
        # A condition inside a compiled function cannot be looked at from here.
        seen = [jnp.all(one) for one in notes if isinstance(one, mapped) or not isinstance(one, Tracer)]
        holds = functools.reduce(jnp.logical_and, seen, jnp.asarray(True))
        return varying, traced, jax.tree.map(jnp.asarray, start), holds

    def works(self) -> bool:
        """Whether the scenario can be built without knowing its numbers."""
        import jax

        try:
            # Of the size of the chunks, which are not traced again.
            self._together.eval_shape(*[jax.ShapeDtypeStruct((BLOCK,), float)] * len(self.keys))
        except (TypeError, ValueError, jax.errors.JAXTypeError):
            return False
        return True

    def build(self, vectors: np.ndarray) -> Stack:
        """The samples with these numbers (sample, key); whole blocks of them, see `BLOCK`."""
        import equinox as eqx
        import jax

        varying, traced, start, holds = jax.tree.map(np.asarray, self._together(*np.ascontiguousarray(vectors.T)))
        good = holds
        for leaf in jax.tree.leaves((varying, start)):
            if leaf.dtype.kind == "f":
                good = good & ~np.isnan(leaf).reshape(len(vectors), -1).any(axis=1)
        return Stack(varying, eqx.combine(traced, self._fixed), start, good)


def end_times(scenario: Scenario, values: Values) -> np.ndarray:
    """When the run of each sample ends at the latest [s]."""
    count = len(next(iter(values.values())))
    try:
        moves = _unknown(scenario, tuple(values)).end_time != scenario.end_time
    except (TypeError, ValueError):
        moves = True
    if not moves:
        return np.full(count, scenario.end_time)
    rows = zip(*values.values(), strict=True)
    return np.array([replace_keys(scenario, dict(zip(values, row, strict=True))).end_time for row in rows])


def same_options(scenario: Scenario, keys: tuple[str, ...]) -> bool:
    """Whether all samples are solved in the same way whatever these numbers are."""
    return _unknown(scenario, keys).options() == scenario.options()


def _unknown(scenario: Scenario, keys: tuple[str, ...]) -> Scenario:
    """The scenario with NaN for these numbers: whatever is computed from them differs from what it was."""
    return replace_keys(scenario, dict.fromkeys(keys, math.nan))
