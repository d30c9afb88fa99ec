"""Gauss's hypergeometric function on [0, 1]: full double precision, no slow spots, one program for all parameters.

The power series about 0 is useless near 1, where the function has a branch point. So there are two
pieces, each economised to at most 36 terms (Chebyshev), chosen by `jnp.where`:

- x <= 3/4: F = 1 + x S(x);
- x > 3/4, y = 1 - x, with the exponent c - a - b = m + d (m whole, |d| <= 1/2):
  F = P(y) + y^m phi(y) Q(y), where phi = (y^d - 1) / d, which becomes log(y) for d = 0.

P and Q come from the recurrences of the differential equation and two matching conditions at 3/4.
Nothing in them is singular in d, so whole exponents (logarithms), half-whole ones (square roots) and
all between are served by the same formula. Where the exponent is large the branch point is faint and Q = 0.
The coefficients are data, so new parameters need no new compilation. They are computed with `DIGITS` decimal digits,
the same on every machine (a C `long double` has no more than a double on some), and rounded once at the end.
"""

from __future__ import annotations

import decimal
import functools
from collections.abc import Callable
from decimal import Decimal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus.programs.arrays import numbers

Series = list[Decimal]

SPLIT = 0.75  # larger needs more terms, smaller lets P and Q cancel
SIDE = 6  # tables hold SIDE * SIDE coefficients per polynomial
_FAINT = 8.0  # exponent from which the branch point does not matter: its part of degree n is below n^-16
_FAR_TERMS = 25  # of P and Q, whose piece is shorter
_CHUNK = 65536  # points computed at a time
_FEW = 64  # points up to which a short program counts more than a fast one
_TERMS = 220  # of a power series at x = 3/4, or at x = 1 with a faint branch point
_TERMS_ABOUT_ONE = 60  # of one at y = 1/4
DIGITS = 34  # of the numbers from which tables are made; series and matching lose up to six of them
_POINTS = 96  # at which a piece is looked at
_NEGLIGIBLE = 3e-18  # Chebyshev coefficients below this part of the largest value are dropped


class HypergeometricTable(eqx.Module):
    """Functions 2F1(a, b; c; x) that share the exponent c - a - b; call it with an array of 0 <= x <= 1.

    Build it with `tabulate`. The absolute error is about 2e-16 of the largest value. Differentiable by tracing;
    the derivative at x = 1 needs c - a - b > 1. The coefficients are not meant to be differentiated.

    Args:
        coefficients: For both pieces, by powers of the variable that runs from -1 to 1 on the piece: S of each
            function and zeros, then P and Q of each function.
        whole: m, the whole part of the exponent.
        rest: d, the remaining part.
    """

    coefficients: Float[Array, "... pieces terms columns"]
    whole: Int[Array, "..."]
    rest: Float[Array, "..."]

    def __call__(self, x: Array) -> tuple[Array, ...]:
        """The values of all functions."""
        if jnp.size(x) > _FEW:
            return _at_many_points(self, x)
        return _values(self, x)


@jax.custom_jvp
def _values(table: HypergeometricTable, x: Array) -> tuple[Array, ...]:
    return _at_few_points(table, x)


@_values.defjvp
def _differentiate(primals, tangents) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """By the sums over blocks: JAX cannot take functions with a rule for many points apart, as `jax.grad` does."""
    (table, x), (_, change) = primals, tangents
    slopes = jax.jvp(lambda x: _by_blocks(table, x), (x,), (jnp.ones_like(x),))[1]
    return _values(table, x), tuple(slope * change for slope in slopes)


def _by_blocks(table: HypergeometricTable, x: Array) -> tuple[Array, ...]:
    """Sums over all coefficients in square blocks: a short program that compiles fast."""
    n = table.coefficients.shape[-1] // 2
    near, y, centred = _pieces(x)
    blocks = table.coefficients.reshape(2, SIDE, SIDE, 2 * n)
    block = jnp.where(near[..., None, None, None], blocks[0], blocks[1])
    low = _powers(centred, SIDE)
    high = _powers(low[..., -1] * centred, SIDE)
    sums = jnp.sum(high[..., :, None] * jnp.sum(low[..., None, :, None] * block, -2), -2)
    branch = _branch(table, y)
    return tuple(jnp.where(near, 1.0 + x * sums[..., i], sums[..., i] + branch * sums[..., n + i]) for i in range(n))


_at_few_points = jax.custom_batching.custom_vmap(_by_blocks)


@_at_few_points.def_vmap
def _batch(axis_size, in_batched, table, x):
    if not any(jax.tree.leaves(in_batched)):  # only derivatives are batched
        values = _by_blocks(table, x)
        return values, (False,) * len(values)
    if any(jax.tree.leaves(in_batched[0])):
        axes = jax.tree.map(lambda flag: 0 if flag else None, in_batched[0])
        values = jax.vmap(_at_many_points, (axes, 0 if in_batched[1] else None))(table, x)
    else:
        values = table(x)
    return values, (True,) * len(values)


def _at_many_points(table: HypergeometricTable, x: Array) -> tuple[Array, ...]:
    """Horner's scheme, a long program that runs fast, in chunks.

    The loop over chunks keeps XLA from repeating the whole computation for each use of its results.
    """
    if x.size <= _CHUNK:
        return _by_horner(table, x)
    count = -(-x.size // _CHUNK)
    chunks = jnp.pad(x.ravel(), (0, count * _CHUNK - x.size)).reshape(count, _CHUNK)
    values = jax.lax.map(lambda chunk: _by_horner(table, chunk), chunks)
    return tuple(value.ravel()[: x.size].reshape(x.shape) for value in values)


def _by_horner(table: HypergeometricTable, x: Array) -> tuple[Array, ...]:
    n = table.coefficients.shape[-1] // 2
    near, y, centred = _pieces(x)
    branch = _branch(table, y)

    def horner(piece, i, terms):
        value = jnp.zeros_like(x)
        for k in range(terms - 1, -1, -1):
            value = value * centred + table.coefficients[piece, k, i]
        return value

    return tuple(
        jnp.where(
            near,
            1.0 + x * horner(0, i, SIDE * SIDE),
            horner(1, i, _FAR_TERMS) + branch * horner(1, n + i, _FAR_TERMS),
        )
        for i in range(n)
    )


def _pieces(x: Array) -> tuple[Array, Array, Array]:
    """Whether x lies on the first piece, 1 - x, and the variable from -1 to 1 on its piece."""
    near, y = x <= SPLIT, 1.0 - x
    return near, y, jnp.where(near, (2.0 / SPLIT) * x - 1.0, (2.0 / (1.0 - SPLIT)) * y - 1.0)


def _branch(table: HypergeometricTable, y: Array) -> Array:
    """y^m (y^d - 1) / d, continued by log(y) for d = 0; its limit at y = 0."""
    inside = y > 0.0
    y = jnp.where(inside, y, 0.5)
    straight = table.rest == 0.0
    rest = jnp.where(straight, 1.0, table.rest)
    log = jnp.log(y)
    quotient = jnp.where(straight, log, jnp.expm1(rest * log) / rest)
    power, square = 1.0, y
    for bit in range(4):  # m is at most _FAINT
        power = power * jnp.where((table.whole >> bit) & 1 == 1, square, 1.0)
        square = square * square
    limit = jnp.where((table.whole == 0) & (table.rest > 0.0), -1.0 / rest, 0.0)
    return jnp.where(inside, power * quotient, limit)


def _powers(x: Array, n: int) -> Array:
    """1, x, ... x^(n-1), in a new last dimension."""
    powers = [jnp.ones_like(x)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return jnp.stack(powers, -1)


def tabulate(parameters: tuple[tuple[float, float, float], ...]) -> HypergeometricTable:
    """The functions 2F1(a, b; c; x) on [0, 1] for several (a, b, c) with the same c - a - b > 0, and c > 0."""
    coefficients, whole, rest = _coefficients(tuple(tuple(float(x) for x in p) for p in parameters))
    return HypergeometricTable(numbers(coefficients), numbers(whole, None), numbers(rest))


@functools.lru_cache(maxsize=256)
def _coefficients(parameters) -> tuple[np.ndarray, int, float]:
    """The table of `HypergeometricTable`, its whole and remaining exponent."""
    exponents = [c - a - b for a, b, c in parameters]
    if min(exponents) <= 0.0 or np.ptp(exponents) > 1e-12 * max(exponents) or min(c for _, _, c in parameters) <= 0.0:
        raise ValueError(f"2F1 on [0, 1] needs c > 0 and one exponent c - a - b > 0, got (a, b, c) = {parameters}.")
    faint = exponents[0] > _FAINT
    whole = 1 if faint else int(np.floor(exponents[0] + 0.5 - 1e-12))
    rest = 0.0 if faint else exponents[0] - whole
    if abs(rest) < 1e-14:
        rest = 0.0
    with decimal.localcontext(prec=DIGITS):
        return _table(parameters, faint, whole, rest), whole, rest


def _table(parameters, faint: bool, whole: int, rest: float) -> np.ndarray:
    """The coefficients of `HypergeometricTable`; called with the precision of `DIGITS`."""
    n = len(parameters)
    table = np.zeros((2, SIDE * SIDE, 2 * n))
    for i, (a, b, c) in enumerate(parameters):
        series = _power_series(*(Decimal(x) for x in (a, b, c)))
        largest = max(1.0, abs(float(_value(series, Decimal(SPLIT)))))
        growth = functools.partial(_value, series[1:])  # (F - 1) / x
        table[0, :, i] = _economise(growth, SPLIT, largest)
        if faint or series[-1] == 0:
            table[1, :, i] = _economise(lambda y, f=growth: 1 + (1 - y) * f(1 - y), 1 - SPLIT, largest)
        else:
            pair = _about_one(Decimal(a), Decimal(b), whole, Decimal(rest), series)
            for j, part in ((i, pair[0]), (n + i, pair[1])):
                table[1, :, j] = _economise(functools.partial(_value, part), 1 - SPLIT, largest)
    return table


def _power_series(a: Decimal, b: Decimal, c: Decimal) -> list[Decimal]:
    """Coefficients of the series about 0."""
    coefficients = [Decimal(1)]
    for n in range(1, _TERMS):
        coefficients.append(coefficients[-1] * (a + n - 1) * (b + n - 1) / ((c + n - 1) * n))
    return coefficients


def _about_one(a: Decimal, b: Decimal, whole: int, rest: Decimal, series: Series) -> tuple[Series, Series]:
    """P and Q: the combination of the two solutions about x = 1 that continues `series`."""
    first = _frobenius(a, b, whole, rest, start=True)
    second = _frobenius(a, b, whole, rest, start=False)
    x = Decimal(SPLIT)
    wanted = _value(series, x), -_slope(series, x)
    (p, r), (q, s) = (_value_and_slope(*pair, whole, rest) for pair in (first, second))
    determinant = p * s - q * r
    one, other = (wanted[0] * s - wanted[1] * q) / determinant, (wanted[1] * p - wanted[0] * r) / determinant
    regular, singular = (
        [one * x + other * y for x, y in zip(*parts, strict=True)] for parts in zip(first, second, strict=True)
    )
    return regular, singular


def _frobenius(a: Decimal, b: Decimal, whole: int, rest: Decimal, *, start: bool) -> tuple[Series, Series]:
    """A solution P + y^m phi Q of the hypergeometric equation about x = 1, as two power series.

    With t = y d/dy the equation reads t (t - m - d) F = y (t + a)(t + b) F, and a polynomial R(t) sends
    phi y^k to R(k + d) phi y^k + [R(k + d) - R(k)] / d y^k. The first solution (`start`) is 1 at y = 0,
    the second is of order y^(m + d).
    """
    regular, singular = [Decimal(0)] * _TERMS_ABOUT_ONE, [Decimal(0)] * _TERMS_ABOUT_ONE
    exponent = whole + rest
    if start:
        regular[0] = Decimal(1)
    elif whole == 0:
        singular[0] = Decimal(1)
    for k in range(0 if whole == 0 else 1, _TERMS_ABOUT_ONE):
        right = (k - 1 + a) * (k - 1 + b) * regular[k - 1] if k > 0 else Decimal(0)
        if k == whole and whole > 0:
            # Equation of the resonant power: its regular part is free, the singular part is not.
            singular[0] = right / whole if start else rest
            regular[k] = Decimal(0 if start else 1)
            continue
        n = k - whole
        if n > 0:
            factor = (exponent + n - 1 + a) * (exponent + n - 1 + b) / ((exponent + n) * n)
            singular[n] = factor * singular[n - 1]
            right += singular[n - 1] * (2 * (k - 1) + rest + a + b) - singular[n] * (2 * k - whole)
        if k > 0:
            regular[k] = right / (k * (k - exponent))
    return regular, singular


def _value(series: Series, x):
    """Of a power series at a number, or at an array of them."""
    value = 0 * x
    for coefficient in reversed(series):
        value = value * x + coefficient
    return value


def _slope(series: Series, x):
    return _value([k * coefficient for k, coefficient in enumerate(series)][1:], x)


def _value_and_slope(regular: Series, singular: Series, whole: int, rest: Decimal) -> tuple[Decimal, Decimal]:
    """Of P + y^m phi Q where the two pieces meet."""
    y = Decimal(1.0 - SPLIT)
    with decimal.localcontext(prec=2 * DIGITS):  # for the difference of nearly equal numbers where d is small
        phi = ((rest * y.ln()).exp() - 1) / rest if rest != 0 else y.ln()
    phi_slope = (1 + rest * phi) / y
    power, power_slope = y**whole, whole * y ** (whole - 1)
    value, slope = _value(singular, y), _slope(singular, y)
    return (
        _value(regular, y) + power * phi * value,
        _slope(regular, y) + power_slope * phi * value + power * (phi_slope * value + phi * slope),
    )


def _economise(function: Callable, length: float, largest: float) -> np.ndarray:
    """Coefficients of a short polynomial in 2x/length - 1 that equals `function` on [0, length] to rounding."""
    cosines = _cosines()
    places = 2 * np.arange(_POINTS) + 1
    values = function((cosines[places] + 1) * (Decimal(length) / 2))
    turns = places * np.arange(SIDE * SIDE)[:, None] % len(cosines)
    chebyshev = np.array([2 * np.sum(values * row) / _POINTS for row in cosines[turns]])
    chebyshev[0] /= 2
    chebyshev[np.abs(chebyshev.astype(float)) < _NEGLIGIBLE * largest] = Decimal(0)
    if length < 0.5:
        chebyshev[_FAR_TERMS:] = Decimal(0)
    coefficients = np.zeros(SIDE * SIDE)
    powers = np.polynomial.chebyshev.cheb2poly(chebyshev)
    coefficients[: len(powers)] = powers
    return coefficients


@functools.cache
def _cosines() -> np.ndarray:
    """cos(k pi / 192) for k = 0 to 383, twice as many steps to the half circle as there are points."""
    half = Decimal(1) / 2  # of 60 degrees
    for _ in range(6):
        half = ((1 + half) / 2).sqrt()
    found = [Decimal(1), half]
    while len(found) < 4 * _POINTS:
        found.append(2 * half * found[-1] - found[-2])
    return np.array(found, dtype=object)
