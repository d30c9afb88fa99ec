"""The guard test: may a guard have passed zero inside a step?

Every driver asks it in the same form (`may_pass`, or its opposite `stays`): the lowest and the highest value that was
looked at, and how far beyond them the guard may go between two looks. Where the looks are depends on what a step
offers at no further cost:

- five equal ones on the cubic through its ends, where an adaptive step has come to an end (`may_fall`);
- three stages of a constant step, where it is one program and each evaluation counts (`bound_by_stages`);
- all stages of a step driven from Python, which are a dozen and need no margin (`band_step.Leg`).

`tests/unit/test_guard_test.py` holds them against each other: none overlooks a zero that a step resolves.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

# Fractions of the step at which guards are looked at in every step, on the cubic through its ends.
GLANCES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
CAUTION = 0.6  # share of the second difference over a step's middle that a guard must be above; 0.5 catches every |x|


def may_pass(lowest, highest, doubt):
    """Whether a guard may be on both sides of zero, if it goes beyond the looks at it by no more than `doubt`."""
    return (lowest <= doubt) & (highest > -doubt)


def stays(lowest, highest, doubt):
    """Whether a guard is surely on one side of zero: the opposite, but False also where a look is not a number."""
    return (lowest > doubt) | (highest <= -doubt)


def may_fall(g: Float[Array, "5 g"], armed: Bool[Array, " g"]) -> Bool[Array, " g"]:
    """Which guards may fall through zero inside a step, from five equal looks at them.

    Between two looks a guard is at most about an eighth of its second difference below them; the
    fourth difference tells how much to trust that.
    """
    second = jnp.max(jnp.abs(g[:-2] - 2.0 * g[1:-1] + g[2:]), axis=0)
    fourth = jnp.abs(g[0] - 4.0 * g[1] + 6.0 * g[2] - 4.0 * g[3] + g[4])
    return armed & may_pass(g.min(axis=0), g.max(axis=0), 0.2 * second + fourth)


def bound_by_stages(before, middle, fourth, after):
    """Lowest and highest look at a guard at the stages of a step of `RK4`, and how far it may go beyond them.

    The looks are the start, the second stage (near the middle, along the slope at the start: what the guard bends until
    the middle counts twice) and the end; the fourth stage differs from the end by the error of the step.
    """
    doubt = CAUTION * jnp.abs((before + after) - 2.0 * middle) + jnp.abs(after - fourth)
    lowest = jnp.minimum(jnp.minimum(before, middle), after)
    highest = jnp.maximum(jnp.maximum(before, middle), after)
    return lowest, highest, doubt


def plain(g: Float[Array, "5 g"]) -> Bool[Array, " g"]:
    """Which guards show by five equal looks that there is nothing between them to miss.

    Those that rise or fall evenly, and those that bend downwards evenly, like the height of a throw: they lie above the
    chord of two looks. One that falls must begin clearly above zero, or be above it at the second look: after a bounce
    a short hop may hide behind the first.
    """
    change = jnp.diff(g, axis=0)
    bends = jnp.diff(change, axis=0)
    largest, smallest = jnp.max(jnp.abs(bends), axis=0), jnp.min(jnp.abs(bends), axis=0)
    above = g[0] > 0.01 * jnp.abs(change[0])
    rises, falls = (change > 0.0).all(axis=0), (change < 0.0).all(axis=0) & above
    even = (rises | falls) & (largest < 0.5 * jnp.min(jnp.abs(change), axis=0))
    arched = (bends < 0.0).all(axis=0) & (largest < 1.5 * smallest) & (above | (g[1] > 0.0))
    return even | arched
