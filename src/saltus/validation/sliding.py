"""Reference cases of masses and rods on surfaces.

Tolerances are relative to the size that a quantity has in its case: 1e-10 for motions and the times of
their events, 1e-12 for forces and accelerations of a given state. Where a case states that its motion is
unstable, the error of one step (1e-13) may grow as the case says.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from saltus import surfaces, systems
from saltus.hybrid import Event
from saltus.simulation import Run, simulate
from saltus.validation.check import Check, difference, fact

MOTION = 1e-10
INSTANT = 1e-12
STEP = 1e-13

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
        "gravity": case.get("g", 9.81),
        "formulation": "tangent" if case.get("model") == "part1" else "full",
        "friction_reaction": case.get("friction_law", "abs"),
    }
    return systems.SlidingMasses(surface(case["surface"]), case["m"], case["rods"], **{**chosen, **options})


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
    until = max([_last_time(case), *(sample["t"] for sample in samples)])
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
    times += [exact[key] for key in ("t_stop",) if key in exact]
    times += list(exact.get("h_sign_change_times", []))
    return max(times, default=0.0) * (1 + 1e-6) + (1e-6 if times else 0.0)


def _sample_checks(case: Case, samples: list[Case], run: Run) -> list[Check]:
    if not samples:
        return []
    times = np.array([sample["t"] for sample in samples])
    states = run.states(times)
    seen = jax.vmap(run.system.observe)(states)
    found = {key: np.asarray(seen[name]) for key, name in _SAMPLED.items()}
    found["acc"] = np.asarray(jax.vmap(lambda state: run.system.forces(state).acceleration)(states))
    found["E"] = found["K"] + found["V"]
    sizes = _sizes(case, samples)
    checks = []
    for row, sample in enumerate(samples):
        allowed = MOTION + _growth(case, sample["t"])
        for key, wanted in sample.items():
            if key in found:
                what = f"{_SAMPLED.get(key, key)} at t = {sample['t']:g}"
                checks.append(difference(what, found[key][row], wanted, allowed * sizes[key]))
    return checks


def _sizes(case: Case, samples: list[Case]) -> dict[str, float]:
    """How large each quantity is in this case; what is zero is compared with what it is made of."""

    def largest(*keys: str) -> float:
        values = [np.asarray(sample[key], float) for key in keys for sample in samples if key in sample]
        return max((float(np.max(np.abs(value[~np.isnan(value)]), initial=0.0)) for value in values), default=0.0)

    weight = max(case["m"]) * case["g"]
    length, speed = largest("pos", "lengths"), largest("vel")
    speed = speed or math.sqrt(case["g"] * length)
    force, energy = max(largest("h", "N"), weight), largest("K", "V")
    acceleration = max(largest("acc"), case["g"])
    sizes = {"pos": length, "vel": speed, "acc": acceleration, "h": force, "N": force, "lengths": length}
    return {**sizes, "K": energy, "V": energy, "E": energy, "Ecm": energy}


def _growth(case: Case, t: float) -> float:
    """What an unstable motion makes of the error of one step."""
    rate = case.get("instability", {}).get("growth_rate_per_s")
    return 0.0 if rate is None else STEP * math.exp(rate * t)


# ---- what a case knows exactly --------------------------------------------------------------------


def _exact_checks(case: Case, exact: Case, run: Run) -> list[Check]:
    checks = []
    size = _size(case)
    if "t_stop" in exact:
        stop = _rest_time(run)
        checks.append(difference("time of the stop", stop, exact["t_stop"], MOTION * exact["t_stop"]))
        if "q_stop" in exact:
            place = np.asarray(run.system.observe(run.end)["position"])[:, :2]
            checks.append(difference("place of the stop", place, pairs(exact["q_stop"]), MOTION * size))
        if "x_stop" in exact:
            place = np.asarray(run.system.observe(run.end)["position"])[:, 0]
            checks.append(difference("x of the stop", place, np.full(len(place), exact["x_stop"]), MOTION * size))
    for turn in exact.get("turning", [])[1:]:
        times = list(_mode_changes(run, "stop", 0))
        checks.append(_nearest(f"turning at t = {turn['t']:g}", times, turn["t"], MOTION * max(turn["t"], 1.0)))
    if "t_liftoff" in exact:
        checks += _lift_off_checks(case, exact)
    if "h_sign_change_times" in exact:
        found = _sign_changes(run)
        wanted = exact["h_sign_change_times"]
        checks.append(difference("times at which the rod force changes sign", found, wanted, MOTION * wanted[-1]))
    return checks


def _lift_off_checks(case: Case, exact: Case) -> list[Check]:
    until = exact["t_liftoff"] * (1 + 1e-3)
    run = motion(case, until, adhesion=False)
    times = [event.t for event in run.events if event.name == "lift_off"]
    checks = [_nearest("time of lift-off", times, exact["t_liftoff"], MOTION * exact["t_liftoff"])]
    if times and "x_liftoff" in exact:
        event = next(event for event in run.events if event.name == "lift_off")
        place = np.asarray(run.system.observe(event.before)["position"])[event.index, 0]
        checks.append(difference("place of lift-off", place, exact["x_liftoff"], MOTION * _size(case)))
    return checks


def _sign_changes(run: Run) -> np.ndarray:
    """Times at which the force of the first rod passes through zero."""
    from scipy.optimize import brentq

    force = jax.jit(lambda state: run.system.forces(state).rod_force[0])
    times = np.linspace(float(run.trajectory.start.t), float(run.end.t), 4001)
    values = np.asarray(jax.vmap(force)(run.states(times)))
    changes = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    return np.array([brentq(lambda t: float(force(run.at(t))), times[i], times[i + 1], xtol=1e-13) for i in changes])


def _size(case: Case) -> float:
    return max(float(np.abs(case["q0"]).max()), 1e-3)


# ---- events ---------------------------------------------------------------------------------------


def events(case: Case) -> list[Check]:
    """Stops and releases, and whether what should rest does."""
    expected = case.get("events", [])
    until = float(case.get("t_end", _last_time(case) or 10.0))
    run = motion(case, until)
    checks = [fact(f"runs to t = {until:g} ({run.outcome.name})", float(run.end.t) >= until)]
    if case.get("exact", {}).get("moves") is False:
        times = np.linspace(0.0, until, 11)
        place = np.asarray(jax.vmap(run.system.observe)(run.states(times))["position"])[..., :2]
        wanted = np.broadcast_to(pairs(case["q0"]), place.shape)
        checks.append(difference("positions of masses at rest", place, wanted, 0.0))
        checks.append(fact("no event at rest", not run.events))
    checks += _event_checks(case, expected, run)
    checks += _exact_checks(case, case.get("exact", {}), run)
    for kind in ("stop", "release"):
        wanted = [event for event in expected if event["kind"] in _KINDS and _KINDS[event["kind"]] == kind]
        if wanted:
            found = sum(len(_mode_changes(run, kind, mass)) for mass in range(len(case["m"])))
            checks.append(fact(f"{len(wanted)} x {kind}, found {found}", found == len(wanted)))
    return checks


# Kind of event in a reference file: ours.
_KINDS = {
    "stop": "stop",
    "stick": "stop",
    "release": "release",
    "slip": "release",
    "torn loose": "release",
    "N changes sign to -": "pull",
    "N changes sign to +": "press",
    "lift-off": "lift_off",
    "liftoff": "lift_off",
    "lift_off": "lift_off",
    "landing": "landing",
}


def _event_checks(case: Case, expected: list[Case], run: Run) -> list[Check]:
    """Time, place and forces of each expected event."""
    checks = []
    size = _size(case)
    for event in expected:
        kind = _KINDS.get(event["kind"])
        what = f"{event['kind']} of mass {event['mass']} at t = {event['t']:g}"
        if kind is None:
            checks.append(fact(f"{what}: the kind is not known", False))
            continue
        changes = _mode_changes(run, kind, event["mass"])
        allowed = (MOTION + _growth(case, event["t"])) * max(event["t"], 1e-3)
        checks.append(_nearest(what, list(changes), event["t"], allowed))
        if not checks[-1].ok:
            continue
        happened = changes[min(changes, key=lambda t: abs(t - event["t"]))]
        if "q" in event:
            place = np.asarray(run.system.observe(happened.after)["position"])[:, :2]
            checks.append(difference(f"positions at the {what}", place, pairs(event["q"]), MOTION * size))
        for key, name in (("h_before", "rod_force"), ("N_before", "normal_force")):
            if key in event:
                allowed = MOTION * max(case["m"]) * case["g"]
                found = _limit_before(run, happened, name)
                checks.append(difference(f"{name} before the {what}", found, event[key], allowed))
    return checks


def _limit_before(run: Run, event: Event, name: str) -> np.ndarray:
    """What a quantity tends to before an event.

    A stop is recorded a moment early, at a speed just above zero, and forces approach their limit as a power
    of the time left, because the direction of motion still turns: three instants give the limit (Aitken).
    """
    end, early = float(event.after.t), float(event.after.t) - float(event.before.t)
    if early <= 0.0:
        return np.asarray(run.system.observe(event.before)[name])
    near, middle, far = (
        np.asarray(run.system.observe(run.at(end - factor * early, side="before"))[name])
        for factor in (5.0, 10.0, 20.0)
    )
    bend = far - 2.0 * middle + near
    straight = np.abs(bend) <= 1e-14 * np.abs(near)
    return np.where(straight, near, near - (middle - near) ** 2 / np.where(straight, 1.0, bend))


def _mode_changes(run: Run, kind: str, mass: int) -> dict[float, Event]:
    """Times at which a mass stops, is released, and so on, and the events.

    Masses that stop together share one event; a mass may stop and set off again at once.
    """
    held = run.system.mode_names.index("stick")
    found = {}
    for event in run.events:
        was, now = (int(state.mode[mass]) == held for state in (event.before, event.after))
        changed = {"stop": not was and now, "release": was and not now}.get(kind, False)
        if changed or (event.name == kind and event.index == mass):
            found[float(event.after.t)] = event
    return found


def _rest_time(run: Run) -> float:
    """Time of the event after which every mass is held; NaN if there is none."""
    held = run.system.mode_names.index("stick")
    if not (np.asarray(run.end.mode) == held).all():
        return math.nan
    return float(run.events[-1].after.t) if run.events else float(run.trajectory.start.t)


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
        state = moving.state(pairs(one["q"]), pairs(one["v"]))
        now = moving.forces(state)
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
        moving = system({"surface": case["surface"], "rods": case.get("rods", [[0, 1]]), **one})
        found = float(moving.denominator(moving.state(pairs(one["q"]), pairs(one["v"]))))
        size = sum(abs(term) for term in one["terms"])
        checks.append(difference(f"D of state {index}", found, one["D"], INSTANT * size))
        checks.append(fact(f"state {index} is{'' if one['well_posed'] else ' not'} well posed",
                           (found > 0) == one["well_posed"]))  # fmt: skip
    return checks


GROUPS = {"trajectory": trajectory, "events": events, "instants": instants, "illposed": illposed}
