"""What sizes, shapes and inertia of bodies must be; traced numbers pass."""

from __future__ import annotations

import math
from typing import Any

from saltus import checks

SIZES = (1e-30, 1e30)  # [m]; squares and fourth powers of a size stay numbers
LENGTHS = (1e-100, 1e100)  # of quaternions
SLENDER = 1e6  # longest over shortest semi-axis; beyond, curvatures differ by more than double precision tells


def check_axes(axes: Any) -> None:
    """Refuse what are no three semi-axes that can be computed with [m]."""
    checks.positive("axes", axes, "Give three semi-axes, such as [1.0, 2.0, 3.0].")
    checks.shaped("axes", axes, (3,))
    checks.between("axes", axes, *SIZES, "They are lengths in metres.")
    checks.between("longest over shortest of axes", _slenderness(axes), 1.0, SLENDER, "Make it less slender.")


def _slenderness(axes: Any) -> Any:
    known = checks.concrete(axes)
    if known is None:
        import jax.numpy as jnp

        known = jnp.asarray(axes, float)
    return known.max() / known.min()


def check_radius(radius: Any) -> None:
    """Refuse a radius that cannot be computed with [m]."""
    checks.positive("radius", radius)
    checks.between("radius", radius, *SIZES, "It is a length in metres.")


def check_exponents(exponents: Any) -> None:
    """Refuse exponents of a superellipsoid that would give it edges."""
    checks.between("exponents", exponents, 2.0, 1000.0, "Below 2 the body has edges; take 2 for an ellipsoid.")


def check_quaternion(quaternion: Any, name: str = "quaternion") -> None:
    """Refuse a quaternion that tells no orientation, or whose square is out of the range of numbers."""
    values = checks.concrete(quaternion)
    low, high = LENGTHS
    if values is not None and not low <= math.hypot(*values) <= high:
        raise ValueError(
            f"`{name}` must have a length in [{low:g}, {high:g}], got {values.tolist()}. For no rotation use "
            "[1, 0, 0, 0]."
        )


def check_inertia(inertia: Any) -> None:
    """Refuse principal moments that no body has [kg m2]."""
    advice = "Give three principal moments about the centre of mass."
    checks.shaped("principal_inertia", inertia, (3,), advice)
    checks.positive("principal_inertia", inertia, advice)
    values = checks.concrete(inertia)
    if values is None:
        checks.note(lambda: _is_possible(inertia))
        return
    if not _is_possible(values):
        raise ValueError(
            f"`principal_inertia` must satisfy the triangle inequality, got {values.tolist()}: the largest moment "
            "exceeds the sum of the other two, which no body has."
        )


def _is_possible(inertia: Any) -> Any:
    if checks.concrete(inertia) is None:
        import jax.numpy as jnp

        inertia = jnp.asarray(inertia, float)
    return 2.0 * inertia.max() <= inertia.sum() * (1.0 + 1e-12)
