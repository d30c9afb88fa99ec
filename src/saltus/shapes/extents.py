"""Extents of bodies, for arrays of NumPy and of JAX alike."""

from __future__ import annotations

from typing import Any

from saltus.numerics.on_host import library


def superellipsoid_radius(axes: Any, exponents: Any) -> Any:
    """Radius of a ball about the centre that holds a superellipsoid with these semi-axes and exponents [m]."""
    xp = library(axes, exponents)
    # The largest exponent for all axes gives a body that holds this one.
    e, longest = xp.max(exponents), xp.max(axes)
    power = 2.0 * e / xp.where(e > 2.0, e - 2.0, 1.0)
    wider = longest * xp.sum((axes / longest) ** power) ** (1.0 / power)
    return xp.where(e > 2.0, wider, longest)
