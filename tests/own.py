"""Systems made of functions, for tests: one set of functions each, so that their programs are shared."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

import saltus as sl
from saltus.hybrid import Guard


def _fall(t, y, p):
    return {"height": y["speed"], "speed": -p["g"]}


def _height(t, y, p):
    return y["height"]


def _bounce(t, y, p):
    return {"height": y["height"], "speed": -p["e"] * y["speed"]}


def _energy(t, y, p):
    return p["g"] * y["height"] + 0.5 * y["speed"] ** 2


def ball(e: float = 0.9, g: float = 9.81, height: float = 1.0):
    """A ball on a floor; its energy per mass is a result."""
    return sl.hybrid.system(
        _fall,
        {"height": height, "speed": 0.0},
        [Guard("floor", _height, jump=_bounce)],
        parameters={"g": g, "e": e},
        units={"height": "m", "speed": "m s-1"},
        energy=_energy,
    )


class Mass(NamedTuple):
    place: float
    speed: float


BELT, REACH = 1.0, 2.0  # speed of the belt; friction at most while it sticks (spring and mass are 1)
SLIDING = 1.0  # friction while it slips


def _stick(t, y):
    return Mass(BELT + 0.0 * y.speed, 0.0 * y.speed)


def _slip(t, y):
    return Mass(y.speed, SLIDING - y.place)


def _stuck(t, y):
    return Mass(y.place, BELT)


def stick_slip():
    """A mass on a belt, held by a spring: sticks until the spring pulls too hard, slips until the speeds agree."""
    return sl.hybrid.system(
        {"stick": _stick, "slip": _slip},
        Mass(0.0, BELT),
        [
            Guard("tears_loose", lambda t, y: REACH - y.place, armed="stick", to="slip"),
            Guard(
                "sticks", lambda t, y: BELT - y.speed, armed="slip", to="stick", jump=lambda t, y: Mass(y.place, BELT)
            ),
        ],
    )


def beads():
    """Three balls at once: one guard watches all of them."""
    return sl.hybrid.system(
        lambda t, y: {"x": y["v"], "v": jnp.full(3, -9.81)},
        {"x": jnp.array([1.0, 2.0, 3.0]), "v": jnp.zeros(3)},
        [
            Guard(
                "floor",
                lambda t, y: y["x"],
                jump=lambda t, y, index: {"x": y["x"], "v": y["v"].at[index].multiply(-0.5)},
            )
        ],
    )
