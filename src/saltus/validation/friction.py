"""Reference cases of combined friction: the law, the ball on a plane and on rails, the Butterfly.

Each case states its own accuracy, which is the tolerance: absolute, relative to each value, or relative to the
largest value of the trajectory. Nearly all of the time goes into compilation, so what differs in numbers only shares
one program: balls are built alike, and motions are run from one wanted time to the next.
"""

from __future__ import annotations

import math
import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from saltus import shapes, systems
from saltus.hybrid import State
from saltus.laws import friction
from saltus.simulation import Run, Tolerances, observe, simulate
from saltus.systems.ball_on_rails import critical_slope, forces, rolling_limit, terminal_creep
from saltus.systems.butterfly import circle_lift_off
from saltus.validation.check import Check, difference, fact

Case = dict[str, Any]

TIGHT: Tolerances = {"rtol": 1e-13, "atol": 1e-15}
CAPTURE = 1e-12  # as tight as the runs
STICKY = 1e15  # friction of a ball that rolls until its load has vanished altogether


def accuracy(case: Case) -> float:
    """The first number of the stated accuracy."""
    stated = re.search(r"\d+(\.\d+)?e-?\d+", case["accuracy"])
    if stated is None:
        raise ValueError(f"A reference case states no accuracy such as 1e-12, only {case['accuracy']!r}.")
    return float(stated.group())


def _relative(what: str, found, wanted, tolerance: float) -> Check:
    """Distance over the largest reference value of this quantity."""
    wanted = np.asarray(wanted, float)
    return difference(what, found, wanted, tolerance * max(float(np.max(np.abs(wanted))), 1e-300))


def _all_relative(case: Case, found: dict[str, Any]) -> list[Check]:
    """Every expected number, relative to itself; a zero is compared with the largest of all."""
    expected = {key: value for key, value in case["expected"].items() if not isinstance(value, bool)}
    size = max(float(np.max(np.abs(value))) for value in expected.values())
    checks = []
    for key, wanted in expected.items():
        own = float(np.max(np.abs(wanted)))
        checks.append(difference(key, found[key], wanted, accuracy(case) * (own or size)))
    return checks


def _law(given: Case) -> friction.AbstractSpotLaw:
    """The law of a case; a case without one is a point contact, for which the pressure does not matter."""
    kinds = {"exact": friction.Combined, "pade": friction.Pade}
    return kinds[given.get("model", "exact")](
        given["f"],
        given.get("R", 0.0),
        given.get("law", "hertz"),
        sliding_shift=given.get("ks", 0.0),
        rolling_shift=given.get("kr", 0.0),
    )


def _point_or_spot(given: Case) -> friction.AbstractFrictionLaw:
    """The law of a motion; every point contact by the same law."""
    return _law(given) if given.get("R", 0.0) else friction.Coulomb(given["f"])


@eqx.filter_jit
def _now(system, state: State):
    """Contacts, results and rate of a state."""
    return system.contacts(state), observe(system, state), system.rate(state)


def _states(system, start: State, times) -> list[State]:
    """The states at these times, run from one to the next."""
    states = [start]
    for t in times:
        states.append(simulate(system, states[-1], t, **TIGHT).end if t > float(states[-1].t) else states[-1])
    return states[1:]


# ---- the law --------------------------------------------------------------------------------------------


_spot_functions = eqx.filter_jit(friction.spot_functions)


@eqx.filter_jit
def _reaction(law, slip, spin, load, shift):
    return law.reaction_with_shift(slip, spin, load, shift)


def functions(case: Case) -> list[Check]:
    """The five exact functions at one ratio."""
    given = case["input"]
    pressure = friction.pressure_of(given.get("law", given.get("gamma")))
    found = _spot_functions(np.asarray(float(given["s"])), pressure)._asdict()
    return [difference(key, found[key], wanted, accuracy(case)) for key, wanted in case["expected"].items()]


def _one_contact(case: Case, law: friction.AbstractSpotLaw, slip, shift) -> tuple[np.ndarray, float]:
    given = case["input"]
    motion = (np.asarray(x, float) for x in (slip, given["omega"], given["N"], shift))
    force, torque = _reaction(law, *motion)
    return np.asarray(force), float(torque)


def contact_dimensional(case: Case) -> list[Check]:
    """Force along and across the slip, and torque."""
    given = case["input"]
    force, torque = _one_contact(case, _law(given), [given["v"], 0.0], [given["kx"], given["ky"]])
    return _all_relative(case, {"F_par": -force[0], "F_perp": -force[1], "M_C": -torque})


def contact_vector(case: Case) -> list[Check]:
    """Force vector and torque on the ball."""
    given = case["input"]
    force, torque = _one_contact(case, _law(given), given["v"], given["k"])
    return _all_relative(case, {"F": force, "M": torque})


def pade_coefficients(case: Case) -> list[Check]:
    """The coefficients of the paper's model."""
    given = case["input"]
    law = friction.Pade(given["f"], given["R"], given["law"])
    return _all_relative(case, law.coefficients(float(given["N"]), given["kx"])._asdict())


def pade_values(case: Case) -> list[Check]:
    """The paper's model."""
    given = case["input"]
    law = friction.Pade(given["f"], given["R"], given["law"])
    force, torque = _one_contact(case, law, [given["v"], 0.0], [given["kx"], 0.0])
    return _all_relative(case, {"F_par": -force[0], "F_perp": -force[1], "M_C": -torque})


def pade_max_error(case: Case) -> list[Check]:
    """Largest error of the paper's model, where it is, and its sign."""
    given, expected = case["input"], case["expected"]
    found = friction.maximal_errors(friction.Pade(1.0, 1.0, given["law"]))[given["quantity"]]
    return [
        difference("max_abs_error", found.error, expected["max_abs_error"], 1e-8),
        difference("at_s", found.ratio, expected["at_s"], 1e-4),
        difference("sign", found.sign, expected["sign"], 0.0),
    ]


# ---- the ball on rails ----------------------------------------------------------------------------------


def _rails(given: Case, law=None, **changes) -> systems.BallOnRails:
    options = {"slope": given.get("beta", 0.0), "gravity": given.get("g", 1.0), "capture": CAPTURE, **changes}
    options["secure"] = False
    return systems.BallOnRails(
        given.get("M", 1.0), given.get("Rb", 1.0), given["alpha"], _law(given) if law is None else law, **options
    )


@eqx.filter_jit
def _sliding_contacts(ball: systems.BallOnRails, velocity):
    """Loads, friction, accelerations and power of a ball that slides on both rails."""
    now = forces.contacts_under(ball, forces.place_contacts(ball, jnp.zeros(()), velocity), velocity)
    return now, now.power


def rails_state(case: Case) -> list[Check]:
    """Loads, slips, spins and accelerations of one state."""
    given, expected = case["input"], case["expected"]
    ball = _rails(given)
    velocity = forces.RailMotion(
        *(jnp.asarray(x, float) for x in (given["state"]["xdot"], 0.0, given["state"]["Omega"]))
    )
    now, power = _sliding_contacts(ball, velocity)
    found = {
        "N1": now.loads.load[0],
        "N2": now.loads.load[1],
        "slip1": now.motion.slip[0],
        "slip2": now.motion.slip[1],
        "spin1": now.motion.spin[0],
        "spin2": now.motion.spin[1],
        "xddot": now.acceleration.along,
        "Omegadot": now.acceleration.turning,
        "dissipated_power": power,
    }
    kept = bool((np.asarray(now.loads.load) > 0).all() and float(now.loads.determinant) > 0)
    return [*_all_relative(case, found), fact("contact kept", kept == expected["contact_kept"])]


def _plane_or_rails(given: Case, law, velocity: float, angular_velocity) -> tuple[Any, State]:
    """A ball on rails, or on a plane for half_angle = 0, moving along x."""
    if given["alpha"] == 0.0:
        ball = systems.BallOnPlane(1.0, given["Rb"], law, gravity=given["g"], capture=CAPTURE)
        return ball, ball.start([velocity, 0.0], angular_velocity)
    ball = _rails(given, law)
    return ball, ball.start(velocity, angular_velocity)


def _about_y(state: State) -> float:
    return float(state.v[3])


def slip_to_roll(case: Case) -> list[Check]:
    """When a sliding ball begins to roll, and how fast."""
    given, expected = case["input"], case["expected"]
    law = friction.Coulomb(given["f"])
    ball, start = _plane_or_rails(given, law, given["v0"], [0.0, given["Oy0"], 0.0])
    run = simulate(ball, start, 2 * expected["t_roll"], **TIGHT)
    if not run.events:
        return [fact("begins to roll", False)]
    end = run.end
    found = {"t_roll": float(run.events[-1].after.t), "v_final": float(end.v[0]), "Oy_final": _about_y(end)}
    return _all_relative(case, found)


def point_contact_events(case: Case) -> list[Check]:
    """Stick and slip of the two rails, phase after phase."""
    given, phases = case["input"], case["expected"]["phases"]
    ball = _rails(given, friction.Coulomb(given["f"]))
    start = ball.start(given["v0"], [0.0, given["Oy0"], given["Oz0"]], given["x0"])
    run = simulate(ball, start, given["t_end"], **TIGHT)
    states = [run.trajectory.start, *(event.after for event in run.events), run.end]
    checks = [fact(f"{len(phases)} phases, found {len(states)}", len(states) == len(phases))]
    sizes = {key: max(abs(phase[key]) for phase in phases) or 1.0 for key in phases[0]}
    for index, (phase, state) in enumerate(zip(phases, states, strict=False)):
        now = _now(ball, state)[0]
        slip, along = now.motion.slip[:, 0], now.reaction.force[:, 0] / (ball.mass * ball.gravity)
        found = {"t": state.t, "x": state.q[0], "xdot": state.v[0], "Oy": state.v[3], "Oz": state.v[4]}
        found |= {"slip1": slip[0], "slip2": slip[1], "L1_over_Mg": along[0], "L2_over_Mg": along[1]}
        checks += [
            difference(f"{key} of phase {index}", found[key], wanted, accuracy(case) * sizes[key])
            for key, wanted in phase.items()
        ]
    return checks


def roll_stick_limit(case: Case) -> list[Check]:
    """The steepest slope on which a ball rolls, and its acceleration there."""
    given = case["input"]
    steepest, share = rolling_limit(given["f"], given["alpha"])
    return _all_relative(case, {"tan_beta_max": steepest, "accel_over_g_sin_beta": share})


def _stop_time(run: Run) -> float:
    """Time at which everything has come to rest; NaN if it has not."""
    if not run.events or np.any(np.asarray(run.end.v)):
        return math.nan
    return float(run.events[-1].after.t)


def pivot_spin_down(case: Case) -> list[Check]:
    """How long a ball spins in place."""
    given, expected = case["input"], case["expected"]
    ball, start = _plane_or_rails(given, _law(given), 0.0, [0.0, 0.0, given["Oz0"]])
    return _all_relative(case, {"t_stop": _stop_time(simulate(ball, start, 2 * expected["t_stop"], **TIGHT))})


def groove_spin_down(case: Case) -> list[Check]:
    """How long a ball spins about the direction of the rails, and the loads."""
    given, expected = case["input"], case["expected"]
    ball = _rails(given, friction.Combined(given["f"], 0.05 * given["Rb"]))
    run = simulate(ball, ball.start(0.0, [given["Ox0"], 0.0, 0.0]), 2 * expected["t_stop"], **TIGHT)
    load = np.asarray(_now(ball, run.trajectory.start)[0].loads.load) / given["g"]
    return _all_relative(case, {"t_stop": _stop_time(run), "N1_over_Mg": load[0], "N2_over_Mg": load[1]})


def terminal_ratio(case: Case) -> list[Check]:
    """Slip over rim speed and acceleration of the creep, on the level and on a slope."""
    given, expected = case["input"], case["expected"]
    slope = math.atan(given.get("tan_beta", 0.0))
    mu = given.get("f", 1.0)
    ball = _rails(given, friction.Combined(mu, given["eps"], given["law"]), slope=slope)
    ratio, gain = terminal_creep(ball)
    found = {"v_over_u": float(ratio), "decel_over_fg": -float(gain) / mu, "xddot_over_g": float(gain)}
    return _all_relative(case, {key: found[key] for key in expected})


def slope_of_rest(case: Case) -> list[Check]:
    """The steepest slope of rest, and the ratio of rim speed to slip at its onset."""
    given = case["input"]
    law = friction.Combined(given["f"], given["eps"], given["law"], rolling_shift=given["kr"])
    steepest, ratio = critical_slope(_rails(given, law))
    return _all_relative(case, {"tan_beta": float(steepest), "s": float(ratio)})


def symmetric_stop(case: Case) -> list[Check]:
    """When and where a sliding ball comes to rest, and the creep on its way there."""
    given, expected = case["input"], case["expected"]
    law = friction.Combined(given["f"], given["eps"] * given["Rb"], given["law"])
    ball = _rails(given, law)
    run = simulate(ball, ball.start(given["v0"], [0.0, given["Oy0"], 0.0]), 1.1 * expected["t_stop"], **TIGHT)
    ratio, gain = terminal_creep(ball)
    found = {"t_stop": _stop_time(run), "x_stop": float(run.end.q[0]), "z_term": float(ratio), "a_term": float(gain)}
    return _all_relative(case, found)


def trajectory_rails(case: Case) -> list[Check]:
    """A motion on rails at given times, with loads and energy."""
    given, expected = case["input"], case["expected"]
    ball, y = _rails(given, _point_or_spot(given)), given["y0"]
    states = _states(ball, ball.start(y[1], y[2:], y[0]), expected["t"])
    seen = [jax.device_get(_now(ball, state)[1]) for state in states]
    motion = [[float(state.q[0]), *np.asarray(state.v)[[0, 2, 3, 4]]] for state in states]
    tolerance = accuracy(case)
    return [
        _relative("state", motion, expected["y"], tolerance),
        _relative("normal forces", [x["normal_force"] for x in seen], expected["N"], tolerance),
        _relative("energy", [x["kinetic_energy"] + x["potential_energy"] for x in seen], expected["energy"], tolerance),
    ]


def rail_contact_lost(case: Case) -> list[Check]:
    """When a rail is lost, which one, and in which state."""
    given, expected = case["input"], case["expected"]
    ball, y = _rails(given, _point_or_spot(given)), given["y0"]
    run = simulate(ball, ball.start(y[1], y[2:], y[0]), 1.001 * expected["t_lost"], **TIGHT)
    lost = [event for event in run.events if event.name == "rail_lost"]
    if not lost:
        return [fact("a rail is lost", False)]
    before = lost[0].before
    found = {
        "t_lost": lost[0].t,
        "rail": lost[0].index + 1,
        "y": [float(before.q[0]), *np.asarray(before.v)[[0, 2, 3, 4]]],
        "N_other": float(_now(ball, before)[0].loads.load[1 - lost[0].index]),
    }
    return _all_relative(case, found)


# ---- the ball on a plane --------------------------------------------------------------------------------


def plane_point_contact(case: Case) -> list[Check]:
    """When a ball on a plane begins to roll, and its velocity then."""
    given, expected = case["input"], case["expected"]
    ball = systems.BallOnPlane(1.0, given["Rb"], friction.Coulomb(given["f"]), gravity=given["g"])
    run = simulate(ball, ball.start(given["v"], given["O"]), 2 * expected["t_roll"], **TIGHT)
    if not run.events:
        return [fact("begins to roll", False)]
    return _all_relative(case, {"t_roll": float(run.events[0].after.t), "v_final": np.asarray(run.end.v)[:2]})


def trajectory_plane(case: Case) -> list[Check]:
    """A motion on a plane at given times."""
    given, expected = case["input"], case["expected"]
    ball = systems.BallOnPlane(given["M"], given["Rb"], _law(given), gravity=given["g"], capture=CAPTURE)
    y = given["y0"]
    states = _states(ball, ball.start(y[2:4], y[4:], y[:2]), expected["t"])
    motion = [[*np.asarray(state.q)[:2], *np.asarray(state.v)] for state in states]
    return [_relative("state", motion, expected["y"], accuracy(case))]


# ---- the Butterfly --------------------------------------------------------------------------------------


def _butterfly(given: Case, law: friction.AbstractFrictionLaw) -> systems.Butterfly:
    profile, theta = given["profile"], given["theta"]
    turning = systems.Turning(theta["theta0"], theta["rate"], theta["A"], theta["W"])
    outline = shapes.ButterflyProfile(profile["a"], profile["b"])
    return systems.Butterfly(given["M"], given["Rb"], given["alpha"], outline, turning, law, given["g"])


def butterfly_state(case: Case) -> list[Check]:
    """Geometry, load and accelerations of one state."""
    given, expected = case["input"], case["expected"]
    ball = _butterfly(given, _law(given))
    state = ball.state(given["phi"], given["w"], given["Oy"], given["t"])
    now, _, rate = _now(ball, state)
    found = {
        "curvature_profile": now.track.outline.curvature,
        "curvature_centre": now.track.curvature,
        "dsigma_dphi": now.track.arc,
        "c_t": now.track.along,
        "c_n": now.track.outward,
        "normal_load_over_M": now.demand.load,
        "wdot": now.gain.speed,
        "Oydot": now.gain.turning,
        "phidot": rate.q.angle,
    }
    lifted = bool(now.demand.load <= 0.0)
    return [*_all_relative(case, found), fact("lifted", lifted == expected["lifted"])]


def trajectory_butterfly_roll(case: Case) -> list[Check]:
    """Rolling without slip at given times, with the load and the friction it needs."""
    given, expected = case["input"], case["expected"]
    ball = _butterfly(given, friction.Coulomb(given["f"]))
    states = _states(ball, ball.start(*given["y0"]), expected["t"])
    seen = [_now(ball, state)[1] for state in states]
    motion = [[float(state.q[0]), float(state.v[0])] for state in states]
    tolerance = accuracy(case)
    return [
        _relative("state", motion, expected["y"], tolerance),
        _relative("load", [float(x["normal_force"][0]) for x in seen], expected["N_per_contact"], tolerance),
        _relative("friction", [float(x["required_friction"]) for x in seen], expected["required_friction"], tolerance),
    ]


def trajectory_butterfly_slip(case: Case) -> list[Check]:
    """Slipping with combined friction at given times."""
    given, expected = case["input"], case["expected"]
    ball = _butterfly(given, _law(given))
    states = _states(ball, ball.start(*given["y0"]), expected["t"])
    motion = [[*np.asarray(state.q), *np.asarray(state.v)] for state in states]
    load = [float(_now(ball, state)[0].demand.load) for state in states]
    tolerance = accuracy(case)
    return [
        _relative("state", motion, expected["y"], tolerance),
        _relative("load over mass", load, expected["normal_load_over_M"], tolerance),
    ]


def lift_off_circle(case: Case) -> list[Check]:
    """Where a ball that rolls down a circle lifts off."""
    return _all_relative(case, {"cos_psi": circle_lift_off(case["input"]["alpha"])})


def butterfly_lift_off(case: Case) -> list[Check]:
    """When and where a ball that rolls to the very end lifts off.

    With the finite friction of the case it would slip just before its load vanishes; the reference rolls on.
    """
    given, expected = case["input"], case["expected"]
    ball = _butterfly(given, friction.Coulomb(STICKY))
    run = simulate(ball, ball.start(*given["y0"]), 2 * expected["t"], **TIGHT)
    if run.outcome.name != "left_domain":
        return [fact("lifts off", False)]
    return _all_relative(case, {"t": float(run.end.t), "phi": float(run.end.q[0]), "w": float(run.end.v[0])})


GROUPS = {
    "exact_functions": functions,
    "exact_functions_other_exponent": functions,
    "contact_dimensional": contact_dimensional,
    "contact_vector": contact_vector,
    "pade_coefficients": pade_coefficients,
    "pade_values": pade_values,
    "pade_max_error": pade_max_error,
    "rails_state": rails_state,
    "slip_to_roll_point_contact": slip_to_roll,
    "point_contact_events": point_contact_events,
    "roll_stick_limit_point_contact": roll_stick_limit,
    "pivot_spin_down": pivot_spin_down,
    "groove_spin_down": groove_spin_down,
    "terminal_ratio": terminal_ratio,
    "terminal_ratio_incline": terminal_ratio,
    "critical_slope": slope_of_rest,
    "symmetric_stop": symmetric_stop,
    "trajectory_rails": trajectory_rails,
    "rail_contact_lost": rail_contact_lost,
    "plane_point_contact": plane_point_contact,
    "trajectory_plane": trajectory_plane,
    "butterfly_state": butterfly_state,
    "trajectory_butterfly_roll": trajectory_butterfly_roll,
    "trajectory_butterfly_slip": trajectory_butterfly_slip,
    "lift_off_circle": lift_off_circle,
    "butterfly_lift_off": butterfly_lift_off,
}
