"""Events that pile up are told in the same way of a single run, by NumPy, and inside the programs of many runs."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from saltus.engines.accumulation import PileUp

GUARDS = 2


def bounces(ratio: float, count: int = 60) -> np.ndarray:
    """Times of bounces whose intervals form a geometric row."""
    return 1.0 + np.concatenate([[0.0], np.cumsum(0.5 * ratio ** np.arange(count))])


def of_numpy() -> PileUp:
    return jax.tree.map(np.asarray, PileUp.empty(GUARDS))


@pytest.mark.parametrize("times", [bounces(0.5), bounces(1.0), np.ones(12)], ids=["shrink", "even", "one instant"])
def test_numpy_and_programs_tell_the_same(times):
    host, traced, step = of_numpy(), PileUp.empty(GUARDS), jax.jit(PileUp.with_event)
    for k, t in enumerate(times):
        host, here = host.with_event(1, np.asarray(t), False)
        traced, there = step(traced, np.asarray(1), np.asarray(t), np.asarray(False))
        np.testing.assert_allclose(here, there, rtol=1e-15)
        for one, other in zip(jax.tree.leaves(host), jax.tree.leaves(traced), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13, err_msg=f"event {k}")


def test_a_row_that_shrinks_ends_at_its_limit():
    host, limit = of_numpy(), np.nan
    for t in bounces(0.5):
        host, limit = host.with_event(0, np.asarray(t), False)
        if not np.isnan(limit):
            break
    assert limit == pytest.approx(2.0, abs=1e-12)  # 1 + 0.5 (1 + 1/2 + 1/4 ...)
    assert np.isnan(host.last[1])  # nothing is said of the other guard


def test_a_guard_that_sinks_ends_at_once():
    _, limit = of_numpy().with_event(0, np.asarray(3.0), True)
    assert limit == 3.0
