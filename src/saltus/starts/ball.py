"""Starts of a ball on a track: what must hold."""

from __future__ import annotations

from typing import Any

from saltus import checks

POINT = 1e-15  # radius of a spot over that of its ball below which it is a point


def check_tilt(half_angle: Any, point: bool) -> None:
    """Refuse upright contacts with a spot; an angle that is traced passes."""
    upright = checks.concrete(half_angle)
    if not point and upright is not None and (upright == 0.0).any():
        raise ValueError(
            "`half_angle` must be > 0 for contacts with a spot, got 0.0: the ball would not spin about them, and a "
            'spot would be a point. Use a law of point contact: Coulomb(mu), or model = "coulomb" in a scenario.'
        )


def check_load(load: Any) -> None:
    """Refuse a ball that would not press on its plates, by its load over its weight; a traced one passes."""
    lifted = checks.concrete(load)
    if lifted is not None and lifted <= 0.0:
        raise ValueError(
            f"The ball does not touch the plates at the start: its load would be {float(lifted):.4g} m g. "
            "Start nearer to the top, or slower."
        )
