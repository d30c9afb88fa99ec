"""Reference cases of smooth convex rigid bodies: shapes, gaps, contacts, impacts and the paradox.

Every shape is built as a superellipsoid (exponents 2 for balls and ellipsoids), so that one compiled search serves
all cases. Tolerances are those that a case states.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from saltus import contacts, shapes
from saltus.laws.impact import Elastic
from saltus.numerics import rotation
from saltus.simulation import simulate
from saltus.systems import RigidBodies
from saltus.validation.check import Check, difference, fact

ROUNDING = 1e-15  # what relative tolerances are not asked to go below
PAST = 3.0  # how far back a free past is looked at [s]

Case = dict[str, Any]


def shape_of(given: Case) -> shapes.Superellipsoid:
    """The shape of a case."""
    return shapes.Superellipsoid(given["axes"], np.asarray(given["exponents"], float))


def body_of(given: Case) -> shapes.Body:
    """The body of a case: homogeneous unless its inertia is given."""
    mass = {"mass": given["mass"]} if "mass" in given else {"density": given.get("density", 1.0)}
    if "principal_inertia" in given:
        mass["principal_inertia"] = given["principal_inertia"]
    return shapes.Body(
        shape_of(given["shape"]),
        center=given["center"],
        velocity=given["velocity"],
        quaternion=given["quaternion"],
        angular_velocity=given["omega"],
        **mass,
    )


def pair_of(case: Case) -> tuple[shapes.Body, shapes.Body]:
    """The two bodies of a case."""
    return body_of(case["input"]["body1"]), body_of(case["input"]["body2"])


def _relative(what: str, found: Any, wanted: Any, tolerance: float) -> Check:
    size = max(float(np.max(np.abs(np.asarray(wanted, float)), initial=0.0)), 1e-300)
    return difference(what, found, wanted, max(tolerance, ROUNDING) * size)


# ---- single bodies --------------------------------------------------------------------------------


def mass_properties(case: Case) -> list[Check]:
    """Volume, mass, second moments and inertia."""
    shape, wanted, tolerance = shape_of(case["input"]["shape"]), case["expected"], case["rel_tol"]
    body = shapes.Body(shape, density=case["input"]["density"])
    found = {
        "volume": shape.volume(),
        "mass": body.mass,
        "second_moments": shape.second_moments(),
        "principal_inertia": body.inertia,
    }
    return [_relative(key, found[key], value, tolerance) for key, value in wanted.items()]


def free_rotation(case: Case) -> list[Check]:
    """Orientation and angular velocity at given times, and what is conserved."""
    body, wanted, tolerance = body_of(case["input"]), case["expected"], case["abs_tol"]
    checks = [
        difference("L", body.angular_momentum(), wanted["L"], tolerance * max(1.0, np.max(np.abs(wanted["L"])))),
        difference("energy", body.kinetic_energy(), wanted["energy"], tolerance * max(1.0, wanted["energy"])),
    ]
    for state in wanted["states"]:
        t = state["t"]
        now = body.after(t)
        reference = np.asarray(state["quaternion_up_to_sign"])
        sign = np.sign(np.asarray(now.quaternion) @ reference)
        checks += [
            difference(f"omega at t = {t:g}", now.angular_velocity, state["omega"], tolerance),
            difference(f"R at t = {t:g}", rotation.matrix(now.quaternion), state["R"], tolerance),
            difference(f"quaternion at t = {t:g}", sign * now.quaternion, reference, tolerance),
        ]
    return checks


def normal_acceleration_form(case: Case) -> list[Check]:
    """The quadratic form of the angular velocity that gives the normal acceleration of a surface point."""
    shape = shape_of(case["input"]["shape"])
    normal = np.asarray(case["input"]["normal_body"], float)
    normal = normal / np.linalg.norm(normal)
    point = np.asarray(shape.support_point(jnp.asarray(normal)))
    form = contacts.paradox.normal_form(shape.gyration(), jnp.asarray(point), jnp.asarray(normal))
    found = {"point_body": point, "form": form, "eigenvalues": np.linalg.eigvalsh(np.asarray(form))}
    return [difference(key, found[key], value, case["abs_tol"]) for key, value in case["expected"].items()]


# ---- pairs ----------------------------------------------------------------------------------------


def signed_gap(case: Case) -> list[Check]:
    """Gap, closest points and normal."""
    seen, tolerance = contacts.gap(*pair_of(case)), case["abs_tol"]
    found = {"gap": seen.gap, "x1": seen.point1, "x2": seen.point2, "normal1": seen.normal}
    checks = [difference(key, found[key], value, tolerance) for key, value in case["expected"].items()]
    return [*checks, Check("certificate", float(seen.certificate), tolerance)]


def impulse(case: Case) -> list[Check]:
    """The elastic impulse at a given point, and what it conserves."""
    one, two = pair_of(case)
    point, normal = jnp.asarray(case["input"]["contact_point"]), jnp.asarray(case["input"]["normal1"])
    at = contacts.Separation(jnp.zeros(()), normal, point, point, jnp.zeros(()))
    after1, after2, kick = contacts.collide(one, two, at, Elastic())
    matrix = contacts.mobility(one, two, point, point)
    energy = one.kinetic_energy() + two.kinetic_energy()
    found = {
        "alpha": kick @ normal,
        "M": matrix,
        "nMn": normal @ matrix @ normal,
        "v1": after1.velocity,
        "v2": after2.velocity,
        "omega1": after1.angular_velocity,
        "omega2": after2.angular_velocity,
        "normal_velocity_before": normal @ _relative_velocity(one, two, point),
        "normal_velocity_after": normal @ _relative_velocity(after1, after2, point),
        "energy": energy,
        "momentum": after1.mass * after1.velocity + after2.mass * after2.velocity,
        "angular_momentum_origin": _angular_momentum(after1) + _angular_momentum(after2),
        "m1": one.mass,
        "m2": two.mass,
    }
    tolerance = case["rel_tol"]
    checks = [_relative(key, found[key], value, tolerance) for key, value in case["expected"].items() if key in found]
    change = after1.kinetic_energy() + after2.kinetic_energy() - energy
    wanted = case["expected"].get("energy_change", 0.0)
    return [*checks, difference("energy_change", change, wanted, tolerance * float(energy))]


def _relative_velocity(one: shapes.Body, two: shapes.Body, point: Any) -> Any:
    def at(body):
        return body.velocity + jnp.cross(body.angular_velocity, point - body.center)

    return at(two) - at(one)


def _angular_momentum(body: shapes.Body) -> Any:
    return body.mass * jnp.cross(body.center, body.velocity) + body.angular_momentum()


def first_contact(case: Case) -> list[Check]:
    """The first touch and the elastic impact there; or the closest approach."""
    one, two = pair_of(case)
    wanted = case["expected"]
    found = contacts.first_contact(one, two, case["input"]["t_max"])
    checks = [
        fact(f"contact is {wanted['contact']}", bool(found.happens) == wanted["contact"]),
        fact("the search is certified", bool(found.certified)),
    ]
    if not checks[0].ok:
        return checks
    if not wanted["contact"]:
        time, width = contacts.closest_approach(one, two, case["input"]["t_max"])
        return [
            *checks,
            difference("closest_time", time, wanted["closest_time"], case["time_tol"]),
            difference("closest_gap", width, wanted["closest_gap"], case["gap_tol"]),
        ]
    met = found.separation
    after1, after2, kick = contacts.collide(found.body1, found.body2, met, Elastic())
    local = contacts.classify(found.body1, found.body2, met.point1).local
    got = {
        "point": met.point1,
        "normal1": met.normal,
        "normal_velocity": local.v,
        "a_eff": local.a_eff,
        "alpha": kick @ met.normal,
        "v1": after1.velocity,
        "v2": after2.velocity,
        "omega1": after1.angular_velocity,
        "omega2": after2.angular_velocity,
        "q1": _align_sign(found.body1.quaternion, wanted["q1"]),
        "q2": _align_sign(found.body2.quaternion, wanted["q2"]),
        "energy": after1.kinetic_energy() + after2.kinetic_energy(),
    }
    checks.append(difference("time", found.time, wanted["time"], case["time_tol"]))
    return checks + [_relative(key, got[key], wanted[key], case["rel_tol"]) for key in got if key in wanted]


def _align_sign(quaternion: Any, reference: Any) -> Any:
    quaternion = np.asarray(quaternion)
    return quaternion * np.sign(quaternion @ np.asarray(reference))


_LOCAL = {
    "v": "v",
    "a": "a",
    "w": "w",
    "u": "u",
    "a_eff": "a_eff",
    "j": "j",
    "j_without_cubic_surface_terms": "j_quadratic",
    "gap3": "gap3",
    "normal1": "normal",
    "contact_velocity_on_1": "contact_velocity1",
    "contact_velocity_on_2": "contact_velocity2",
}


def classification(case: Case) -> list[Check]:
    """The kind of a touch and the derivatives of the gap behind it."""
    one, two = pair_of(case)
    wanted = case["expected"]
    kind = contacts.classify(one, two, case["input"]["contact_point"])
    checks = [fact(f"is {wanted['classification']}, found {kind.label}", kind.label == wanted["classification"])]
    allowed = case["abs_tol"]
    for key, value in wanted["local"].items():
        tolerance = allowed.get(key, 1e-9) if isinstance(allowed, dict) else allowed
        if key.startswith("j"):
            tolerance = allowed["j"] if isinstance(allowed, dict) else tolerance
        checks.append(difference(key, getattr(kind.local, _LOCAL[key]), value, tolerance))
    return checks


def paradox_event(case: Case) -> list[Check]:
    """A paradox: its derivatives, the gap before and after, and the free past."""
    one, two = pair_of(case)
    wanted = case["expected"]
    checks = classification(case)
    given = wanted["gap_of_time"]
    found = [contacts.gap(one.after(float(t)), two.after(float(t))).gap for t in given]
    checks.append(difference("gap_of_time", found, list(given.values()), case["abs_tol"]["gap_of_time"]))
    free = contacts.paradox.free_past(one, two, PAST)
    if wanted.get("smallest_gap_on_grid_in_past_3") is not None:
        checks.append(fact("the past is free", bool(free)))
    return checks


def sustained_contact(case: Case) -> list[Check]:
    """The motion in contact that follows a paradox: force, release, and the state there."""
    bodies, wanted, tolerance = pair_of(case), case["expected"], case["rel_tol"]
    system = RigidBodies(bodies)
    run = simulate(system, system.start(bodies), 2.0 * wanted["release_time"])
    names = [event.name for event in run.events]
    checks = [fact(f"a paradox, then a release, found {names}", names[:2] == ["paradox", "release"])]
    if not checks[0].ok:
        return checks
    began, ended = run.events[0], run.events[1]
    checks.append(_relative("release_time", ended.t, wanted["release_time"], tolerance))
    checks.append(_relative("initial_force_rate", began.data["force_rate"], wanted["initial_force_rate"], tolerance))
    largest = max(wanted["force_of_time"].values())
    forces = system.contact_force(run.states([float(t) for t in wanted["force_of_time"]]))[:, 0]
    checks.append(difference("force_of_time", forces, list(wanted["force_of_time"].values()), tolerance * largest))
    now = system.bodies(ended.before)
    for i, body in enumerate(now):
        checks.append(_relative(f"v{i + 1}", body.velocity, wanted[f"v{i + 1}"], tolerance))
        checks.append(_relative(f"omega{i + 1}", body.angular_velocity, wanted[f"omega{i + 1}"], tolerance))
    energy = float(sum(body.kinetic_energy() for body in bodies))
    change = float(sum(body.kinetic_energy() for body in now)) - energy
    return [*checks, difference("energy_change", change, wanted["energy_change"], tolerance * energy)]


def near_paradox_from_past(case: Case) -> list[Check]:
    """A paradox approached from the past: found, and known for what it is."""
    wanted = case["expected"]
    found = contacts.first_contact(*pair_of(case), case["input"]["t_max"])
    checks = [fact(f"contact is {wanted['contact']}", bool(found.happens) == wanted["contact"])]
    if not checks[0].ok:
        return checks
    kind = contacts.classify(found.body1, found.body2, found.separation.point1)
    local = kind.local
    return [
        *checks,
        difference("time", found.time, wanted["time"], case["time_tol"]),
        Check("closing speed", abs(float(local.v)), wanted["max_closing_speed"]),
        Check("a_eff", abs(float(local.a_eff)), wanted["max_abs_a_eff"]),
        # The derivative is taken at a time that is only known to the tolerance above.
        _relative("gap3", local.gap3, wanted["gap3"], 1e-2),
        fact(f"is a paradox, found {kind.label}", kind.label.startswith("paradox")),
    ]


GROUPS = {
    "mass_properties": mass_properties,
    "free_rotation": free_rotation,
    "signed_gap": signed_gap,
    "impulse": impulse,
    "first_contact": first_contact,
    "classification": classification,
    "paradox_event": paradox_event,
    "sustained_contact": sustained_contact,
    "normal_acceleration_form": normal_acceleration_form,
    "near_paradox_from_past": near_paradox_from_past,
}
