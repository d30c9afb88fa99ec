"""Reference cases of the chain that slides off a table.

Tolerances are those that a case states. Its jerks are stated to 1e-15, which is finer than the rounding of some of the
numbers in the file: eight units in the last place are allowed for every number, and for energies, which the references
take as differences of energies of the table part, as many units of those. Minima are searched to the end here; the
references have the lowest of their samples, so that ours may be a little lower, but not higher.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus import systems
from saltus.hybrid import Event, State
from saltus.laws.impact.engagement import ChosenEngagement, Engagement
from saltus.simulation import Run, simulate
from saltus.systems.chain.results import crossing_data
from saltus.validation.check import Check, difference, fact

ULP = float(np.finfo(float).eps)
ROUNDING = 8 * ULP
EXACT = 1e-13  # for closed forms, relative
RTOL = 4e-16  # the step that rounding allows: truncation stays below it; errors are averaged over all of the room
ROOM = 40  # links that a chain has room for, or a multiple of that
LOOKS = 2  # samples per step of the run when minima are searched
PORTIONS = (256, 1024)  # states that are looked at by one call
REFINED, ROUNDS = 9, 3  # samples around each minimum, so many times
MISSED = {"Te_min": 1e-6, "T_min": 1e-6, "theta_min": 0.05, "y_min": 1e-3}  # by samples, of a quantity's range

Case = dict[str, Any]


def chain(parameters: Case) -> systems.Chain:
    """The chain of a case; it ends its run as the last particle leaves the table.

    Chains of all lengths and laws are built alike, so that they share what is compiled.
    """
    given, links = parameters.get("chain", {}), parameters["n"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*creates energy.*")
        return systems.Chain(
            links,
            mass=given.get("m", 1.0),
            length=given.get("l", 1.0),
            gravity=given.get("g", 1.0),
            table_friction=given.get("mu", 0.0),
            edge_friction=given.get("mu_edge", 0.0),
            engagement=ChosenEngagement(parameters.get("law", "limit")),
            ends_off_table=True,
            room=-(-links // ROOM) * ROOM,
        )


def slide(parameters: Case, until: float = math.inf) -> Run:
    """The run of a case from rest, as exactly as double precision allows."""
    moving = chain(parameters)
    start = moving.start(edge=(parameters["X0"], parameters["Y0"]), hanging=parameters["k0"])
    return simulate(moving, start, until, rtol=RTOL, atol=1e-17)


@eqx.filter_jit
def _results(moving: systems.Chain, state: State) -> Case:
    now, rate = moving.balance(state), moving.rate(state)
    return moving.observe(state) | {"forces": now.tension, "acceleration": rate.v}


def instant(moving: systems.Chain, state: State) -> Case:
    """Results of one state down to the end of the chain; with the tensions of the hanging links and the edge link."""
    seen, links = jax.device_get(_results(moving, state)), int(moving.links)
    of_particles, of_links = ("position", "velocity"), ("tension", "link_length", "link_angle", "slack")
    ends = dict.fromkeys(of_particles, links + 1) | dict.fromkeys(of_links, links)
    return {name: value[: ends[name]] if name in ends else value for name, value in seen.items()}


@eqx.filter_jit
def _cross(moving: systems.Chain, state: State, last: bool) -> State:
    return moving.jump(state, "exit" if last else "crossing", jnp.asarray(0))


def crossings(run: Run) -> list[Event]:
    """The events at which a particle leaves the table."""
    return [event for event in run.events if event.name in ("crossing", "exit")]


# ---- single answers -------------------------------------------------------------------------------


def closed_form(case: Case) -> list[Check]:
    """A particle that hangs straight down: time and speed of the first crossing, and what follows."""
    run, values = slide(case["params"]), case["values"]
    first = crossings(run)[0]
    seen = instant(run.system, first.after)
    found = {
        "t_first": first.t,
        "V_first": first.data["table_speed"],
        "v1_after": seen["velocity"][0],
        "v2_after": seen["velocity"][1],
        "dE": first.data["energy_loss"],
        "dphi_after": first.after.v[0],
    }
    return _differences(found, values, EXACT)


def rhs(case: Case) -> list[Check]:
    """Accelerations, tensions, edge force and energy of a given state."""
    parameters, values, k = case["params"], case["values"], case["params"]["k"]
    moving = chain(parameters)
    q, v = np.asarray(parameters["q"]), np.asarray(parameters["v"])
    state = moving.state_of(q[:k], q[k:], v[:k], v[k:])
    seen, n = instant(moving, state), moving.n_links
    found = {
        "acc": np.concatenate([seen["acceleration"][:k], seen["acceleration"][n : n + 2]]),
        "T": seen["forces"][:k],
        "Te": seen["forces"][k],
        "edge_force_on_link": seen["edge_force"],
        "E": seen["kinetic_energy"] + seen["potential_energy"],
        "table_speed": seen["table_speed"],
    }
    return _differences(found, values, float(case["accuracy"]["T"]))


@jax.jit
def _jerk(law: ChosenEngagement, phi, mt, a) -> Engagement:
    return law(phi, mt, a)


def jerk(case: Case) -> list[Check]:
    """The scaled jump of each law."""
    phi, mt, a = (case["params"][key] for key in ("phi", "mt", "a"))
    checks = []
    for law, wanted in case["values"].items():
        jump = _jerk(ChosenEngagement(law), phi, mt, a)
        allowed = float(case["accuracy"][law])
        found = {"J": jump.impulse, "v": jump.velocity, "dE": jump.loss}
        for key, value in wanted.items():
            size = (1.0 + mt) if key == "dE" else 1.0
            tolerance = max(allowed, ROUNDING * max(size, _size(value)))
            checks.append(difference(f"{key} of the law {law}", found[key], value, tolerance))
    return checks


def crossing(case: Case) -> list[Check]:
    """The jump of a whole chain."""
    parameters, values = case["params"], case["values"]
    moving = chain(parameters)
    before = moving.state(parameters["p"], parameters["v"])
    after = _cross(moving, before, parameters["k"] + 1 == parameters["n"])
    told = crossing_data(moving, 0, before, after)
    found = {
        "v": instant(moving, after)["velocity"][: parameters["k"] + 2],
        "J": told["impulse"],
        "a": told["response"],
        "phi": told["angle"],
        "V": told["table_speed"],
        "dE": told["energy_loss"],
    }
    return _differences(found, values, float(case["accuracy"]["all"]))


def _differences(found: dict[str, Any], values: dict[str, Any], allowed: float) -> list[Check]:
    """Each value that is known against what was found, with an error relative to its size, or to 1 if it is smaller."""
    return [difference(key, found[key], wanted, allowed * max(1.0, _size(wanted))) for key, wanted in values.items()]


def _size(value: Any) -> float:
    return float(np.max(np.abs(np.asarray(value, float)), initial=0.0))


# ---- whole runs -----------------------------------------------------------------------------------

_TOLD = {"phi": "angle", "V": "table_speed", "J": "impulse", "v_after": "velocity_after", "dE": "energy_loss"}


def run(case: Case) -> list[Check]:
    """Every crossing, the state at the exit, snapshots, free flight and minima."""
    parameters, values, allowed = case["params"], case["values"], case["accuracy"]
    went = slide(parameters)
    crossed = crossings(went)
    right = fact(f"{len(values['t'])} crossings, found {len(crossed)}", len(crossed) == len(values["t"]))
    if not right.ok:
        return [right]
    found: Case = {key: [event.data[name] for event in crossed] for key, name in _TOLD.items()}
    found["t"] = [event.t for event in crossed]
    found["t_exit"] = crossed[-1].t
    found |= _at_exit(went, crossed[-1].after)
    checks = [right]
    checks += [
        difference(key, found[key], values[key], float(allowed.get(key, allowed["t"])))
        for key in found
        if key in values
    ]
    checks += _snapshots(went, values, allowed)
    if "free" in parameters:
        checks += _flight(went, parameters["free"], values, allowed)
    checks += _minima(went, crossed, values, allowed)
    return checks


def _at_exit(went: Run, after: State) -> Case:
    seen = instant(went.system, after)
    position, velocity = seen["position"], seen["velocity"]
    mass = np.asarray(went.system.mass)[: len(position)]
    place, speed = mass @ position / mass.sum(), mass @ velocity / mass.sum()
    arm, relative = position - place, velocity - speed
    return {
        "exit_p": position,
        "exit_v": velocity,
        "com": place,
        "com_v": speed,
        "L_com": mass @ (arm[:, 0] * relative[:, 1] - arm[:, 1] * relative[:, 0]),
        "E_exit": seen["kinetic_energy"] + seen["potential_energy"],
        "E_lost": seen["jerk_loss"],
    }


def _snapshots(went: Run, values: Case, allowed: Case) -> list[Check]:
    """States between crossings; the references have them in double precision, with as much error as they state."""
    checks = []
    times = values.get("snap_t", [])
    states = jax.device_get(went.states(times)) if len(times) else None
    for row, t in enumerate(times):
        state = jax.tree.map(lambda x, row=row: x[row], states)
        seen = instant(went.system, state)
        k = values["snap_k"][row]
        checks.append(fact(f"{k} links hang at t = {t:g}", int(state.mode[0]) == k))
        found = {
            "snap_p": seen["position"][: k + 1],
            "snap_v": seen["velocity"][: k + 1],
            "snap_T": seen["forces"][:k],
            "snap_Te": seen["forces"][k],
        }
        checks += [
            difference(f"{key} at t = {t:g}", found[key], values[key][row], 2 * float(allowed[key]))
            for key in found
            if key in allowed
        ]
    return checks


def _flight(went: Run, duration: float, values: Case, allowed: Case) -> list[Check]:
    """The free flight after the exit: the same system, which has nothing left to end it."""
    exit_time = float(went.end.t)
    flown = simulate(went.system, went.end, exit_time + duration, rtol=RTOL, atol=1e-17)
    seen = instant(went.system, flown.end)
    return [
        difference("free_p", seen["position"], values["free_p"], float(allowed["free_p"])),
        difference("free_v", seen["velocity"], values["free_v"], float(allowed["free_v"])),
    ]


# ---- minima ---------------------------------------------------------------------------------------


@jax.jit
def _extremes(system: systems.Chain, states: State) -> Case:
    """What has a minimum, for many states."""

    def one(state):
        now, seen = system.balance(state), system.observe(state)
        k = now.regime.hanging
        hanging = jnp.arange(system.n_links) < k
        off = jnp.arange(system.mass.size) <= k
        return {
            "Te_min": now.tension[k],
            "T_min": jnp.min(jnp.where(hanging, now.tension[:-1], jnp.inf)),
            "theta_min": now.edge.angle,
            "y_min": jnp.min(jnp.where(off, seen["position"][:, 1], jnp.inf)),
        }

    return jax.vmap(one)(states)


def _observe(system: systems.Chain, states: State) -> dict[str, np.ndarray]:
    """`_extremes` of stacked states, in portions of two sizes, so that little is compiled."""
    states = jax.device_get(states)
    count = len(states.t)
    portion = next(size for size in PORTIONS if count <= size or size == PORTIONS[-1])
    last = jax.tree.map(lambda x: np.repeat(x[-1:], -count % portion, axis=0), states)
    filled = jax.tree.map(lambda *x: np.concatenate(x), states, last)
    parts = [
        _extremes(system, jax.tree.map(lambda x, first=first: x[first : first + portion], filled))
        for first in range(0, count, portion)
    ]
    return {key: np.concatenate([part[key] for part in parts])[:count] for key in parts[0]}


def _minima(went: Run, crossed: list[Event], values: Case, allowed: Case) -> list[Check]:
    knots = np.unique(np.asarray(went.trajectory.knots.t))
    steps = np.arange(LOOKS) / LOOKS
    times = np.append((knots[:-1, None] + np.diff(knots)[:, None] * steps).ravel(), knots[-1])
    bounds = [float(went.trajectory.start.t), *(event.t for event in crossed)]
    phases = [times[(times >= begin) & (times < end)] for begin, end in itertools.pairwise(bounds)]
    seen = _observe(went.system, went.states(np.concatenate(phases)))
    ends = _observe(went.system, jax.tree.map(lambda *x: np.stack(x), *(event.before for event in crossed)))
    edges = np.cumsum([0, *(len(phase) for phase in phases)])
    samples = {key: [value[i:j] for i, j in itertools.pairwise(edges)] for key, value in seen.items()}
    lowest = _refine(went, phases, samples)
    checks = []
    for key in seen:
        found = np.minimum(lowest[key], ends[key])
        found = np.where(np.isfinite(found), found, np.nan)
        span = np.array([np.ptp(sample) if np.isfinite(sample).all() else 0.0 for sample in samples[key]])
        if key == "y_min":
            found, span = found.min(), span.max()
        checks.append(_minimum(key, found, values[key], float(allowed[key]), MISSED[key] * span))
    return checks


def _minimum(key: str, found: Any, wanted: Any, tolerance: float, missed: Any) -> Check:
    """A minimum against the lowest of some samples, which may have missed it."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    if found.shape != wanted.shape or (np.isnan(found) != np.isnan(wanted)).any():
        return difference(key, found, wanted, tolerance)
    above = found - wanted
    error = np.where(above > 0.0, above, np.maximum(-above - missed, 0.0))
    return Check(key, float(np.nanmax(error, initial=0.0)), tolerance)


def _refine(went: Run, phases: list[np.ndarray], samples: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """The minimum of each quantity in each phase, looked at again around the lowest sample."""
    times = {key: phases for key in samples}
    lowest = {key: np.array([value.min() for value in values]) for key, values in samples.items()}
    for _ in range(ROUNDS):
        times = {key: [_around(*x) for x in zip(times[key], samples[key], strict=True)] for key in samples}
        seen = _observe(went.system, went.states(np.concatenate([t for around in times.values() for t in around])))
        size = len(phases) * REFINED
        for place, key in enumerate(times):
            samples = samples | {key: list(seen[key][place * size : (place + 1) * size].reshape(-1, REFINED))}
            lowest[key] = np.minimum(lowest[key], [value.min() for value in samples[key]])
    return lowest


def _around(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Times between the neighbours of the lowest value, and where the parabola through the three is lowest."""
    i = min(max(int(np.argmin(values)), 1), len(times) - 2)
    (t0, t1, t2), (f0, f1, f2) = times[i - 1 : i + 2], values[i - 1 : i + 2]
    with np.errstate(invalid="ignore"):  # nothing hangs in the first phase: its least tension is infinite
        left, right = (t1 - t0) * (f1 - f2), (t1 - t2) * (f1 - f0)
        bend = left - right
    lowest = t1 - 0.5 * ((t1 - t0) * left - (t1 - t2) * right) / bend if np.isfinite(bend) and bend != 0.0 else t1
    even = np.linspace(t0, t2, REFINED - 1)
    return np.sort(np.append(even, np.clip(lowest, t0, t2)))


GROUPS = {"closed_form": closed_form, "rhs": rhs, "jerk": jerk, "crossing": crossing, "run": run}
