"""Bodies that stick, slip, roll and stop; switches and tanks."""

from __future__ import annotations

from saltus.validation.nonsmooth.problem import Problem, Record, Rule, impacts

LEFT, RIGHT, STICK = 0, 1, 2


def _turn(direction):
    def to(xp, t, y, p):
        return xp.where(xp.abs(y[0]) <= p["f"], STICK, direction)

    return to


def _stop(xp, t, y, p):
    return [y[0], 0.0 * y[1]]


def _last(record: Record, p) -> dict[str, float]:
    return {"stop time": record.events[-1].t if record.events else float("nan"), "stop place": float(record.y[0])}


friction_oscillator = Problem(
    rates={
        "left": lambda xp, t, y, p: [y[1], -y[0] + p["f"]],
        "right": lambda xp, t, y, p: [y[1], -y[0] - p["f"]],
        "stick": lambda xp, t, y, p: [0.0 * y[0], 0.0 * y[1]],
    },
    rules=(
        Rule("turn_right", lambda xp, t, y, p: -y[1], _stop, ("left",), _turn(RIGHT)),
        Rule("turn_left", lambda xp, t, y, p: y[1], _stop, ("right",), _turn(LEFT)),
    ),
    start=lambda p: [p["x"], 0.0],
    until=lambda p: p["until"],
    measure=_last,
)


def _at_belt(xp, t, y, p):
    return [y[0], p["b"] + 0.0 * y[1]]


def _belt(slip):
    return Problem(
        rates={
            "stick": lambda xp, t, y, p: [p["b"] + 0.0 * y[1], 0.0 * y[1]],
            "slip": slip,
        },
        rules=(
            Rule("tears_loose", lambda xp, t, y, p: p["fs"] - y[0], None, ("stick",), "slip"),
            Rule("sticks", lambda xp, t, y, p: p["b"] - y[1], _at_belt, ("slip",), "stick"),
        ),
        start=lambda p: [0.0, p["b"]],
        until=lambda p: p["until"],
        measure=lambda record, p: {
            "slip": record.time(2) - record.time(1),
            "stick": record.time(3) - record.time(2),
            "period": record.time(5) - record.time(3),
        },
    )  # fmt: skip


belt = _belt(lambda xp, t, y, p: [y[1], p["fd"] - y[0]])
weakening_belt = _belt(lambda xp, t, y, p: [y[1], p["fs"] / (1.0 + p["d"] * (p["b"] - y[1])) - y[0]])

incline_stop = Problem(
    rates={
        "slide": lambda xp, t, y, p: [y[1], p["g"] * (xp.sin(p["a"]) - p["mu"] * xp.cos(p["a"])) + 0.0 * y[1]],
        "rest": lambda xp, t, y, p: [0.0 * y[0], 0.0 * y[1]],
    },
    rules=(Rule("stop", lambda xp, t, y, p: y[1], _stop, ("slide",), "rest"),),
    start=lambda p: [0.0, p["v"]],
    until=lambda p: p["until"],
    measure=_last,
)

slide_to_roll = Problem(
    rates={
        "slide": lambda xp, t, y, p: [y[1], -p["mu"] * p["g"] + 0.0 * y[1], 2.5 * p["mu"] * p["g"] + 0.0 * y[1]],
        "roll": lambda xp, t, y, p: [y[1], 0.0 * y[1], 0.0 * y[1]],
    },
    rules=(Rule("rolls", lambda xp, t, y, p: y[1] - y[2], None, ("slide",), "roll"),),
    start=lambda p: [0.0, p["v"], p["w"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {"event 1": record.time(1), "speed": float(record.y[1]), "place": float(record.y[0])},
)

# A block that slides across an incline with mu = tan(slope): speed v, direction psi from downhill.
across_incline = Problem(
    rates={
        "slide": lambda xp, t, y, p: [
            p["g"] * xp.sin(p["a"]) * (xp.cos(y[1]) - 1.0),
            -p["g"] * xp.sin(p["a"]) * xp.sin(y[1]) / y[0],
        ]
    },
    rules=(Rule("direction", lambda xp, t, y, p: y[1] - p["psi"]),),
    start=lambda p: [p["v"], p["first"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {"event 1": record.time(1), "speed 1": float(record.event(1).before[0])},
)

thermostat = Problem(
    rates={
        "on": lambda xp, t, y, p: [p["hot"] - y[0]],
        "off": lambda xp, t, y, p: [p["cold"] - y[0]],
    },
    rules=(
        Rule("switch_off", lambda xp, t, y, p: p["high"] - y[0], None, ("on",), "off"),
        Rule("switch_on", lambda xp, t, y, p: y[0] - p["low"], None, ("off",), "on"),
    ),
    start=lambda p: [p["low"]],
    until=lambda p: p["until"],
    measure=impacts(1, 2, 11),
)

relay = Problem(
    rates={
        "right": lambda xp, t, y, p: [y[1], -p["a"] + 0.0 * y[1]],
        "left": lambda xp, t, y, p: [y[1], p["a"] + 0.0 * y[1]],
    },
    rules=(
        Rule("to_left", lambda xp, t, y, p: y[0], None, ("right",), "left"),
        Rule("to_right", lambda xp, t, y, p: -y[0], None, ("left",), "right"),
    ),
    start=lambda p: [p["x"], 0.0],
    until=lambda p: p["until"],
    measure=impacts(1, 2, 9),
)

water_tanks = Problem(
    rates={
        "first": lambda xp, t, y, p: [p["w"] - p["v1"] + 0.0 * y[0], -p["v2"] + 0.0 * y[1]],
        "second": lambda xp, t, y, p: [-p["v1"] + 0.0 * y[0], p["w"] - p["v2"] + 0.0 * y[1]],
        "over": lambda xp, t, y, p: [0.0 * y[0], 0.0 * y[1]],
    },
    rules=(
        Rule("second_empty", lambda xp, t, y, p: y[1], None, ("first",), "second", rest="over"),
        Rule("first_empty", lambda xp, t, y, p: y[0], None, ("second",), "first", rest="over"),
    ),
    start=lambda p: [p["x1"], p["x2"]],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "event 1": record.time(1),
        "event 8": record.time(8),
        "rest": float("nan") if record.settled is None else record.settled,
    },
)


# ---- woodpecker ---------------------------------------------------------------------------------
# State: fall z of the sleeve, angle q of the bird, and their rates. Above the angle `a` the sleeve jams on the pole.


def _jam(xp, t, y, p):
    inertia = p["I"] + p["m2"] * p["b"] ** 2
    return [0.0 * y[0], y[3], 0.0 * y[0], (p["m2"] * p["b"] * p["g"] - p["c"] * y[1]) / inertia]


def _falling(xp, t, y, p):
    share = p["m2"] / (p["m1"] + p["m2"])
    turning = -p["c"] * y[1] / (p["I"] + p["m2"] * p["b"] ** 2 * (1.0 - share))
    return [y[2], y[3], p["g"] - share * p["b"] * turning, turning]


def _jams(xp, t, y, p):
    # The pole stops the sleeve at once; the bird's angular momentum about the sleeve stays.
    gained = p["m2"] * p["b"] * y[2] / (p["I"] + p["m2"] * p["b"] ** 2)
    return [y[0], y[1], 0.0 * y[2], y[3] + gained]


def _pecks(xp, t, y, p):
    # The beak's impulse acts on the bird alone: total momentum of sleeve and bird along the pole stays.
    share = p["m2"] * p["b"] / (p["m1"] + p["m2"])
    return [y[0], y[1], y[2] + share * (1.0 + p["d"]) * y[3], -p["d"] * y[3]]


woodpecker = Problem(
    rates={"jammed": _jam, "falling": _falling},
    rules=(
        Rule("loose", lambda xp, t, y, p: (y[1] - p["a"]) / p["a"], None, ("jammed",), "falling"),
        Rule("pecks", lambda xp, t, y, p: (y[1] + p["a"]) / p["a"], _pecks, ("falling",)),
        Rule("jams", lambda xp, t, y, p: (p["a"] - y[1]) / p["a"], _jams, ("falling",), "jammed"),
    ),
    start=lambda p: [0.0, p["q"], 0.0, 0.0],
    until=lambda p: p["until"],
    measure=lambda record, p: {
        "loose": record.time(1, "loose"),
        "pecks": record.time(1, "pecks"),
        "jams": record.time(1, "jams"),
        "second loose": record.time(2, "loose"),
        "fall": float(record.event(3).before[0]),
    },
)
