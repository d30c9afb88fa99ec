"""Vectors and symmetric matrices of three dimensions, kept as separate components.

Of many at once every component is then one long array: XLA turns the small formulas of contact geometry, and the
right-hand sides of masses joined by rods, into straight vector code, up to ten times as fast as arrays whose last axis
has length 3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Vec:
    """A vector (x, y, z); the components are numbers or arrays of one shape, of JAX or NumPy.

    JAX and NumPy take it for the array whose last axis has length 3.
    """

    x: Any
    y: Any
    z: Any

    @staticmethod
    def of(array: Array) -> Vec:
        """From an array whose last axis has length 3."""
        array = jnp.asarray(array)
        return Vec(array[..., 0], array[..., 1], array[..., 2])

    def array(self) -> Array:
        """As an array whose last axis has length 3."""
        return jnp.stack([self.x, self.y, self.z], axis=-1)

    def __jax_array__(self) -> Array:
        return self.array()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.array(), dtype)

    def __iter__(self):
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec) -> Vec:
        return Vec(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor: Any) -> Vec:
        return Vec(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Vec:
        return Vec(self.x / divisor, self.y / divisor, self.z / divisor)

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y, -self.z)

    def times(self, other: Vec) -> Vec:
        """Product component by component."""
        return Vec(self.x * other.x, self.y * other.y, self.z * other.z)

    def over(self, other: Vec) -> Vec:
        """Quotient component by component."""
        return Vec(self.x / other.x, self.y / other.y, self.z / other.z)

    def dot(self, other: Vec) -> Any:
        """Scalar product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec) -> Vec:
        """Vector product."""
        return Vec(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def map(self, function: Callable[[Any], Any]) -> Vec:
        """The same function of each component."""
        return Vec(function(self.x), function(self.y), function(self.z))

    def square(self) -> Any:
        """Squared length."""
        return self.dot(self)

    def norm(self) -> Array:
        """Euclidean length."""
        return jnp.sqrt(self.square())

    def unit(self) -> Vec:
        """Same direction, length 1."""
        return self / self.norm()

    def length(self) -> Array:
        """Euclidean length; the derivative at zero is zero."""
        square = self.square()
        return square * _inverse_root(square)

    def inverse_length(self) -> Array:
        """Inverse of the length; zero for a zero vector. One inverse root is cheaper than a root and a division."""
        return _inverse_root(self.square())


def _inverse_root(square: Array) -> Array:
    some = square > 0.0
    return jnp.where(some, jax.lax.rsqrt(jnp.where(some, square, 1.0)), 0.0)


def zeros(shape: tuple[int, ...]) -> Vec:
    """Zero vectors."""
    zero = jnp.zeros(shape)
    return Vec(zero, zero, zero)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sym:
    """A symmetric 3 x 3 matrix."""

    xx: Any
    xy: Any
    xz: Any
    yy: Any
    yz: Any
    zz: Any

    @staticmethod
    def of(array: Array) -> Sym:
        """From an array that ends in two axes of length 3 (the upper triangle is read)."""
        return Sym(
            array[..., 0, 0],
            array[..., 0, 1],
            array[..., 0, 2],
            array[..., 1, 1],
            array[..., 1, 2],
            array[..., 2, 2],
        )

    def array(self) -> Array:
        """As an array that ends in two axes of length 3."""
        rows = (self.xx, self.xy, self.xz), (self.xy, self.yy, self.yz), (self.xz, self.yz, self.zz)
        return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

    @staticmethod
    def diagonal(d: Vec) -> Sym:
        """With these entries on the diagonal."""
        zero = jnp.zeros_like(d.x)
        return Sym(d.x, zero, zero, d.y, zero, d.z)

    def __matmul__(self, v: Vec) -> Vec:
        return Vec(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def trace(self) -> Any:
        """Sum of the diagonal."""
        return self.xx + self.yy + self.zz

    def cofactors(self) -> tuple[Sym, Any]:
        """The matrix of cofactors, which is the inverse times the determinant, and the determinant."""
        xx = self.yy * self.zz - self.yz * self.yz
        xy = self.xz * self.yz - self.xy * self.zz
        xz = self.xy * self.yz - self.xz * self.yy
        yy = self.xx * self.zz - self.xz * self.xz
        yz = self.xy * self.xz - self.xx * self.yz
        zz = self.xx * self.yy - self.xy * self.xy
        return Sym(xx, xy, xz, yy, yz, zz), self.xx * xx + self.xy * xy + self.xz * xz

    def inverse(self) -> Sym:
        """Inverse, by cofactors."""
        cofactors, determinant = self.cofactors()
        return jax.tree.map(lambda part: part / determinant, cofactors)

    def blend(self, other: Sym, weight: Array) -> Sym:
        """(1 - weight) self + weight other."""
        return jax.tree.map(lambda a, b: (1.0 - weight) * a + weight * b, self, other)

    def solve(self, b: Vec) -> Vec:
        """The solution of self @ x = b by cofactors."""
        cofactors, determinant = self.cofactors()
        return (cofactors @ b) / determinant


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sym2:
    """A symmetric 2 x 2 matrix, in the plane of two tangents."""

    xx: Any
    xy: Any
    yy: Any

    def determinant(self) -> Any:
        """Determinant."""
        return self.xx * self.yy - self.xy * self.xy

    def largest(self) -> Array:
        """The largest of its numbers."""
        return jnp.maximum(jnp.maximum(self.xx, self.yy), self.xy)

    def __matmul__(self, v: tuple[Any, Any]) -> tuple[Any, Any]:
        return self.xx * v[0] + self.xy * v[1], self.xy * v[0] + self.yy * v[1]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Turn:
    """A rotation matrix by its columns: the body's axes seen from the lab."""

    e1: Vec
    e2: Vec
    e3: Vec

    @staticmethod
    def of_quaternion(q: Any) -> Turn:
        """From a unit quaternion (w, x, y, z), body to lab."""
        return Turn.of_parts(q[..., 0], q[..., 1], q[..., 2], q[..., 3])

    @staticmethod
    def of_parts(w: Any, x: Any, y: Any, z: Any) -> Turn:
        """From the components of a unit quaternion, body to lab."""
        return Turn(
            Vec(1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
            Vec(2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
            Vec(2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)),
        )

    def to_lab(self, v: Vec) -> Vec:
        """Lab components of a vector given in the body's frame."""
        return self.e1 * v.x + self.e2 * v.y + self.e3 * v.z

    def to_body(self, v: Vec) -> Vec:
        """Body components of a vector given in the lab."""
        return Vec(self.e1.dot(v), self.e2.dot(v), self.e3.dot(v))

    def tensor_to_lab(self, s: Sym) -> Sym:
        """Lab components of a tensor given in the body's frame."""
        x, y, z = (Vec(getattr(self.e1, i), getattr(self.e2, i), getattr(self.e3, i)) for i in "xyz")
        sy, sz = s @ y, s @ z
        return Sym(x.dot(s @ x), x.dot(sy), x.dot(sz), y.dot(sy), y.dot(sz), z.dot(sz))

    def spread(self, d: Vec) -> Sym:
        """Lab components of the tensor that is diagonal in the body's frame."""
        a, b, c = self.e1, self.e2, self.e3

        def entry(i: str, j: str) -> Array:
            pairs = zip((a, b, c), d, strict=True)
            first, second, third = (getattr(e, i) * getattr(e, j) * value for e, value in pairs)
            return first + second + third

        return Sym(*(entry(i, j) for i, j in ("xx", "xy", "xz", "yy", "yz", "zz")))


def tangent_basis(n: Vec) -> tuple[Vec, Vec]:
    """Two unit vectors orthogonal to the unit vector `n` and to each other, without branches."""
    sign = jnp.where(n.z >= 0.0, 1.0, -1.0)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return Vec(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), Vec(b, sign + n.y * n.y * a, -n.y)
