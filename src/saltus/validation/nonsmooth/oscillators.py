"""Driven and nonlinear oscillators, and what slides on a curve."""

from __future__ import annotations

import math

from saltus.validation.nonsmooth.problem import Problem, Record, Rule, impacts


def _drive(xp, t, y, p):
    return [y[1], -y[0] + p["F"] * xp.cos(p["w"] * t)]


def _rebound(xp, t, y, p):
    return [y[0], -p["e"] * y[1]]


impact_oscillator = Problem(
    rates={"free": _drive},
    rules=(Rule("wall", lambda xp, t, y, p: p["s"] - y[0], _rebound),),
    start=lambda p: [p["x"], p["v"]],
    until=lambda p: p["until"],
    measure=impacts(1, 3, 8),
)


def _steady(p) -> float:
    return p["F"] / (1.0 - p["w"] ** 2)


grazing = Problem(
    rates={"free": _drive},
    rules=(Rule("wall", lambda xp, t, y, p: _steady(p) * (1.0 - p["d"]) - y[0], _rebound),),
    start=lambda p: [-_steady(p), 0.0],
    begins=lambda p: math.pi / float(p["w"]),
    until=lambda p: p["until"],
    measure=lambda record, p: (
        {"impacts": float(bool(record.events)), "event 1": record.time(1)}
        if p["d"] > 0.0
        else {"impacts": float(len(record.events))}
    ),
)

bilinear = Problem(
    rates={
        "soft": lambda xp, t, y, p: [y[1], -p["k1"] * y[0]],
        "stiff": lambda xp, t, y, p: [y[1], -p["k2"] * y[0]],
    },
    rules=(
        Rule("to_stiff", lambda xp, t, y, p: y[0], None, ("soft",), "stiff"),
        Rule("to_soft", lambda xp, t, y, p: -y[0], None, ("stiff",), "soft"),
    ),
    start=lambda p: [p["x"], 0.0],
    until=lambda p: p["until"],
    measure=impacts(1, 2, 11),
)


def _table(xp, t, p):
    return p["A"] * xp.sin(p["w"] * t)


def _throw(xp, t, y, p):
    w = p["A"] * p["w"] * xp.cos(p["w"] * t)
    return [y[0], w - p["e"] * (y[1] - w)]


def _phase(record: Record, p) -> dict[str, float]:
    t, period = record.time(int(p["n"])), 2.0 * math.pi / float(p["w"])
    return {"phase": math.remainder(t, period) * float(p["w"]), "flight": t - record.time(int(p["n"]) - 1)}


shaken_table = Problem(
    rates={"flight": lambda xp, t, y, p: [y[1], -p["g"] + 0.0 * y[1]]},
    rules=(Rule("table", lambda xp, t, y, p: y[0] - _table(xp, t, p), _throw),),
    start=lambda p: [p["h"], p["v"]],
    until=lambda p: p["until"],
    measure=_phase,
)

lift_off = Problem(
    rates={
        "held": lambda xp, t, y, p: [
            p["A"] * p["w"] * xp.cos(p["w"] * t),
            -p["A"] * p["w"] ** 2 * xp.sin(p["w"] * t),
        ],
        "flight": lambda xp, t, y, p: [y[1], -p["g"] + 0.0 * y[1]],
    },
    rules=(
        Rule(
            "lifts", lambda xp, t, y, p: p["g"] - p["A"] * p["w"] ** 2 * xp.sin(p["w"] * t), None, ("held",), "flight"
        ),
        Rule("lands", lambda xp, t, y, p: y[0] - _table(xp, t, p), None, ("flight",), ends=True),
    ),
    start=lambda p: [0.0, float(p["A"] * p["w"])],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "lifts": record.time(1),
        "lands": record.time(2),
        "closing speed": float(
            p["A"] * p["w"] * math.cos(float(p["w"]) * record.event(2).t) - record.event(2).before[1]
        ),
    },
)

narrow_dip = Problem(
    rates={"clock": lambda xp, t, y, p: [1.0 + 0.0 * y[0]]},
    rules=(Rule("dip", lambda xp, t, y, p: (y[0] - p["c"]) ** 2 - p["half"] ** 2),),
    start=lambda p: [0.0],
    until=lambda p: p["until"],
    measure=lambda record, p: {"events": float(len(record.events)), "event 1": record.time(1)},
)


def _pendulum(xp, t, y, p):
    # Polar angle from the downward vertical, and azimuth.
    bend = xp.sin(y[0]) * xp.cos(y[0]) * y[3] ** 2 - p["g"] / p["l"] * xp.sin(y[0])
    return [y[2], y[3], bend, -2.0 * y[2] * y[3] * xp.cos(y[0]) / xp.sin(y[0])]


spherical_pendulum = Problem(
    rates={"swing": _pendulum},
    rules=(Rule("highest", lambda xp, t, y, p: y[2]),),
    start=lambda p: [p["q"], 0.0, 0.0, p["w"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "period": record.time(2) - record.time(1),
        "turn": float(record.event(2).before[1] - record.event(1).before[1]),
    },
)

dome = Problem(
    rates={"slide": lambda xp, t, y, p: [
        y[1],
        p["g"] / p["R"] * xp.sin(y[0]) - p["mu"] * (p["g"] / p["R"] * xp.cos(y[0]) - y[1] ** 2),
    ]},
    rules=(Rule("leaves", lambda xp, t, y, p: p["g"] / p["R"] * xp.cos(y[0]) - y[1] ** 2, ends=True),),
    start=lambda p: [p["q"], p["w"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {"event 1": record.time(1), "angle": float(record.event(1).before[0])},
)  # fmt: skip

cycloid = Problem(
    rates={"slide": lambda xp, t, y, p: [
        y[1],
        xp.sin(y[0]) * (p["R"] * y[1] ** 2 - p["g"]) / (2.0 * p["R"] * (1.0 + xp.cos(y[0]))),
    ]},
    rules=(Rule("bottom", lambda xp, t, y, p: y[0], ends=True),),
    start=lambda p: [p["q"], 0.0],
    until=lambda p: p["until"],
    measure=impacts(1),
)  # fmt: skip
