"""Newton's method for the stages of implicit steps: it loads diffrax, which explicit methods do without."""

from __future__ import annotations

import diffrax
import jax.numpy as jnp
import optimistix


class Chord(diffrax.VeryChord):
    """Newton's method with the derivatives of the first point, which knows when rounding is all that is left.

    diffrax's own takes a correction that is more than twice the one before for divergence. Where the equations are
    nearly linear the first correction is all there is to find: those that follow are rounding, one of them is often
    twice another, and a step that was right would be refused. Here a correction within the tolerance is the last one,
    whatever it is compared with.
    """

    def terminate(self, fn, y, args, options, state, tags):
        """Whether the search has ended, and how."""
        ended, result = super().terminate(fn, y, args, options, state, tags)
        solved = state.result == optimistix.RESULTS.successful
        found = solved & (state.step >= 2) & (state.diffsize <= self.kappa)
        good = optimistix.RESULTS.successful
        return jnp.asarray(ended) | found, optimistix.RESULTS.where(found, good, result)


class Increments(diffrax.ODETerm):
    """A rate whose stages are searched for as increments of the state, not as rates.

    So the tolerance is that of the state, whose rounding is known. Rates of a stiff flow are known far less well: that
    of slip which has nearly vanished hangs on the last digits of the state, and no search would end.
    """

    def is_vf_expensive(self, t0, t1, y, args):
        """By this diffrax decides which of both it takes."""
        return True
