"""The last stretch before a singular event, as derivatives of steps follow it.

Friction turns a motion that is about to stop into its last direction, ever faster the slower it is. Explicit steps are
soon as long as they can be without becoming unstable: the motion rings about that direction by what the tolerance
leaves, and derivatives, for which no step is judged, ring beyond all bounds. Implicit ones damp what friction damps. Of
first order are enough, for the stretch is short: what they are off by is of the order of its square.

At its very end the speed comes near the tolerance, and the motion rings so far that slopes taken where it is are those
of no motion. There one implicit step leads from where that end begins to the event.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saltus.engines.flat import FlatSystem
from saltus.engines.steppers import Flat, Scalar

SHORT = 1e-5  # share of the way between two events that the last stretch before the second one is
SHORTEST = 1e-7  # share of it that is gone by one step
# Rates of decay, all together, times the length of a step, above which it is stiff. A motion that turns no faster than
# it slows down has at most 1 for each direction across it, of which slip with a rim has two; explicit steps become
# unstable at 3 to 6.
STIFF = 2.5


def is_last(t, begin, end, share: float = SHORT):
    """Whether a time lies in the last stretch of the way between two events, at its `begin` and its `end`."""
    return end - t <= share * (end - begin)


@eqx.filter_custom_jvp
def damp(flat: FlatSystem, t: Scalar, y: Flat, t_new: Scalar, y_new: Flat, t_end: Scalar) -> Flat:
    """A vector as it is, with a derivative that is damped where the way to it is stiff.

    Args:
        flat: The system.
        t: When the way begins, which does not depend on anything [s].
        y: The vector at its beginning.
        t_new: The time of the vector [s].
        y_new: The vector.
        t_end: When the way ends, by which it is judged; the vector may be within [s].
    """
    return y_new


@damp.def_jvp
def _differentiate_damp(primals, tangents) -> tuple[Array, Array | None]:
    """By a linearly implicit step of Euler's: (1 - h J) dy_new = dy + h df, with the rate f and its slope J = df/dy."""
    flat, t, y, t_new, y_new, t_end = primals
    of_system, _, of_y, _, of_new, _ = tangents
    h = t_new - t
    _, change = eqx.filter_jvp(lambda flat, begin: begin + h * flat.rate(t, y), (flat, y), (of_system, of_y))
    if of_new is None or change is None:
        return y_new, of_new
    slope = jax.jacfwd(lambda y: flat.rate(t, y))(y)
    stiff = -(t_end - t) * jnp.trace(slope) > STIFF
    damped = jnp.linalg.solve(jnp.eye(y.size) - jnp.where(stiff, h * slope, 0.0), change)
    return y_new, jnp.where(stiff, damped, of_new)
