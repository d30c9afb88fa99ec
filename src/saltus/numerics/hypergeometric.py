"""Gauss's hypergeometric function on [0, 1] for fixed parameters: full double precision, no slow spots.

The power series about 0 is useless near 1, where the function has a branch point. So there are two
pieces, each economised to some thirty terms (Chebyshev), chosen by `jnp.where`:

- x <= 3/4: F = 1 + x S(x);
- x > 3/4, y = 1 - x, with the exponent c - a - b = m + d (m whole, |d| <= 1/2):
  F = P(y) + y^m phi(y) Q(y), where phi = (y^d - 1) / d, which becomes log(y) for d = 0.

P and Q come from the recurrences of the differential equation and two matching conditions at 3/4.
Nothing in them is singular in d, so whole exponents (logarithms), half-whole ones (square roots) and
all between are served by the same formula. Where the exponent is large the branch point is faint and
one polynomial serves the whole of [0, 1].
"""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

_SPLIT = 0.75  # larger needs more terms, smaller lets P and Q cancel
_FAINT = 8.0  # exponent from which the branch point does not matter: its part of degree n is below n^-16
_TERMS = 220  # of a power series at x = 3/4, or at x = 1 with a faint branch point
_PI = 4 * np.arctan(np.longdouble(1.0))
_NEGLIGIBLE = 3e-18  # Chebyshev coefficients below this part of the largest one are dropped


@dataclasses.dataclass(frozen=True)
class Hypergeometric:
    """2F1(a, b; c; x) for 0 <= x <= 1, c > 0 and c - a - b > 0; call it with an array.

    Differentiable by tracing (the derivative at x = 1 needs c - a - b > 1). Build it with
    `hypergeometric(a, b, c)`, which keeps the tables.

    Args:
        near: Polynomial S, lowest power first, in the variable that runs from -1 to 1 on its piece.
        regular: Polynomial P, likewise; empty where S serves the whole of [0, 1].
        singular: Polynomial Q, likewise.
        whole: m, the whole part of the exponent c - a - b.
        rest: d, the remaining part.
    """

    near: tuple[float, ...]
    regular: tuple[float, ...]
    singular: tuple[float, ...]
    whole: int
    rest: float

    def __call__(self, x: Array) -> Array:
        """Values at `x`; the absolute error is about 2e-16 of the largest value."""
        if not self.regular:
            return 1.0 + x * polynomial(self.near, 2.0 * x - 1.0)
        near = 1.0 + x * polynomial(self.near, (2.0 / _SPLIT) * x - 1.0)
        y = 1.0 - x
        centred = (2.0 / (1.0 - _SPLIT)) * y - 1.0
        far = polynomial(self.regular, centred) + self._branch(y) * polynomial(self.singular, centred)
        return jnp.where(x <= _SPLIT, near, far)

    def _branch(self, y: Array) -> Array:
        """y^m (y^d - 1) / d, continued by log(y) for d = 0; its limit at y = 0."""
        inside = y > 0.0
        y = jnp.where(inside, y, 0.5)
        if abs(self.rest) == 0.5:
            root = jnp.sqrt(y)
            quotient = (root - 1.0) / 0.5 if self.rest > 0 else (1.0 / root - 1.0) / -0.5
        elif self.rest == 0.0:
            quotient = jnp.log(y)
        else:
            quotient = jnp.expm1(self.rest * jnp.log(y)) / self.rest
        limit = -1.0 / self.rest if self.whole == 0 else 0.0
        return jnp.where(inside, y**self.whole * quotient, limit)


def polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Horner's scheme, lowest power first; a fixed number of fused multiply-adds."""
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


@functools.lru_cache(maxsize=256)
def hypergeometric(a: float, b: float, c: float) -> Hypergeometric:
    """The function 2F1(a, b; c; x) on [0, 1], with its tables built once."""
    if not (c > 0.0 and c - a - b > 0.0):
        raise ValueError(f"2F1 on [0, 1] needs c > 0 and c > a + b, got a = {a}, b = {b}, c = {c}.")
    series = _power_series(a, b, c)
    exponent = c - a - b
    if series[-1] == 0.0 or exponent > _FAINT:
        return Hypergeometric(_economised(series[1:], 1.0), (), (), 0, 0.0)
    whole = int(np.floor(exponent + 0.5 - 1e-12))
    rest = exponent - whole
    if abs(rest) < 1e-14:
        rest = 0.0
    regular, singular = _about_one(a, b, whole, rest, series)
    edge = 1.0 - _SPLIT
    return Hypergeometric(
        _economised(series[1:], _SPLIT), _economised(regular, edge), _economised(singular, edge), whole, float(rest)
    )


def _power_series(a: float, b: float, c: float) -> np.ndarray:
    """Coefficients of the series about 0."""
    coefficients = np.zeros(_TERMS, np.longdouble)
    coefficients[0] = 1.0
    a, b, c = np.longdouble(a), np.longdouble(b), np.longdouble(c)
    for n in range(1, _TERMS):
        coefficients[n] = coefficients[n - 1] * (a + n - 1) * (b + n - 1) / ((c + n - 1) * n)
    return coefficients


def _about_one(a, b, whole: int, rest: float, series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P and Q: the combination of the two solutions about x = 1 that continues `series`."""
    first = _frobenius(a, b, whole, rest, start=True)
    second = _frobenius(a, b, whole, rest, start=False)
    x = np.longdouble(_SPLIT)
    wanted = _value(series, x), -_slope(series, x)
    columns = [_value_and_slope(*pair, whole, rest) for pair in (first, second)]
    (p, r), (q, s) = columns
    determinant = p * s - q * r
    weights = (wanted[0] * s - wanted[1] * q) / determinant, (wanted[1] * p - wanted[0] * r) / determinant
    return tuple(weights[0] * x + weights[1] * y for x, y in zip(first, second, strict=True))


def _frobenius(a, b, whole: int, rest: float, *, start: bool) -> tuple[np.ndarray, np.ndarray]:
    """A solution P + y^m phi Q of the hypergeometric equation about x = 1, as two power series.

    With t = y d/dy the equation reads t (t - m - d) F = y (t + a)(t + b) F, and a polynomial R(t) sends
    phi y^k to R(k + d) phi y^k + [R(k + d) - R(k)] / d y^k. The first solution (`start`) is 1 at y = 0,
    the second is of order y^(m + d).
    """
    regular, singular = np.zeros(_TERMS, np.longdouble), np.zeros(_TERMS, np.longdouble)
    a, b, rest = np.longdouble(a), np.longdouble(b), np.longdouble(rest)
    exponent = whole + rest
    if start:
        regular[0] = 1.0
    elif whole == 0:
        singular[0] = 1.0
    for k in range(0 if whole == 0 else 1, _TERMS):
        right = (k - 1 + a) * (k - 1 + b) * regular[k - 1] if k > 0 else np.longdouble(0.0)
        if k == whole and whole > 0:
            # Equation of the resonant power: its regular part is free, the singular part is not.
            singular[0] = right / whole if start else rest
            regular[k] = 0.0 if start else 1.0
            continue
        n = k - whole
        if n > 0:
            factor = (exponent + n - 1 + a) * (exponent + n - 1 + b) / ((exponent + n) * n)
            singular[n] = factor * singular[n - 1]
            right += singular[n - 1] * (2 * (k - 1) + rest + a + b) - singular[n] * (2 * k - whole)
        if k > 0:
            regular[k] = right / (k * (k - exponent))
    return regular, singular


def _value(series: np.ndarray, x) -> np.longdouble:
    value = np.longdouble(0.0)
    for coefficient in series[::-1]:
        value = value * x + coefficient
    return value


def _slope(series: np.ndarray, x) -> np.longdouble:
    return _value(series[1:] * np.arange(1, len(series)), x)


def _value_and_slope(regular: np.ndarray, singular: np.ndarray, whole: int, rest: float):
    """Of P + y^m phi Q where the two pieces meet."""
    y = np.longdouble(1.0 - _SPLIT)
    rest = np.longdouble(rest)
    phi = np.expm1(rest * np.log(y)) / rest if rest != 0 else np.log(y)
    phi_slope = (1 + rest * phi) / y
    power, power_slope = y**whole, whole * y ** (whole - 1)
    value, slope = _value(singular, y), _slope(singular, y)
    return (
        _value(regular, y) + power * phi * value,
        _slope(regular, y) + power_slope * phi * value + power * (phi_slope * value + phi * slope),
    )


def _economised(series: np.ndarray, length: float) -> tuple[float, ...]:
    """The shortest polynomial in 2x/length - 1 that equals a power series in x on [0, length] to rounding."""
    n = 96
    angles = _PI * (np.arange(n, dtype=np.longdouble) + np.longdouble(0.5)) / n
    values = _value(series, (np.cos(angles) + 1) * (length / 2))
    chebyshev = np.array([2 * np.mean(values * np.cos(k * angles)) for k in range(n // 2)])
    chebyshev[0] /= 2
    large = np.nonzero(np.abs(chebyshev) > _NEGLIGIBLE * np.max(np.abs(chebyshev)))[0]
    keep = int(large[-1]) + 1 if len(large) else 1
    return tuple(float(x) for x in np.polynomial.chebyshev.cheb2poly(chebyshev[:keep]))
