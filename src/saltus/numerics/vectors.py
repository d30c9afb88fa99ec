"""Many vectors in space at once, stored component by component.

XLA fuses long chains of arithmetic on plain arrays into one loop, but not across the stacking of
components: kept apart, they make the right-hand sides several times faster and quicker to compile.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Values = Float[Array, "..."]


class Vectors(eqx.Module):
    """Vectors (x, y, z), one per element of the arrays."""

    x: Values
    y: Values
    z: Values

    @staticmethod
    def unstack(array: Float[Array, "... 3"]) -> Vectors:
        """Vectors from an array whose last axis holds the components."""
        return Vectors(array[..., 0], array[..., 1], array[..., 2])

    def stack(self) -> Float[Array, "... 3"]:
        """An array whose last axis holds the components."""
        return jnp.stack([self.x, self.y, self.z], axis=-1)

    def map(self, function) -> Vectors:
        """The same function on each component."""
        return Vectors(function(self.x), function(self.y), function(self.z))

    def __add__(self, other: Vectors) -> Vectors:
        return Vectors(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vectors) -> Vectors:
        return Vectors(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vectors:
        return Vectors(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Values) -> Vectors:
        return Vectors(self.x * factor, self.y * factor, self.z * factor)

    def __getitem__(self, index) -> Vectors:
        return self.map(lambda component: component[index])

    def dot(self, other: Vectors) -> Values:
        """Scalar products."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def square(self) -> Values:
        """Squared lengths."""
        return self.dot(self)

    def length(self) -> Values:
        """Lengths; the derivative at zero is zero."""
        return self.square() * self.inverse_length()

    def inverse_length(self) -> Values:
        """Inverse lengths; zero for a zero vector. One inverse root is cheaper than a root and a division."""
        square = self.square()
        some = square > 0.0
        return jnp.where(some, jax.lax.rsqrt(jnp.where(some, square, 1.0)), 0.0)

    def where(self, condition, other: Vectors) -> Vectors:
        """These vectors where the condition holds, the others elsewhere."""
        return Vectors(
            *(jnp.where(condition, a, b) for a, b in zip((self.x, self.y, self.z), other.parts, strict=True))
        )

    @property
    def parts(self) -> tuple[Values, Values, Values]:
        """The three components."""
        return self.x, self.y, self.z


def zeros(shape) -> Vectors:
    """Zero vectors."""
    zero = jnp.zeros(shape)
    return Vectors(zero, zero, zero)
