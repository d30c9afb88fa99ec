"""What the paper says, and how each statement is checked here."""

from __future__ import annotations

import math
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import OptimizeResult, minimize_scalar

from saltus import contacts, shapes
from saltus.contacts import Separation
from saltus.laws.impact import Elastic
from saltus.numerics import rotation
from saltus.papers.claim import Answer, Claim, Formula, Numbers, Statement, scientific
from saltus.papers.palffy_muhoray_2017.cases import PRINTED, Touch, Workbench, numbers

ALL_DIGITS = "all digits that double precision holds"
DRAWS = 20_000


def _power(value: float) -> str:
    return scientific(f"{max(abs(value), 1e-16):.1e}")


# ---- the published event --------------------------------------------------------------------------


def on_both_surfaces(work: Workbench) -> Answer:
    touch = work.published
    residuals = []
    for body in (touch.one, touch.two):
        if not isinstance(body.shape, shapes.Superellipsoid):
            raise TypeError(f"The published bodies are superellipsoids, got a {type(body.shape).__name__}.")
        inside = rotation.rotate_back(body.quaternion, jnp.asarray(touch.point) - body.center)
        axes, exponents = np.asarray(body.shape.axes), np.asarray(body.shape.exponents)
        residuals.append(abs(float((np.abs(np.asarray(inside) / axes) ** exponents).sum()) - 1.0))
    return Answer(max(residuals), f"residuals {_power(residuals[0])} and {_power(residuals[1])}")


def normal_there(work: Workbench) -> Answer:
    normal = np.asarray(work.published.one.shape.normal(jnp.asarray(numbers("P"))))
    return Answer(normal, ", ".join(f"{value:.16f}" for value in normal))


def _arms(touch: Touch) -> tuple[np.ndarray, np.ndarray]:
    """From both centres to the contact point; that of the second body by its own normal."""
    q = touch.two.quaternion
    arm2 = rotation.rotate(q, touch.two.shape.support_point(-rotation.rotate_back(q, jnp.asarray(touch.normal))))
    return touch.point - np.asarray(touch.one.center), np.asarray(arm2)


def center_of_second(work: Workbench) -> Answer:
    touch = work.published
    center = touch.point - _arms(touch)[1]
    return Answer(center, ", ".join(f"{value:.16f}" for value in center))


def velocity_of_second(work: Workbench) -> Answer:
    touch = work.published
    arm1, arm2 = _arms(touch)
    velocity = np.cross(numbers("omega1"), arm1) - np.cross(numbers("omega2"), arm2)
    return Answer(velocity, ", ".join(f"{value:.16f}" for value in velocity))


def conditions(work: Workbench) -> Answer:
    local = work.published.contact.local
    sizes = {
        "v": abs(float(local.v)),
        "a": abs(float(local.a)),
        "|w|": float(jnp.linalg.norm(local.w)),
        "|u|": float(jnp.linalg.norm(local.u)),
    }
    return Answer(max(sizes.values()), ", ".join(f"{name} = {_power(size)}" for name, size in sizes.items()))


def jerk_is_negative(work: Workbench) -> Answer:
    contact = work.published.contact
    holds = float(contact.local.j) < 0.0 and contact.label == "paradox-2b*"
    return Answer(holds, f"j = {float(contact.local.j):.12f} (not printed); classified as {contact.label}")


def gap_changes_sign(work: Workbench) -> Answer:
    times = np.array([-0.2, -0.1, -0.01, 0.01, 0.1, 0.2])
    gap = work.published.gaps(times)
    told = ", ".join(f"{value:+.3e} at {t:+g}" for t, value in zip(times, gap, strict=True))
    return Answer(bool((gap[:3] > 0).all() and (gap[3:] < 0).all()), f"gap {told}")


def past_is_free(work: Workbench) -> Answer:
    return Answer(work.past_is_free, "no touch in the 3 time units before: certified by steps that cannot miss one")


# ---- impacts --------------------------------------------------------------------------------------


@eqx.filter_jit
def _impact(one: shapes.Body, two: shapes.Body, point, normal):
    """Printed impulse (7), ours, and normal velocities before and after."""
    at = Separation(jnp.zeros(()), normal, point, point, jnp.zeros(()))
    p, q = point - one.center, point - two.center

    def velocity(body, arm):
        return body.velocity + jnp.cross(body.angular_velocity, arm)

    def tensor(body, arm):
        spin = jnp.stack([jnp.cross(arm, row) for row in jnp.eye(3)], axis=1)
        return -spin @ body.inverse_inertia() @ spin

    matrix = (1 / one.mass + 1 / two.mass) * jnp.eye(3) + tensor(one, p) + tensor(two, q)
    before = normal @ (velocity(one, p) - velocity(two, q))
    printed = 2.0 * before / (normal @ matrix @ normal)
    after1, after2, kick = contacts.collide(one, two, at, Elastic())
    after = normal @ (velocity(after1, p) - velocity(after2, q))
    energy = one.kinetic_energy() + two.kinetic_energy()
    change = after1.kinetic_energy() + after2.kinetic_energy() - energy
    return printed, kick @ normal, before, after, change / energy


def _impacts(work: Workbench) -> np.ndarray:
    touch, draw = work.ellipsoids, np.random.default_rng(7)
    rows = []
    for _ in range(20):
        closing = touch.two.velocity - draw.uniform(0.1, 2.0) * touch.normal + 0.3 * draw.normal(size=3)
        two = touch.two.with_motion(
            touch.two.center, jnp.asarray(closing), touch.two.quaternion, jnp.asarray(draw.normal(size=3))
        )
        rows.append([float(x) for x in _impact(touch.one, two, jnp.asarray(touch.point), jnp.asarray(touch.normal))])
    return np.array([row for row in rows if row[2] > 0.0])


def impulse_formula(work: Workbench) -> Answer:
    rows = _impacts(work)
    error = float(np.abs(rows[:, 0] / rows[:, 1] - 1.0).max())
    return Answer(error, f"{len(rows)} impacts: largest relative error {_power(error)}")


def reversed_speed(work: Workbench) -> Answer:
    rows = _impacts(work)
    error = float(np.abs(rows[:, 3] / rows[:, 2] + 1.0).max())
    return Answer(
        error, f"largest relative error {_power(error)}; energy kept to {_power(float(np.abs(rows[:, 4]).max()))}"
    )


def normal_collisions_separate(work: Workbench) -> Answer:
    rows = _impacts(work)
    return Answer(bool((rows[:, 3] < 0.0).all()), f"{len(rows)} impacts, all separate")


# ---- neighbouring points --------------------------------------------------------------------------


@eqx.filter_jit
def curvature_sum(one: shapes.Body, two: shapes.Body, point):
    """K = H₁ + H₂ in the lab."""
    total = jnp.zeros((3, 3))
    for body in (one, two):
        matrix = rotation.matrix(body.quaternion)
        total = total + matrix @ body.shape.curvature(matrix.T @ (point - body.center)) @ matrix.T
    return total


def bound_over_directions(touch: Touch) -> tuple[float, float]:
    """Smallest and largest v_ε²/2x_2ε over the directions of ε in the tangent plane."""
    local = touch.contact.local
    curvature = np.asarray(curvature_sum(touch.one, touch.two, jnp.asarray(touch.point)))
    n = touch.normal
    first = np.cross(n, [0.3, 0.5, 0.8])
    first = first / np.linalg.norm(first)
    second = np.cross(n, first)
    angles = np.linspace(0.0, math.pi, 100_001)
    direction = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second
    bound = (direction @ np.asarray(local.w)) ** 2 / np.einsum("ia,ab,ib->i", direction, curvature, direction)
    return float(bound.min()), float(bound.max())


def vary(touch: Touch) -> list[Touch]:
    """The same touch with six other velocities, without approach."""
    draw, found = np.random.default_rng(11), []
    for _ in range(6):
        change = draw.normal(size=3)
        change = change - touch.normal * (touch.normal @ change)
        two = touch.two.with_motion(
            touch.two.center, touch.two.velocity + jnp.asarray(change), touch.two.quaternion, touch.two.angular_velocity
        )
        found.append(Touch("varied", touch.one, two, touch.point, touch.normal))
    return found


def second_derivatives(work: Workbench) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Second derivative of the gap: measured, by (47) with the largest bound, and without neighbours."""
    rows = []
    for touch in vary(work.ellipsoids):
        a = float(touch.contact.local.a)
        rows.append((touch.gap_derivative(), a - bound_over_directions(touch)[1], a))
    measured, with_neighbours, alone = np.array(rows).T
    return measured, with_neighbours, alone


def neighbours(work: Workbench) -> Answer:
    measured, found, _ = second_derivatives(work)
    error = float(np.abs(found - measured).max() / np.abs(measured).max())
    return Answer(error, f"second derivative of the true gap at {len(found)} touches: within {_power(error)}")


def quartic_coefficient(work: Workbench) -> Answer:
    x2, slope, t = 0.7, 1.3, 0.2
    found = minimize_scalar(lambda e: x2 * e * e + 0.5 * slope * e * t * t, options={"xtol": 1e-12})
    lowest = cast(OptimizeResult, found)  # scipy itself does not say so
    share = -lowest.fun * x2 / (slope**2 * t**4)
    return Answer(abs(0.125 / share - 1.0), f"coefficient {share:.6f} = 1/16")


def exceptional_value(work: Workbench) -> Answer:
    touch = work.ellipsoids
    low, high = bound_over_directions(touch)
    a = float(touch.contact.local.a)
    text = f"two ellipsoids: a = {a:.6f}, smallest v_ε²/2x_2ε {low:.6f}, largest {high:.6f}; third derivative {float(touch.contact.local.gap3):.4f}"
    return Answer(abs(a - low) / abs(a), text)


def always_separate(work: Workbench) -> Answer:
    touch = work.ellipsoids
    after = float(touch.gaps(np.array([0.05]))[0])
    return Answer(
        after > 0.0, f"two ellipsoids, v = 0, a = {float(touch.contact.local.a):.3f}: gap {after:+.2e} at t = 0.05"
    )


def _stays_apart(what: str, touch: Touch) -> Answer:
    """That the gap does not go from positive to negative."""
    before, after = touch.gaps(np.array([-0.1, 0.1]))
    text = f"{what} ({touch.contact.label}): gap {before:+.2e} before, {after:+.2e} after"
    return Answer(not (before > 0 > after), text)


def needs_no_ellipsoid(work: Workbench) -> Answer:
    return _stays_apart("two ellipsoids", work.ellipsoids)


def not_in_a_plane(work: Workbench) -> Answer:
    return _stays_apart("ellipsoid and ball in a plane", work.planar)


def quadratic_surface(work: Workbench) -> Answer:
    local = work.planar.contact.local
    error = abs(float(local.j_quadratic) / float(local.gap3) - 1.0)
    return Answer(
        error,
        f"planar event: j = {float(local.j_quadratic):.4f} without third derivatives of the surface, {float(local.gap3):.4f} in truth",
    )


# ---- ellipsoids and energy ------------------------------------------------------------------------


@jax.jit
def _eigenvalues(axes, directions, exponent):
    def one(axes, direction):
        shape = shapes.Superellipsoid(axes, jnp.full(3, exponent))
        direction = direction / jnp.linalg.norm(direction)
        point = shape.support_point(direction)
        return jnp.linalg.eigvalsh(contacts.paradox.normal_form(shape.gyration(), point, direction))[-1] / (
            direction @ point
        )

    return jax.vmap(one)(axes, directions)


def largest_eigenvalues(exponent: float, count: int = DRAWS) -> np.ndarray:
    """Largest n·v̇ per |ω|² and n·p of random homogeneous bodies at random points."""
    draw = np.random.default_rng(5)
    return np.asarray(_eigenvalues(draw.uniform(0.3, 3.0, (count, 3)), draw.normal(size=(count, 3)), float(exponent)))


def ellipsoid_claim(work: Workbench) -> Answer:
    largest = float(largest_eigenvalues(2.0).max())
    other = float(largest_eigenvalues(4.0).max())
    return Answer(
        largest <= 1e-12,
        f"{DRAWS} random ellipsoids: largest {largest:+.1e}; quartic superellipsoids reach {other:+.3f}",
    )


def acceleration_difference(work: Workbench) -> Answer:
    touch = work.published
    values = []
    for body in (touch.one, touch.two):
        omega, arm = np.asarray(body.angular_velocity), touch.point - np.asarray(body.center)
        rate = -np.asarray(body.inverse_inertia()) @ np.cross(omega, np.asarray(body.angular_momentum()))
        values.append(float(touch.normal @ (np.cross(rate, arm) + np.cross(omega, np.cross(omega, arm)))))
    difference = values[1] - values[0]
    return Answer(difference < -1e-9, f"n·v̇ = {values[0]:.12f} and {values[1]:.12f}: equal, as a = 0 asks")


def energy_violation(work: Workbench) -> Answer:
    found = work.sustained
    violated = abs(found.energy_change) > 1e-9 or np.abs(found.gap).max() > 1e-9
    text = (
        f"a finite contact force (at most {found.force.max():.3f}) keeps |gap| < {_power(float(np.abs(found.gap).max()))} and the energy to "
        f"{_power(found.energy_change)}; release at t = {found.release:.13f}"
    )
    return Answer(bool(violated), text)


CLAIMS = (
    Claim("on surfaces", "Supp. I", "The contact point lies on both surfaces", Formula("x⁴/a⁴ + y⁴/b⁴ + z⁴/c⁴ = 1", 2e-15), "level functions at P",
          on_both_surfaces),
    Claim("normal", "Supp. I", "Contact normal n₁", Numbers(PRINTED["n"]), f"normal of the superellipsoid at P; {ALL_DIGITS}", normal_there),
    Claim("center", "Supp. I", "Centre of the ellipsoid", Numbers(PRINTED["center"]), "P minus the ellipsoid's support point along −n₁", center_of_second),
    Claim("velocity", "Supp. I", "Velocity of the ellipsoid", Numbers(PRINTED["velocity"]), "no slip at P: ω₁×p − ω₂×q", velocity_of_second),
    Claim("conditions", "3.2.4, Supp. I", "v = a = v_ε = 0 and no slip: the event is of type 2b*", Formula("0, 0, 0, 0", 1e-14),
          "`contacts.classify` of the printed state", conditions),
    Claim("jerk", "3.2.4", "j < 0", Statement("j < 0"), "third derivative of the gap in closed form", jerk_is_negative),
    Claim("gap", "3.2.4", "Separated before, penetrating after", Statement("penetrates"), "true distance of the bodies in free motion", gap_changes_sign),
    Claim("past", "section 2", "The bodies are well separated before", Statement("well separated"), "`contacts.paradox.free_past`", past_is_free, slow=True),
    Claim("impulse", "(7), (8)", "Impulse of an elastic frictionless impact", Formula("(7) with (8)", 1e-12), "law `Elastic`, random impacts", impulse_formula),
    Claim("reversal", "(9), (10)", "Normal velocity of the contact points is reversed", Formula("(10)", 1e-11), "the same impacts", reversed_speed),
    Claim("normal type", "3.2.1", "In normal collisions the bodies separate", Statement("separate"), "the same impacts", normal_collisions_separate),
    Claim("neighbours", "(45) to (47)", "Neighbouring points contribute −v_ε²t²/4x_2ε", Formula("a − max v_ε²/2x_2ε", 1e-5),
          "second differences of the true gap, touches with slip", neighbours),
    Claim("quartic", "(51), (52), (60)", "With v_ε = 0 they contribute", Formula("−⅛ a_ε²t⁴/x_2ε", 1e-6), "minimum over ε", quartic_coefficient,
          why="The minimum of x₂ε² + ½aεt² is −a²t⁴/16x₂."),
    Claim("exception", "3.2.3, 4", "The one possible exception is a = (v_ε²/2x_2ε)_min", Formula("a = min", 1e-6), "a paradox of two ellipsoids", exceptional_value,
          why="It is the maximum, w·K⁻¹w; and not an exception but the generic paradox: two conditions instead of six."),
    Claim("type 1", "3.2.3", "Tangential collisions with a ≠ 0 separate", Statement("separate"), "the same paradox", always_separate,
          why="Only if a exceeds the largest bound: the second derivative of the gap is what counts."),
    Claim("non-ellipsoid", "4", "At least one of the bodies must not be an ellipsoid", Statement("not both ellipsoids"), "the same paradox", needs_no_ellipsoid,
          why="True of type 2b* only. Every pair but two balls has paradoxes."),
    Claim("plane", "3.2.4", "It cannot be achieved in two dimensions", Statement("not in 2D"), "ellipsoid and ball, all motion in a plane", not_in_a_plane,
          why="True of type 2b* only; this one is of type 2b by the paper's own definition."),
    Claim("third order", "(18) to (28), j", "Surfaces enter up to second order", Formula("j, quadratic surfaces", 1e-9), "the planar event", quadratic_surface,
          why="With slip, third derivatives of the surface enter j; bodies must be three times differentiable."),
    Claim("ellipsoids", "3.2.4, footnote 4", "n·v̇ ≤ 0 at every point of a free homogeneous ellipsoid", Statement("n·v̇ ≤ 0"),
          "largest eigenvalue of the quadratic form of ω", ellipsoid_claim),
    Claim("accelerations", "3.2.4", "Type 2b* requires n₁·(v̇_Q − v̇_P) < 0", Statement("< 0"), "the published event", acceleration_difference, why="Without slip a is this quantity: it is 0."),
    Claim("energy", "1, 4", "Keeping momentum and rigidity would violate energy conservation", Statement("violated"),
          "motion in contact under the force that keeps the gap closed", energy_violation,
          why="Only if every interaction is postulated to be instantaneous. A finite contact force resolves the paradox."),
)  # fmt: skip
