"""What is said where a program cannot be written as operations on scalars, and runs all the same."""

from __future__ import annotations

import functools
import warnings

from saltus.numerics.scalars.graph import CannotScalariseError


class SlowPathWarning(RuntimeWarning):
    """Many runs at once go slower than they might; what they give is the same."""


@functools.lru_cache(maxsize=64)
def _warn(text: str) -> None:
    warnings.warn(text, SlowPathWarning, stacklevel=4)


def warn_of_slow_path(name: str, error: CannotScalariseError) -> None:
    """Say, once for each reason, that many runs go slower than they might."""
    _warn(f"{name} runs without the fast path for many runs at once, correct but slower: {error}")
