"""Reference cases of masses and rods on surfaces.

Tolerances are relative to the size that a quantity has in its case: 1e-10 for motions and the times of
their events, 1e-12 for forces and accelerations of a given state. Where a case states that its motion is
unstable, the error of one step (1e-13) may grow as the case says; the error that a case states of its own
reference is allowed on top.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import numpy as np

from saltus import surfaces, systems
from saltus.hybrid import Event
from saltus.simulation import Run, observe, simulate
from saltus.validation.check import Check, difference, fact

MOTION = 1e-10
INSTANT = 1e-12
STEP = 1e-13
MOMENT = 1e-6  # how long a motion is followed of which only the start is known [s]
GRAVITY = 9.81  # of cases that do not say

# Kind of surface in a reference file: our class, and the parameters in the order of its arguments.
SURFACES = {
    "sphere": (surfaces.Sphere, ("R",)),
    "dome": (surfaces.Dome, ("R",)),
    "plane": (surfaces.Plane, ("sx", "sy")),
    "paraboloid": (surfaces.Paraboloid, ("a", "b", "c")),
    "saddle": (surfaces.Saddle, ("a", "b")),
    "gaussian": (surfaces.Gaussian, ("A", "s")),
    "cosine_valley": (surfaces.Cosine, ("A", "k", "S")),
    "cone": (surfaces.Cone, ("k", "eps")),
}

Case = dict[str, Any]


def surface(description: Case) -> surfaces.AbstractSurface:
    """The surface of a case; a kind without a class of its own comes from its formula."""
    kind, parameters = description["kind"], description["params"]
    if kind in SURFACES and set(SURFACES[kind][1]) == set(parameters):
        build, names = SURFACES[kind]
        return build(*(parameters[name] for name in names))
    return surfaces.Expression(description["formula"], parameters)


def system(case: Case, **options: Any) -> systems.SlidingMasses:
    """The system of a case or of one of its states."""
    chosen = {
        "mu": case["mu"],
        "gravity": case.get("g", GRAVITY),
        "formulation": "tangent" if case.get("model") == "part1" else "full",
        "friction_reaction": case.get("friction_law", "abs"),
    }
    rods = case.get("rods", [])
    return systems.SlidingMasses(surface(case["surface"]), case["m"], rods, **{**chosen, **options})


def pairs(flat: list[float]) -> np.ndarray:
    """[x1, y1, x2, y2, ...] as one row per mass."""
    return np.asarray(flat, float).reshape(-1, 2)


def motion(case: Case, until: float, **options: Any) -> Run:
    """The case run to a time, as exactly as double precision allows."""
    moving = system(case, **options)
    start = moving.start(position=pairs(case["q0"]), velocity=pairs(case["v0"]))
    size = max(1.0, float(np.abs(case["q0"]).max()))
    return simulate(moving, start, until, rtol=1e-13, atol=1e-15 * size)


# ---- trajectory -----------------------------------------------------------------------------------

_SAMPLED = {
    "pos": "position",
    "vel": "velocity",
    "h": "rod_force",
    "N": "normal_force",
    "K": "kinetic_energy",
    "V": "potential_energy",
    "Ecm": "com_energy",
    "lengths": "rod_length",
}


def trajectory(case: Case) -> list[Check]:
    """Positions, velocities, forces and energies at given times, and what else the case knows exactly."""
    samples = case.get("samples", [])
    until = max([_last_time(case), *(sample["t"] for sample in samples)]) or MOMENT  # all that is known is of the start
    run = motion(case, until)
    checks = [fact(f"runs to t = {until:g} ({run.outcome.name})", float(run.end.t) >= until)]
    if not checks[0].ok:
        return checks
    checks += _sample_checks(case, samples, run)
    checks += _event_checks(case, case.get("events", []), run)
    checks += _exact_checks(case, case.get("exact", {}), run)
    return checks


def _last_time(case: Case) -> float:
    exact = case.get("exact", {})
    times = [event["t"] for event in case.get("events", [])]
    times += [exact[key] for key in ("t_stop", "t_liftoff") if key in exact]
    times += list(exact.get("h_sign_change_times", []))
    return max(times, default=0.0) * (1 + 1e-6) + (1e-6 if times else 0.0)


@eqx.filter_jit
def _observe(moving: systems.SlidingMasses, states):
    """Results and accelerations at these states, stacked."""
    return jax.vmap(moving.observe)(states), jax.vmap(lambda state: moving.forces(state).acceleration)(states)


def _sample_checks(case: Case, samples: list[Case], run: Run) -> list[Check]:
    if not samples:
        return []
    times = np.array([sample["t"] for sample in samples])
    states = run.states(times)
    seen, acceleration = _observe(run.system, states)
    found = {key: np.asarray(seen[name]) for key, name in _SAMPLED.items()}
    found["acc"] = np.asarray(acceleration)
    found["E"] = found["K"] + found["V"]
    sizes = _sizes(case, samples)
    checks = []
    for row, sample in enumerate(samples):
        for key, wanted in sample.items():
            if key in found:
                what = f"{_SAMPLED.get(key, key)} at t = {sample['t']:g}"
                checks.append(difference(what, found[key][row], wanted, _tolerance(case, sizes[key], sample["t"])))
    return checks


def _sizes(case: Case, samples: list[Case]) -> dict[str, float]:
    """How large each quantity is in this case; what is zero is compared with what it is made of."""

    def largest(*keys: str) -> float:
        values = [np.asarray(sample[key], float) for key in keys for sample in samples if key in sample]
        return max((float(np.max(np.abs(value[~np.isnan(value)]), initial=0.0)) for value in values), default=0.0)

    gravity = case.get("g", GRAVITY)
    weight = max(case["m"]) * gravity
    length, speed = largest("pos", "lengths"), largest("vel")
    speed = speed or math.sqrt(gravity * length)
    force, energy = max(largest("h", "N"), weight), largest("K", "V")
    acceleration = max(largest("acc"), gravity)
    sizes = {"pos": length, "vel": speed, "acc": acceleration, "h": force, "N": force, "lengths": length}
    return {**sizes, "K": energy, "V": energy, "E": energy, "Ecm": energy}


def _tolerance(case: Case, size: float, t: float = 0.0) -> float:
    """Tolerance of a quantity of this size at this time of a motion."""
    rate = case.get("instability", {}).get("growth_rate_per_s")
    growth = 0.0 if rate is None else STEP * math.exp(rate * t)
    return (MOTION + growth) * size + float(case.get("accuracy", {}).get("stated_abs", 0.0))


# ---- what a case knows exactly --------------------------------------------------------------------


def _exact_checks(case: Case, exact: Case, run: Run) -> list[Check]:
    checks = []
    if "t_stop" in exact:
        checks += _stop_checks(case, exact, run)
    for turn in exact.get("turning", [])[1:]:
        what = f"turning at t = {turn['t']:g}"
        stops = _mode_changes(run, "stop", 0)
        checks.append(_nearest(what, list(stops), turn["t"], _tolerance(case, max(turn["t"], 1.0))))
        if checks[-1].ok and "h_kinetic" in turn:
            force = _limit_before(run, _closest(stops, turn["t"]), "rod_force")[0]
            checks.append(difference(f"rod force before the {what}", force, turn["h_kinetic"], _force(case)))
    if "t_liftoff" in exact:
        checks += _lift_off_checks(case, exact)
    if "h_sign_change_times" in exact:
        wanted = exact["h_sign_change_times"]
        what = "times at which the rod force changes sign"
        checks.append(difference(what, _sign_changes(run), wanted, _tolerance(case, wanted[-1])))
    return checks


def _stop_checks(case: Case, exact: Case, run: Run) -> list[Check]:
    """When and where everything comes to rest, and the rod force until then."""
    checks = [difference("time of the stop", _rest_time(run), exact["t_stop"], _tolerance(case, exact["t_stop"]))]
    place = np.asarray(observe(run.system, run.end)["position"])[:, :2]
    allowed = _tolerance(case, _size(case))
    if "q_stop" in exact:
        checks.append(difference("place of the stop", place, pairs(exact["q_stop"]), allowed))
    if "x_stop" in exact:
        checks.append(difference("x of the stop", place[:, 0], np.full(len(place), exact["x_stop"]), allowed))
    if "h_limit_at_stop" in exact and run.events:
        force = _limit_before(run, run.events[-1], "rod_force")[0]
        checks.append(difference("rod force before the stop", force, exact["h_limit_at_stop"], _force(case)))
    return checks


def _lift_off_checks(case: Case, exact: Case) -> list[Check]:
    until = exact["t_liftoff"] * (1 + 1e-3)
    run = motion(case, until, adhesion=False)
    times = [event.t for event in run.events if event.name == "lift_off"]
    checks = [_nearest("time of lift-off", times, exact["t_liftoff"], _tolerance(case, exact["t_liftoff"]))]
    if times and "x_liftoff" in exact:
        event = next(event for event in run.events if event.name == "lift_off")
        place = np.asarray(observe(run.system, event.before)["position"])[event.index, 0]
        checks.append(difference("place of lift-off", place, exact["x_liftoff"], _tolerance(case, _size(case))))
    return checks


def _sign_changes(run: Run) -> np.ndarray:
    """Times at which the force of the first rod passes through zero."""
    from scipy.optimize import brentq

    def force(t):
        return float(observe(run.system, run.at(t))["rod_force"][0])

    times = np.linspace(float(run.trajectory.start.t), float(run.end.t), 4001)
    values = np.asarray(_observe(run.system, run.states(times))[0]["rod_force"])[:, 0]
    changes = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    return np.array([brentq(force, times[i], times[i + 1], xtol=1e-13) for i in changes])


def _size(case: Case) -> float:
    """A length of the case."""
    return max(float(np.abs(case["q0"]).max()), 1e-3)


def _force(case: Case) -> float:
    """Tolerance of a force: relative to the largest weight."""
    return _tolerance(case, max(case["m"]) * case.get("g", GRAVITY))


# ---- events ---------------------------------------------------------------------------------------


def events(case: Case) -> list[Check]:
    """Stops and releases, and whether what should rest does."""
    expected = case.get("events", [])
    until = float(case.get("t_end", _last_time(case) or 10.0))
    run = motion(case, until)
    checks = [fact(f"runs to t = {until:g} ({run.outcome.name})", float(run.end.t) >= until)]
    if case.get("exact", {}).get("moves") is False:
        times = np.linspace(0.0, until, 11)
        place = np.asarray(_observe(run.system, run.states(times))[0]["position"])[..., :2]
        wanted = np.broadcast_to(pairs(case["q0"]), place.shape)
        checks.append(difference("positions of masses at rest", place, wanted, 0.0))
        checks.append(fact("no event at rest", not run.events))
    checks += _event_checks(case, expected, run)
    checks += _exact_checks(case, case.get("exact", {}), run)
    for kind in ("stop", "release"):
        wanted = [event for event in expected if _kind(event) == kind]
        if wanted:
            found = sum(len(_mode_changes(run, kind, mass)) for mass in range(len(case["m"])))
            checks.append(fact(f"{len(wanted)} x {kind}, found {found}", found == len(wanted)))
    return checks


# What the kind of event in a reference file contains: ours.
_KINDS = {
    "sign to -": "pull",
    "sign to +": "press",
    "stop": "stop",
    "stick": "stop",
    "release": "release",
    "slip": "release",
    "loose": "release",
    "lift": "lift_off",
    "land": "landing",
}


def _kind(event: Case) -> str | None:
    return next((ours for words, ours in _KINDS.items() if words in event["kind"].lower()), None)


def _event_checks(case: Case, expected: list[Case], run: Run) -> list[Check]:
    """Time, place and forces of each expected event."""
    checks = []
    for event in expected:
        kind = _kind(event)
        what = f"{event['kind']} of mass {event['mass']} at t = {event['t']:g}"
        if kind is None:
            checks.append(fact(f"{what}: the kind is not known", False))
            continue
        changes = _mode_changes(run, kind, event["mass"])
        allowed = _tolerance(case, max(event["t"], 1e-3), event["t"])
        checks.append(_nearest(what, list(changes), event["t"], allowed))
        if not checks[-1].ok:
            continue
        happened = _closest(changes, event["t"])
        if "q" in event:
            state = happened.before if kind == "release" else happened.after
            place = np.asarray(observe(run.system, state)["position"])[:, :2]
            allowed = _tolerance(case, _size(case), event["t"])
            checks.append(difference(f"positions at the {what}", place, pairs(event["q"]), allowed))
        for key, name in (("h_before", "rod_force"), ("N_before", "normal_force")):
            if key in event:
                found = _limit_before(run, happened, name)
                checks.append(difference(f"{name} before the {what}", found, event[key], _force(case)))
    return checks


def _closest(changes: dict[float, Event], t: float) -> Event:
    return changes[min(changes, key=lambda one: abs(one - t))]


def _limit_before(run: Run, event: Event, name: str) -> np.ndarray:
    """What a quantity tends to before an event."""
    return np.asarray(observe(run.system, event.before)[name])


def _mode_changes(run: Run, kind: str, mass: int) -> dict[float, Event]:
    """Times at which a mass stops, is released, and so on, and the events.

    Masses that stop together share one event; a mass may stop and set off again at once.
    """
    held = run.system.mode_names.index("stick")
    found = {}
    for event in run.events:
        was, now = (int(state.mode[mass]) == held for state in (event.before, event.after))
        changed = {"stop": not was and now, "release": was and not now}.get(kind, False)
        taking_part = [str(event.index), *event.data.get("together_with", "").split(",")]
        if changed or (event.name == kind and str(mass) in taking_part):
            found[event.t] = event  # `after` may be the state of a moment later
    return found


def _rest_time(run: Run) -> float:
    """Time of the event after which every mass is held; NaN if there is none."""
    held = run.system.mode_names.index("stick")
    if not (np.asarray(run.end.mode) == held).all():
        return math.nan
    return run.events[-1].t if run.events else float(run.trajectory.start.t)


def _nearest(what: str, found: list[float], wanted: float, tolerance: float) -> Check:
    if not found:
        return Check(f"{what}: did not happen", math.inf, tolerance)
    return Check(what, min(abs(t - wanted) for t in found), tolerance)


# ---- instants -------------------------------------------------------------------------------------


def instants(case: Case) -> list[Check]:
    """Rod forces, reactions and accelerations of given states."""
    checks = []
    for index, one in enumerate(case["states"]):
        moving = system(one)
        now = moving.forces(moving.state(pairs(one["q"]), pairs(one["v"])))
        force = max(np.abs(one["N"]).max(), np.abs(one["h"]).max(initial=0.0))
        acceleration = np.abs(one["acc"]).max()
        where = f"of state {index} ({one['surface']['kind']})"
        checks += [
            difference(f"rod force {where}", now.rod_force, one["h"], INSTANT * force),
            difference(f"normal force {where}", now.normal_force, one["N"], INSTANT * force),
            difference(f"acceleration {where}", now.acceleration, one["acc"], INSTANT * acceleration),
        ]
        if "h_part1" in one:
            tangent = system(one, formulation="tangent")
            found = tangent.forces(tangent.state(pairs(one["q"]), pairs(one["v"]))).rod_force
            size = max(force, np.abs(one["h_part1"]).max(initial=0.0))
            checks.append(difference(f"rod force of Part 1 {where}", found, one["h_part1"], INSTANT * size))
    return checks


def illposed(case: Case) -> list[Check]:
    """The denominator of the rod force, and whether it is positive."""
    checks = []
    for index, one in enumerate(case["states"]):
        # D is stated for a reaction that presses: the law that does not ask for its sign.
        whole = {"surface": case["surface"], "rods": case.get("rods", [[0, 1]]), "friction_law": "signed", **one}
        moving = system(whole)
        found = float(moving.denominator(moving.state(pairs(one["q"]), pairs(one["v"]))))
        size = sum(abs(term) for term in one["terms"])
        checks.append(difference(f"D of state {index}", found, one["D"], INSTANT * size))
        checks.append(fact(f"state {index} is{'' if one['well_posed'] else ' not'} well posed",
                           (found > 0) == one["well_posed"]))  # fmt: skip
    return checks


GROUPS = {"trajectory": trajectory, "events": events, "instants": instants, "illposed": illposed}
