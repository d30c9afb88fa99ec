"""Functions of x and y with their first and second derivatives at known points, by NumPy alone.

Arithmetic with a `Jet` carries the derivatives along (Taylor arithmetic); the functions have the names of NumPy's and
take plain numbers too. For single looks, where importing JAX would take longer than all the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Where the parts of a jet stand: the value, the slopes, the second derivatives.
VALUE, X, Y, XX, XY, YY = range(6)

Values = np.ndarray | np.float64  # at many points, or at one


class Jet:
    """A function near points: `parts` are its value, f_x, f_y, f_xx, f_xy and f_yy at each of them."""

    __array_ufunc__ = None  # NumPy leaves arithmetic with arrays to this class
    __slots__ = ("parts",)

    def __init__(self, parts: np.ndarray):
        self.parts = parts

    @property
    def value(self) -> Values:
        """The function itself."""
        return self.parts[VALUE]

    def composed(self, value: Any, slope: Any, bend: Any) -> Jet:
        """A function of this one, by its value and derivatives there (chain rule)."""
        f = self.parts
        new = np.stack([value * np.ones_like(f[VALUE]), *(slope * f[k] for k in (X, Y, XX, XY, YY))])
        new[XX] += bend * f[X] ** 2
        new[XY] += bend * f[X] * f[Y]
        new[YY] += bend * f[Y] ** 2
        return Jet(new)

    def __add__(self, other: Any) -> Jet:
        return Jet(self.parts + _of(other, self).parts)

    def __sub__(self, other: Any) -> Jet:
        return Jet(self.parts - _of(other, self).parts)

    def __rsub__(self, other: Any) -> Jet:
        return Jet(_of(other, self).parts - self.parts)

    def __mul__(self, other: Any) -> Jet:
        f, g = self.parts, _of(other, self).parts
        return Jet(
            np.stack(
                [
                    f[VALUE] * g[VALUE],
                    f[X] * g[VALUE] + f[VALUE] * g[X],
                    f[Y] * g[VALUE] + f[VALUE] * g[Y],
                    f[XX] * g[VALUE] + 2.0 * f[X] * g[X] + f[VALUE] * g[XX],
                    f[XY] * g[VALUE] + f[X] * g[Y] + f[Y] * g[X] + f[VALUE] * g[XY],
                    f[YY] * g[VALUE] + 2.0 * f[Y] * g[Y] + f[VALUE] * g[YY],
                ]
            )
        )

    def __truediv__(self, other: Any) -> Jet:
        return self * integer_pow(_of(other, self), -1)

    def __rtruediv__(self, other: Any) -> Jet:
        return _of(other, self) / self

    def __pow__(self, exponent: Any) -> Jet:
        if isinstance(exponent, Jet):
            return exp(exponent * log(self))
        f, p = self.value, exponent
        return self.composed(f**p, p * f ** (p - 1.0), p * (p - 1.0) * f ** (p - 2.0))

    def __rpow__(self, base: Any) -> Jet:
        return exp(self * np.log(base))

    def __neg__(self) -> Jet:
        return Jet(-self.parts)

    __radd__, __rmul__ = __add__, __mul__


def variables(x: Any, y: Any) -> tuple[Jet, Jet]:
    """The functions x and y themselves, at these points."""
    x, y = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    one, zero = np.ones_like(x), np.zeros_like(x)
    return Jet(np.stack([x, one, zero, zero, zero, zero])), Jet(np.stack([y, zero, one, zero, zero, zero]))


def constant(value: Any, like: Jet) -> Jet:
    """A function that is the same everywhere, at the points of another."""
    parts = np.zeros_like(like.parts)
    parts[VALUE] = value
    return Jet(parts)


def _of(value: Any, like: Jet) -> Jet:
    return value if isinstance(value, Jet) else constant(value, like)


def integer_pow(base: Any, exponent: int) -> Any:
    """A power whose derivatives are right at zero too."""
    if not isinstance(base, Jet):
        return np.power(base, float(exponent))
    f, n = base.value, exponent
    slope = n * np.power(f, float(n - 1)) if n else np.zeros_like(f)
    bend = n * (n - 1) * np.power(f, float(n - 2)) if n * (n - 1) else np.zeros_like(f)
    return base.composed(np.power(f, float(n)), slope, bend)


def _function(name: str, derivatives: Any) -> Any:
    """A function of one argument: NumPy's, and how its value and two derivatives follow from the argument."""

    def function(argument: Any) -> Any:
        if not isinstance(argument, Jet):
            return getattr(np, name)(argument)
        return argument.composed(*derivatives(argument.value))

    return function


def _tan(f):
    t = np.tan(f)
    return t, 1.0 + t**2, 2.0 * t * (1.0 + t**2)


def _tanh(f):
    t = np.tanh(f)
    return t, 1.0 - t**2, -2.0 * t * (1.0 - t**2)


def _arcsin(f):
    root = np.sqrt(1.0 - f**2)
    return np.arcsin(f), 1.0 / root, f / root**3


def _arccos(f):
    value, slope, bend = _arcsin(f)
    return np.pi / 2.0 - value, -slope, -bend


def _sqrt(f):
    root = np.sqrt(f)
    return root, 0.5 / root, -0.25 / root**3


sin = _function("sin", lambda f: (np.sin(f), np.cos(f), -np.sin(f)))
cos = _function("cos", lambda f: (np.cos(f), -np.sin(f), -np.cos(f)))
tan = _function("tan", _tan)
arcsin = _function("arcsin", _arcsin)
arccos = _function("arccos", _arccos)
arctan = _function("arctan", lambda f: (np.arctan(f), 1.0 / (1.0 + f**2), -2.0 * f / (1.0 + f**2) ** 2))
sinh = _function("sinh", lambda f: (np.sinh(f), np.cosh(f), np.sinh(f)))
cosh = _function("cosh", lambda f: (np.cosh(f), np.sinh(f), np.cosh(f)))
tanh = _function("tanh", _tanh)
exp = _function("exp", lambda f: (np.exp(f),) * 3)
log = _function("log", lambda f: (np.log(f), 1.0 / f, -1.0 / f**2))
sqrt = _function("sqrt", _sqrt)
abs = _function("abs", lambda f: (np.abs(f), np.sign(f), np.zeros_like(f)))


def arctan2(a: Any, b: Any) -> Any:
    """Angle of the point (b, a) from the first axis."""
    if not isinstance(a, Jet) and not isinstance(b, Jet):
        return np.arctan2(a, b)
    a, b = _both(a, b)
    # Up to a constant it is one of these two arcs, of which the one is taken whose quotient is small.
    steep = np.abs(a.value) > np.abs(b.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(steep, -arctan(b / a).parts, arctan(a / b).parts)
    parts[VALUE] = np.arctan2(a.value, b.value)
    return Jet(parts)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of both."""
    if not isinstance(a, Jet) and not isinstance(b, Jet):
        return np.minimum(a, b)
    a, b = _both(a, b)
    return Jet(np.where(a.value <= b.value, a.parts, b.parts))


def maximum(a: Any, b: Any) -> Any:
    """The larger of both."""
    if not isinstance(a, Jet) and not isinstance(b, Jet):
        return np.maximum(a, b)
    return -minimum(-a, -b)


def _both(a: Any, b: Any) -> tuple[Jet, Jet]:
    like = a if isinstance(a, Jet) else b
    return _of(a, like), _of(b, like)
