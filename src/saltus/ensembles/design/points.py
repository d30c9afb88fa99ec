"""Points of the unit cube by their number: any stretch of a sequence alone, without those before it.

Every class has `draw(first, last)`, the points first..last-1 as an array with one column per dimension, each
coordinate within the open interval (0, 1). A point depends on the seed and its number alone, for `Latin` on the
number of points as well.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus.programs.facts import find_once

# Uniform numbers are the middles of 2**52 equal cells: neither 0 nor 1 comes up, and all are exact.
CELLS = 52
# Those of a Sobol sequence of 2**32, with more of which scipy (1.17) cannot go ahead.
SOBOL_CELLS = 32


class Stream:
    """Random bits by their number (the counter-based generator Philox), others for each seed and list of words."""

    def __init__(self, seed: int, *words: str):
        name = "\0".join((str(seed), *words)).encode()
        self._key = np.frombuffer(hashlib.blake2b(name, digest_size=16).digest(), dtype="<u8")

    def draw(self, first: int, last: int) -> np.ndarray:
        """The numbers first..last-1, 64 random bits each."""
        # One step of the counter makes four numbers. A generator of its own each time: threads may draw at once.
        bits = np.random.Philox(key=self._key)
        bits.advance(first // 4)
        return bits.random_raw(last - first // 4 * 4)[first % 4 :]


class Random:
    """Independent points."""

    def __init__(self, names: Sequence[str], seed: int):
        self._streams = [Stream(seed, name) for name in names]

    def draw(self, first: int, last: int) -> np.ndarray:
        columns = [(stream.draw(first, last) >> np.uint64(64 - CELLS)) + 0.5 for stream in self._streams]
        return _side_by_side(columns, first, last) / 2.0**CELLS


class Sobol:
    """The scrambled Sobol sequence of scipy, which fills the cube more evenly than random points.

    Point i is the exclusive or of one direction per binary digit of i, so that it needs no points before it.
    """

    def __init__(self, dimensions: int, seed: int, samples: int):
        digits = max(samples - 1, 0).bit_length()
        # Loading scipy.stats takes longer than most runs; what is needed of it are a few whole numbers.
        told = ("sobol", importlib.metadata.version("scipy"), str(dimensions), str(seed), str(digits))
        cells = find_once("sobol", told, lambda: _sobol_cells(dimensions, seed, digits))
        self._origin, *directions = np.array(cells, np.uint64).reshape(digits + 1, 1, dimensions)
        self._directions = list(directions)

    def draw(self, first: int, last: int) -> np.ndarray:
        number = np.arange(first, last, dtype=np.uint64)[:, None]
        cells = np.repeat(self._origin, last - first, axis=0)
        for digit, direction in enumerate(self._directions):
            cells ^= (number >> np.uint64(digit) & np.uint64(1)) * direction
        return (cells + 0.5) / 2.0**SOBOL_CELLS


class Latin:
    """A Latin hypercube: in every dimension exactly one point in each of `samples` equal strata."""

    def __init__(self, names: Sequence[str], seed: int, samples: int):
        self._samples = samples
        self._orders = [Permutation(samples, Stream(seed, name, "order")) for name in names]
        self._streams = [Stream(seed, name) for name in names]

    def draw(self, first: int, last: int) -> np.ndarray:
        columns = []
        for order, stream in zip(self._orders, self._streams, strict=True):
            # 24 bits within a stratum: together with its number nothing is rounded into the next one.
            within = ((stream.draw(first, last) >> np.uint64(40)) + 0.5) / 2.0**24
            columns.append((order(np.arange(first, last, dtype=np.uint64)) + within) / self._samples)
        return _side_by_side(columns, first, last)


class Saltelli:
    """The design behind Sobol' indices: two independent points A and B, and all mixtures that differ in one column.

    Each base point of a Sobol sequence in twice the dimensions gives 2 D + 2 points in turn: A; A with column j
    of B, for each j; B with column j of A, for each j; B.
    """

    def __init__(self, dimensions: int, seed: int, samples: int):
        self._dimensions = dimensions
        self._base = Sobol(2 * dimensions, seed, samples // self.block)

    @property
    def block(self) -> int:
        """How many points belong together."""
        return 2 * self._dimensions + 2

    def draw(self, first: int, last: int) -> np.ndarray:
        d = self._dimensions
        start, stop = first // self.block, math.ceil(last / self.block)
        base = self._base.draw(start, stop)
        a, b = base[:, None, :d], base[:, None, d:]
        one = np.eye(d, dtype=bool)
        points = np.concatenate([a, np.where(one, b, a), np.where(one, a, b), b], axis=1).reshape(-1, d)
        return points[first - start * self.block : last - start * self.block]


class Permutation:
    """A pseudorandom order of the numbers 0..count-1 that is computed entry by entry and never stored.

    A Feistel network permutes the numbers of an even count of binary digits; a number that lands beyond `count` is
    sent through again until it does not.
    """

    ROUNDS = 6

    def __init__(self, count: int, stream: Stream):
        self._count = np.uint64(count)
        self._half = np.uint64(max(3, math.ceil((count - 1).bit_length() / 2)))
        self._mask = np.uint64((1 << int(self._half)) - 1)
        self._keys = stream.draw(0, self.ROUNDS)

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        found = self._once(numbers)
        while (beyond := np.flatnonzero(found >= self._count)).size:
            found[beyond] = self._once(found[beyond])
        return found

    def _once(self, numbers: np.ndarray) -> np.ndarray:
        left, right = numbers >> self._half, numbers & self._mask
        for key in self._keys:
            left, right = right, left ^ (_mix(right + key) & self._mask)
        return left << self._half | right


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Bits stirred so that each depends on all (the finalizer of SplitMix64; Steele, Lea and Flood 2014)."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ numbers >> np.uint64(31)


def _sobol_cells(dimensions: int, seed: int, digits: int) -> list[int]:
    """The first point of a sequence, and the direction of each binary digit, in cells."""
    from scipy.stats import qmc

    draws: dict[str, Any] = {"seed": np.random.default_rng(seed)}  # `rng` in the hints, since SciPy 1.15
    engine = qmc.Sobol(dimensions, scramble=True, bits=SOBOL_CELLS, **draws)
    origin = _cells(engine.random(1))
    found = [origin]
    for digit in range(digits):
        engine.fast_forward(2**digit - engine.num_generated)
        found.append(_cells(engine.random(1)) ^ origin)
    return [int(cell) for cell in np.concatenate(found).ravel()]


def _cells(points: np.ndarray) -> np.ndarray:
    return (points * 2.0**SOBOL_CELLS).astype(np.uint64)


def _side_by_side(columns: list[np.ndarray], first: int, last: int) -> np.ndarray:
    return np.stack(columns, axis=1) if columns else np.empty((last - first, 0))
