"""A point that flies straight and is reflected: box, Sinai's billiard, Bunimovich's stadium."""

from __future__ import annotations

from saltus.validation.nonsmooth.problem import Problem, Record, Rule


def _straight(xp, t, y, p):
    return [y[2], y[3], 0.0 * y[0], 0.0 * y[0]]


def _flip_x(xp, t, y, p):
    return [y[0], y[1], -y[2], y[3]]


def _flip_y(xp, t, y, p):
    return [y[0], y[1], y[2], -y[3]]


def _reflect(xp, y, nx, ny):
    closing = y[2] * nx + y[3] * ny
    return [y[0], y[1], y[2] - 2.0 * closing * nx, y[3] - 2.0 * closing * ny]


def _off_disc(xp, t, y, p):
    r = xp.sqrt(y[0] ** 2 + y[1] ** 2)
    return _reflect(xp, y, y[0] / r, y[1] / r)


def _times(record: Record, p) -> dict[str, float]:
    return {f"event {n}": record.time(n) for n in (1, 4, 8)}


SINAI = (
    Rule("right", lambda xp, t, y, p: p["L"] - y[0], _flip_x),
    Rule("left", lambda xp, t, y, p: p["L"] + y[0], _flip_x),
    Rule("top", lambda xp, t, y, p: p["L"] - y[1], _flip_y),
    Rule("bottom", lambda xp, t, y, p: p["L"] + y[1], _flip_y),
    Rule("disc", lambda xp, t, y, p: (y[0] ** 2 + y[1] ** 2) / p["r"] ** 2 - 1.0, _off_disc),
)

sinai = Problem(
    rates={"flight": _straight},
    rules=SINAI,
    start=lambda p: [p["x"], p["y"], p["u"], p["w"]],
    until=lambda p: p["until"],
    measure=_times,
)


def _outside(xp, t, y, p):
    """One minus the squared distance from the middle line: positive inside the stadium."""
    x = xp.maximum(xp.abs(y[0]) - p["a"], 0.0)
    return 1.0 - x**2 - y[1] ** 2


def _off_stadium(xp, t, y, p):
    """Reflected about the normal: along y on the straight sides, from the centre of the cap on the caps."""
    x = xp.sign(y[0]) * xp.maximum(xp.abs(y[0]) - p["a"], 0.0)
    size = xp.sqrt(x**2 + y[1] ** 2)
    return _reflect(xp, y, x / size, y[1] / size)


stadium = Problem(
    rates={"flight": _straight},
    rules=(Rule("wall", _outside, _off_stadium),),
    start=lambda p: [p["x"], p["y"], p["u"], p["w"]],
    until=lambda p: p["until"],
    measure=_times,
)
