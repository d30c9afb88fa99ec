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
from saltus.laws.impact.engagement import ENGAGEMENTS
from saltus.simulation import Run, observe, simulate
from saltus.validation.check import Check, difference, fact

ULP = float(np.finfo(float).eps)
ROUNDING = 8 * ULP
EXACT = 1e-13  # for closed forms, relative
RTOL = 1e-15  # the step that rounding allows: truncation stays below it
LOOKS = 4  # samples per step of the run when minima are searched
REFINED = 33  # samples around each minimum, twice
MISSED = {"Te_min": 1e-6, "T_min": 1e-6, "theta_min": 0.05, "y_min": 1e-3}  # by samples, of a quantity's range

Case = dict[str, Any]


def chain(parameters: Case) -> systems.Chain:
    """The chain of a case; it ends its run as the last particle leaves the table."""
    given = parameters.get("chain", {})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*creates energy.*")
        return systems.Chain(
            parameters["n"],
            mass=given.get("m", 1.0),
            length=given.get("l", 1.0),
            gravity=given.get("g", 1.0),
            table_friction=given.get("mu", 0.0),
            edge_friction=given.get("mu_edge", 0.0),
            engagement=parameters.get("law", "limit"),
            ends_off_table=True,
        )


def slide(parameters: Case, until: float = math.inf) -> Run:
    """The run of a case from rest, as exactly as double precision allows."""
    moving = chain(parameters)
    start = moving.start(edge=(parameters["X0"], parameters["Y0"]), hanging=parameters["k0"])
    return simulate(moving, start, until, rtol=RTOL, atol=1e-17)


@eqx.filter_jit
def _balance(moving: systems.Chain, state: State):
    return moving.balance(state)


def crossings(run: Run) -> list[Event]:
    """The events at which a particle leaves the table."""
    return [event for event in run.events if event.name in ("crossing", "exit")]


# ---- single answers -------------------------------------------------------------------------------


def closed_form(case: Case) -> list[Check]:
    """A particle that hangs straight down: time and speed of the first crossing, and what follows."""
    run, values = slide(case["params"]), case["values"]
    first = crossings(run)[0]
    seen = observe(run.system, first.after)
    found = {
        "t_first": first.t,
        "V_first": first.data["table_speed"],
        "v1_after": seen["velocity"][0],
        "v2_after": seen["velocity"][1],
        "dE": first.data["energy_loss"],
        "dphi_after": first.after.v[0],
    }
    return [difference(key, found[key], wanted, EXACT * max(1.0, _size(wanted))) for key, wanted in values.items()]


def rhs(case: Case) -> list[Check]:
    """Accelerations, tensions, edge force and energy of a given state."""
    parameters, values, k = case["params"], case["values"], case["params"]["k"]
    moving = chain(parameters)
    q, v = np.asarray(parameters["q"]), np.asarray(parameters["v"])
    state = moving.state_of(q[:k], q[k:], v[:k], v[k:])
    now, seen = _balance(moving, state), observe(moving, state)
    rate = np.asarray(moving.rate(state).v)
    n = moving.n_links
    found = {
        "acc": np.concatenate([rate[:k], rate[n : n + 2]]),
        "T": now.tension[:k],
        "Te": now.tension[k],
        "edge_force_on_link": seen["edge_force"],
        "E": seen["kinetic_energy"] + seen["potential_energy"],
        "table_speed": seen["table_speed"],
    }
    allowed = float(case["accuracy"]["T"])
    return [difference(key, found[key], wanted, allowed * max(1.0, _size(wanted))) for key, wanted in values.items()]


def jerk(case: Case) -> list[Check]:
    """The scaled jump of each law."""
    phi, mt, a = (case["params"][key] for key in ("phi", "mt", "a"))
    checks = []
    for law, wanted in case["values"].items():
        jump = ENGAGEMENTS[law]()(phi, mt, a)
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
    last = parameters["k"] + 1 == parameters["n"]
    after = moving.jump(before, "exit" if last else "crossing", jnp.asarray(0))
    told = moving.event_data("crossing", 0, before, after)
    found = {
        "v": observe(moving, after)["velocity"][: parameters["k"] + 2],
        "J": told["impulse"],
        "a": told["response"],
        "phi": told["angle"],
        "V": told["table_speed"],
        "dE": told["energy_loss"],
    }
    allowed = float(case["accuracy"]["all"])
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
    found = {key: [event.data[name] for event in crossed] for key, name in _TOLD.items()}
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
    seen = observe(went.system, after)
    position, velocity = np.asarray(seen["position"]), np.asarray(seen["velocity"])
    mass = np.asarray(went.system.mass)
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
    states = went.states(times) if len(times) else None
    for row, t in enumerate(times):
        state = jax.tree.map(lambda x, row=row: x[row], states)
        seen, tension = observe(went.system, state), np.asarray(_balance(went.system, state).tension)
        k = values["snap_k"][row]
        checks.append(fact(f"{k} links hang at t = {t:g}", int(state.mode[0]) == k))
        found = {
            "snap_p": seen["position"][: k + 1],
            "snap_v": seen["velocity"][: k + 1],
            "snap_T": tension[:k],
            "snap_Te": tension[k],
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
    seen = observe(went.system, flown.end)
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


def _looked_at(went: Run, times: np.ndarray) -> dict[str, np.ndarray]:
    """`_extremes` at these times; padded to a power of two, so that few sizes are compiled."""
    size = max(256, 1 << (len(times) - 1).bit_length())
    padded = np.concatenate([times, np.full(size - len(times), times[-1])])
    found = _extremes(went.system, went.states(padded))
    return {key: np.asarray(value)[: len(times)] for key, value in found.items()}


def _minima(went: Run, crossed: list[Event], values: Case, allowed: Case) -> list[Check]:
    knots = np.unique(np.asarray(went.trajectory.knots.t))
    steps = np.arange(LOOKS) / LOOKS
    times = np.append((knots[:-1, None] + np.diff(knots)[:, None] * steps).ravel(), knots[-1])
    bounds = [float(went.trajectory.start.t), *(event.t for event in crossed)]
    phases = [times[(times >= begin) & (times < end)] for begin, end in itertools.pairwise(bounds)]
    at_ends = _extremes(went.system, jax.tree.map(lambda *x: jnp.stack(x), *(event.before for event in crossed)))
    seen = _looked_at(went, np.concatenate(phases))
    edges = np.cumsum([0, *(len(phase) for phase in phases)])
    per_phase = [{key: value[i:j] for key, value in seen.items()} for i, j in itertools.pairwise(edges)]
    checks = []
    for key, ends in at_ends.items():
        samples = [phase[key] for phase in per_phase]
        lowest = np.minimum(_refined(went, key, phases, samples), np.asarray(ends))
        lowest = np.where(np.isfinite(lowest), lowest, np.nan)
        span = np.array([np.ptp(sample) if np.isfinite(sample).all() else 0.0 for sample in samples])
        if key == "y_min":
            lowest, span = lowest.min(), span.max()
        checks.append(_minimum(key, lowest, values[key], float(allowed[key]), MISSED[key] * span))
    return checks


def _minimum(key: str, found: Any, wanted: Any, tolerance: float, missed: Any) -> Check:
    """A minimum against the lowest of some samples, which may have missed it."""
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    if found.shape != wanted.shape or (np.isnan(found) != np.isnan(wanted)).any():
        return difference(key, found, wanted, tolerance)
    above = found - wanted
    error = np.where(above > 0.0, above, np.maximum(-above - missed, 0.0))
    return Check(key, float(np.nanmax(error, initial=0.0)), tolerance)


def _refined(went: Run, key: str, times: list[np.ndarray], values: list[np.ndarray]) -> np.ndarray:
    """The minimum of each phase, looked at again around the lowest sample."""
    lowest = np.array([value.min() for value in values])
    for _ in range(2):
        around = []
        for t, value in zip(times, values, strict=True):
            i = int(np.argmin(value))
            around.append(np.linspace(t[max(i - 1, 0)], t[min(i + 1, len(t) - 1)], REFINED))
        seen = _looked_at(went, np.concatenate(around))[key].reshape(len(around), REFINED)
        times, values = around, list(seen)
        lowest = np.minimum(lowest, seen.min(axis=1))
    return lowest


GROUPS = {"closed_form": closed_form, "rhs": rhs, "jerk": jerk, "crossing": crossing, "run": run}
