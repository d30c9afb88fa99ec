"""Balls, beads and blocks that hit something."""

from __future__ import annotations

from saltus.validation.nonsmooth.problem import Problem, Record, Rule, impacts

BEADS = 10


def _fall(xp, t, y, p):
    return [y[1], -p["g"]]


def _still(xp, t, y, p):
    return [0.0 * y[0], 0.0 * y[1]]


def _bounce(xp, t, y, p):
    return [y[0], -p["e"] * y[1]]


def _zeno(record: Record, p) -> dict[str, float]:
    settled = float("nan") if record.settled is None else record.settled
    return {"event 1": record.time(1), "event 44": record.time(44), "rest": settled}


bouncing_ball = Problem(
    rates={"flight": _fall, "rest": _still},
    rules=(Rule("floor", lambda xp, t, y, p: y[0], _bounce, armed=("flight",), rest="rest"),),
    start=lambda p: [p["h"], 0.0],
    until=lambda p: p["until"],
    measure=_zeno,
)

wall_ball = Problem(
    rates={"flight": lambda xp, t, y, p: [y[1], 0.0 * y[1]]},
    rules=(
        Rule("left", lambda xp, t, y, p: y[0], _bounce),
        Rule("right", lambda xp, t, y, p: p["L"] - y[0], _bounce),
    ),
    start=lambda p: [p["x"], p["v"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "event 1": record.time(1),
        "event 10": record.time(10),
        "speed": abs(float(record.y[1])),
    },
)

ceiling_ball = Problem(
    rates={"flight": _fall},
    rules=(
        Rule("floor", lambda xp, t, y, p: y[0], _bounce),
        Rule("ceiling", lambda xp, t, y, p: p["L"] - y[0], _bounce),
    ),
    start=lambda p: [p["h"], p["v"]],
    until=lambda p: p["until"],
    measure=impacts(1, 6, 12),
)

drag_ball = Problem(
    rates={"flight": lambda xp, t, y, p: [y[1], -p["g"] - p["k"] * y[1] * xp.abs(y[1])]},
    rules=(Rule("floor", lambda xp, t, y, p: y[0], _bounce),),
    start=lambda p: [p["h"], 0.0],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "event 1": record.time(1),
        "speed 1": abs(float(record.event(1).before[1])),
        "event 3": record.time(3),
    },
)

slope_ball = Problem(
    rates={"flight": lambda xp, t, y, p: [y[2], y[3], p["g"] * xp.sin(p["a"]), -p["g"] * xp.cos(p["a"])]},
    rules=(Rule("slope", lambda xp, t, y, p: y[1], lambda xp, t, y, p: [y[0], y[1], y[2], -p["e"] * y[3]]),),
    start=lambda p: [0.0, p["h"], 0.0, 0.0],
    until=lambda p: p["until"],
    measure=lambda record, p: {"event 3": record.time(3), "place 3": float(record.event(3).before[0])},
)


def _wedge(side):
    def reflect(xp, t, y, p):
        # The wall is the line z = side c x; its normal points into the wedge.
        root = xp.sqrt(1.0 + p["c"] ** 2)
        nx, nz = -side * p["c"] / root, 1.0 / root
        closing = y[2] * nx + y[3] * nz
        return [y[0], y[1], y[2] - 2.0 * closing * nx, y[3] - 2.0 * closing * nz]

    return Rule("right" if side > 0 else "left", lambda xp, t, y, p: y[1] - side * p["c"] * y[0], reflect)


wedge = Problem(
    rates={"flight": lambda xp, t, y, p: [y[2], y[3], 0.0 * y[0], -p["g"] + 0.0 * y[0]]},
    rules=(_wedge(1.0), _wedge(-1.0)),
    start=lambda p: [p["x"], p["z"], p["u"], p["w"]],
    until=lambda p: p["until"],
    measure=impacts(1, 5, 10),
)


def _bead(k):
    def bounce(xp, t, y, p):
        return [y[i] if i != BEADS + k else -p["e"] * y[i] for i in range(2 * BEADS)]

    return Rule(f"floor_{k}", lambda xp, t, y, p: y[k], bounce)


def _beads(record: Record, p) -> dict[str, float]:
    together = sum(abs(event.t - record.time(1)) < 1e-9 for event in record.events)
    return {
        "events at once": float(together),
        "lowest": float(min(record.y[:BEADS])),
        "highest": float(max(record.y[:BEADS])),
    }


beads_drop = Problem(
    rates={"flight": lambda xp, t, y, p: [*(y[BEADS + k] for k in range(BEADS)), *(-p["g"] for _ in range(BEADS))]},
    rules=tuple(_bead(k) for k in range(BEADS)),
    start=lambda p: [p["h"]] * BEADS + [0.0] * BEADS,
    until=lambda p: p["until"],
    measure=_beads,
)


def _knock(k):
    def pass_on(xp, t, y, p):
        v = [y[BEADS + i] for i in range(BEADS)]
        v[k], v[k + 1] = v[k + 1], v[k]  # equal masses, elastic
        return [*(y[i] for i in range(BEADS)), *v]

    return Rule(f"knock_{k}", lambda xp, t, y, p: y[k + 1] - y[k] - p["d"], pass_on)


beads_line = Problem(
    rates={"flight": lambda xp, t, y, p: [*(y[BEADS + k] for k in range(BEADS)), *(0.0 * y[k] for k in range(BEADS))]},
    rules=tuple(_knock(k) for k in range(BEADS - 1)),
    start=lambda p: [k * p["D"] for k in range(BEADS)] + [p["v"]] + [0.0] * (BEADS - 1),
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "events": float(len(record.events)),
        "event 9": record.time(9),
        "last bead": float(record.y[BEADS - 1]),
    },
)

corner = Problem(
    rates={"flight": lambda xp, t, y, p: [y[2], y[3], 0.0 * y[0], 0.0 * y[0]]},
    rules=(
        Rule("right", lambda xp, t, y, p: 1.0 - y[0], lambda xp, t, y, p: [y[0], y[1], -y[2], y[3]]),
        Rule("top", lambda xp, t, y, p: 1.0 - y[1], lambda xp, t, y, p: [y[0], y[1], y[2], -y[3]]),
    ),
    start=lambda p: [0.0, 0.0, p["v"], p["v"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "events": float(len(record.events)),
        "x": float(record.y[0]),
        "y": float(record.y[1]),
    },
)


def _rocks(sign):
    return lambda xp, t, y, p: [y[1], -sign * p["p"] ** 2 * xp.sin(p["a"] - sign * y[0])]


def _rocks_slender(sign):
    return lambda xp, t, y, p: [y[1], -sign * p["p"] ** 2 * (p["a"] - sign * y[0])]


def _rocking(rates):
    return Problem(
        rates={"right": rates(1.0), "left": rates(-1.0)},
        rules=(
            Rule("edge_left", lambda xp, t, y, p: y[0], lambda xp, t, y, p: [y[0], p["r"] * y[1]], ("right",), "left"),
            Rule(
                "edge_right", lambda xp, t, y, p: -y[0], lambda xp, t, y, p: [y[0], p["r"] * y[1]], ("left",), "right"
            ),
        ),
        start=lambda p: [p["q"], 0.0],
        until=lambda p: p["until"],
        measure=lambda record, p: {
            "event 1": record.time(1),
            "rate 1": float(record.event(1).before[1]),
            "event 2": record.time(2),
            "event 4": record.time(4),
        },
    )


rocking_block = _rocking(_rocks)
rocking_slender = _rocking(_rocks_slender)

impact_pendulum = Problem(
    rates={"swing": lambda xp, t, y, p: [y[1], -p["g"] / p["l"] * xp.sin(y[0])]},
    rules=(Rule("wall", lambda xp, t, y, p: y[0], _bounce),),
    start=lambda p: [p["q"], 0.0],
    until=lambda p: p["until"],
    measure=impacts(1, 2, 6),
)

# The independent variable is the normal impulse: approach, slip and tangential impulse of two equal balls.
ball_collision = Problem(
    rates={
        "slip": lambda xp, t, y, p: [2.0 / p["m"], -7.0 * p["mu"] / p["m"], p["mu"]],
        "stick": lambda xp, t, y, p: [2.0 / p["m"], 0.0 * y[0], 0.0 * y[0]],
    },
    rules=(
        Rule("slip_ends", lambda xp, t, y, p: y[1], lambda xp, t, y, p: [y[0], 0.0 * y[1], y[2]], ("slip",), "stick"),
        Rule("compressed", lambda xp, t, y, p: -y[0]),
    ),
    start=lambda p: [-p["v"] * p["cos"], p["v"] * p["sin"], 0.0],
    until=lambda p: 0.5 * (1.0 + p["e"]) * p["m"] * p["v"] * p["cos"],
    measure=lambda record, p: {"tangential impulse": float(record.y[2]), "separation": float(record.y[0])},
)
