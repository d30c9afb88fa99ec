"""The published event, others like it, and what follows a touch without approach."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from saltus import contacts, shapes
from saltus.contacts import Separation
from saltus.numerics import rotation
from saltus.papers.memo import memoise

# The numbers of the Supplementary Data, digit by digit.
PRINTED = {
    "P": ("0.47618533191703555", "1.9605250610979892", "1.1955976303024505"),
    "n": ("0.22325108832916085", "0.9737842723056427", "0.04362502229243368"),
    "omega1": ("1.1740747914710616", "5.121119789388775", "1.2294234681418093"),
    "axis": ("0.6239979329820173", "0.781425991143224"),
    "center": ("0.6988018183920255", "2.931541305218898", "1.3696016946556036"),
    "velocity": ("2.7414669205732727", "-0.5956711297619547", "-0.1367990744145808"),
    "omega2": ("0", "0", "1"),
}
PAST = 3.0  # how far back a past is looked at
SAMPLES = 601


def numbers(name: str) -> np.ndarray:
    """Printed numbers as an array."""
    return np.array([float(text) for text in PRINTED[name]])


def superellipsoid(axes, exponent: float) -> shapes.Superellipsoid:
    """All shapes are superellipsoids here (exponent 2: ellipsoids), so that one compiled program serves them."""
    return shapes.Superellipsoid(list(axes), np.full(3, float(exponent)))


@dataclasses.dataclass(frozen=True)
class Touch:
    """Two bodies that touch at a point."""

    name: str
    one: shapes.Body
    two: shapes.Body
    point: np.ndarray
    normal: np.ndarray

    @functools.cached_property
    def contact(self) -> contacts.Contact:
        """How it is classified."""
        return _classified(self.one, self.two, jnp.asarray(self.point))

    def gaps(self, times: np.ndarray) -> np.ndarray:
        """The gap in free motion before and after, as if nothing happened; `SAMPLES` times at once."""
        padded = np.concatenate([times, np.full(SAMPLES - len(times), times[-1])])
        return np.asarray(_gaps(self.one, self.two, jnp.asarray(padded)))[: len(times)]

    def gap_derivative(self) -> float:
        """Second derivative of the gap from five samples around the touch."""
        step = 2e-3  # [s]
        g = self.gaps(step * np.arange(-2, 3))
        return float((-g[0] + 16 * g[1] - 30 * g[2] + 16 * g[3] - g[4]) / (12 * step**2))


_classified = eqx.filter_jit(lambda one, two, point: contacts.classify(one, two, point))
_gaps = eqx.filter_jit(
    lambda one, two, times: jax.lax.map(lambda t: contacts.gap(one.after(t), two.after(t)).gap, times)
)


def published_event() -> Touch:
    """The event of the Supplementary Data."""
    cosine, sine = numbers("axis")
    frame = np.array([[0.0, 0.0, 1.0], [cosine, sine, 0.0], [-sine, cosine, 0.0]]).T
    turn = np.roll(Rotation.from_matrix(frame).as_quat(), 1)
    one = shapes.Body(superellipsoid((1.0, 2.0, 3.0), 4.0), angular_velocity=numbers("omega1"))
    two = shapes.Body(
        superellipsoid((2.0, 1.0, 1.0), 2.0), center=numbers("center"), velocity=numbers("velocity"), quaternion=turn,
        angular_velocity=numbers("omega2"),
    )  # fmt: skip
    return Touch("published", one, two, numbers("P"), numbers("n"))


# ---- a paradox for (almost) every pair of shapes --------------------------------------------------


def _turning(body: shapes.Body, until: float):
    """A free body's turning as a function of time (compiling the library's own for this would take longer)."""
    inertia = np.asarray(body.inertia)

    def rate(_, y):
        turn = Rotation.from_quat(np.roll(y[:4], -1)).as_matrix()
        spin = turn.T @ y[4:]
        torque = np.cross(inertia * spin, spin)
        w, v = y[0], y[1:4]
        quaternion = 0.5 * np.concatenate([[-y[4:] @ v], w * y[4:] + np.cross(y[4:], v)])
        return np.concatenate([quaternion, turn @ (torque / inertia)])

    start = np.concatenate([np.asarray(body.quaternion), np.asarray(body.angular_velocity)])
    path = solve_ivp(rate, (0.0, until), start, method="DOP853", rtol=1e-11, atol=1e-12, dense_output=True).sol

    def body_at(t: float) -> shapes.Body:
        now = path(t)
        quaternion = now[:4] / np.linalg.norm(now[:4])
        return body.with_motion(body.center, body.velocity, jnp.asarray(quaternion), jnp.asarray(now[4:]))

    return body_at


@eqx.filter_jit
def _stationary_touch(one: shapes.Body, two: shapes.Body, normal):
    """Two turning bodies put in contact so that the common normal stands still for a moment.

    Then the second derivative of the gap is minus that of the sum of the support functions along the normal.
    """
    arm1 = rotation.rotate(one.quaternion, one.shape.support_point(rotation.rotate_back(one.quaternion, normal)))
    arm2 = rotation.rotate(two.quaternion, two.shape.support_point(-rotation.rotate_back(two.quaternion, normal)))
    over1, over2 = (_stands_still(body, arm, normal) for body, arm in ((one, arm1), (two, arm2)))
    slip = over1 - over2
    center = one.center + arm1 - arm2
    velocity = one.velocity + jnp.cross(one.angular_velocity, arm1) - jnp.cross(two.angular_velocity, arm2) + slip
    two = two.with_motion(center, velocity, two.quaternion, two.angular_velocity)
    point = one.center + arm1
    local = contacts.local_motion(one, two, Separation(jnp.zeros(()), normal, point, point, jnp.zeros(())))
    return one, two, point, local


def _stands_still(body: shapes.Body, arm, normal):
    """Velocity of a contact point over a turning body for which the normal there stays what it is in the lab."""
    matrix = rotation.matrix(body.quaternion)
    curvature = matrix @ body.shape.curvature(matrix.T @ arm) @ matrix.T
    # Along the normal the curvature is zero: fill it, so that the system can be solved.
    filled = curvature + jnp.outer(normal, normal)
    outward = jnp.where(normal @ arm > 0.0, 1.0, -1.0)
    return jnp.linalg.solve(filled, -outward * jnp.cross(body.angular_velocity, normal))


def paradox_of(name: str, one: shapes.Body, two: shapes.Body) -> Touch:
    """A paradox of two bodies: the first instant at which the gap's second derivative would vanish, its third negative."""
    normal, until = jnp.array([1.0, 0.0, 0.0]), 6.0
    times = np.linspace(0.0, until, 241)

    turned = [_turning(body, until) for body in (one, two)]

    def touch(t):
        return _stationary_touch(turned[0](t), turned[1](t), normal)

    def second(t):
        return float(touch(t)[3].a_eff)

    values = [second(t) for t in times]
    for index in np.flatnonzero(np.diff(np.sign(values))):
        root = brentq(second, times[index], times[index + 1], xtol=1e-15, rtol=np.float64(1e-14))
        first, other, point, local = touch(root)
        if float(local.gap3) < 0.0:
            found = Touch(name, first, other, np.asarray(point), np.asarray(normal))
            if found.contact.is_paradox and found.gaps(np.linspace(-PAST, -0.02, SAMPLES)).min() > 0.0:
                return found
    raise ValueError(f"No paradox of {name} within {until:g} s.")


# ---- sustained contact ----------------------------------------------------------------------------


@eqx.filter_jit
def _press(one: shapes.Body, two: shapes.Body, motion):
    """Rates of two bodies pressed together by a frictionless force that keeps the gap closed, and that force."""
    one, two, point = _place(one, two, motion)
    q = one.quaternion
    normal = rotation.rotate(q, one.shape.normal(rotation.rotate_back(q, point - one.center)))
    local = contacts.local_motion(one, two, Separation(jnp.zeros(()), normal, point, point, jnp.zeros(())))
    force = -local.a_eff / (normal @ contacts.mobility(one, two, point, point) @ normal)
    rates = []
    for body, sign in ((one, -1.0), (two, 1.0)):
        push = sign * force * normal
        torque = jnp.cross(point - body.center, push) - jnp.cross(body.angular_velocity, body.angular_momentum())
        turn = rotation.rate_of_quaternion(body.quaternion, body.angular_velocity)
        rates += [body.velocity, turn, push / body.mass, body.inverse_inertia() @ torque]
    carried = one.velocity + jnp.cross(one.angular_velocity, point - one.center)
    return jnp.concatenate([*rates, carried + local.contact_velocity1]), force


def _place(one: shapes.Body, two: shapes.Body, motion):
    first, second, point = motion[:13], motion[13:26], motion[26:]
    bodies = [
        body.with_motion(part[:3], part[7:10], rotation.normalise(part[3:7]), part[10:])
        for body, part in ((one, first), (two, second))
    ]
    return *bodies, point


def _motion(touch: Touch) -> np.ndarray:
    parts = [
        np.concatenate([np.asarray(x) for x in (body.center, body.quaternion, body.velocity, body.angular_velocity)])
        for body in (touch.one, touch.two)
    ]
    return np.concatenate([*parts, touch.point])


@dataclasses.dataclass(frozen=True)
class SustainedContact:
    """The motion in contact that follows a touch, until the force vanishes."""

    times: np.ndarray
    force: np.ndarray
    gap: np.ndarray
    energy_change: float
    release: float
    after: Touch


def sustain(touch: Touch, until: float = 1.0) -> SustainedContact:
    """Press the two bodies together until they would leave each other."""

    def rate(_, y):
        return np.asarray(_press(touch.one, touch.two, jnp.asarray(y))[0])

    def contact_force(t, y):
        return float(_press(touch.one, touch.two, jnp.asarray(y))[1]) if t > 1e-4 else 1.0

    contact_force.terminal, contact_force.direction = True, -1  # type: ignore[attr-defined]
    found = solve_ivp(rate, (0.0, until), _motion(touch), method="DOP853", rtol=1e-12, atol=1e-13, events=contact_force,
                      dense_output=True)  # fmt: skip
    release = float(found.t[-1])
    times = np.linspace(0.0, release, 81)
    force = np.array([float(_press(touch.one, touch.two, jnp.asarray(found.sol(t)))[1]) for t in times])
    placed = [_place(touch.one, touch.two, jnp.asarray(found.sol(t))) for t in times[::10]]
    gaps = np.array([float(_gaps(one, two, jnp.zeros(SAMPLES))[0]) for one, two, _ in placed])
    one, two, point = _place(touch.one, touch.two, jnp.asarray(found.y[:, -1]))
    energy = [float(a.kinetic_energy() + b.kinetic_energy()) for a, b in ((touch.one, touch.two), (one, two))]
    after = Touch("released", one, two, np.asarray(point), touch.normal)
    return SustainedContact(times, force, gaps, energy[1] - energy[0], release, after)


class Workbench:
    """Events and motions that claims and figures share."""

    def __init__(self, quick: bool = False):
        self.quick = quick

    @functools.cached_property
    def published(self) -> Touch:
        """The event of the paper."""
        return published_event()

    @functools.cached_property
    def ellipsoids(self) -> Touch:
        """A paradox of two ellipsoids."""
        one = shapes.Body(superellipsoid((2.0, 1.0, 1.5), 2.0), angular_velocity=(0.4, -1.4, -1.3))
        two = shapes.Body(superellipsoid((0.7, 1.6, 1.1), 2.0), angular_velocity=(-0.3, 2.2, 1.0))
        return paradox_of("two ellipsoids", one, two)

    @functools.cached_property
    def planar(self) -> Touch:
        """A paradox of an ellipsoid and a ball that move in a plane."""
        one = shapes.Body(superellipsoid((3.0, 1.0, 2.0), 2.0), angular_velocity=(0.0, 0.0, 1.5))
        two = shapes.Body(superellipsoid((0.5, 0.5, 0.5), 2.0))
        return paradox_of("ellipsoid and ball in a plane", one, two)

    @functools.cached_property
    def sustained(self) -> SustainedContact:
        """What follows the published event under a finite contact force."""
        return sustain(self.published)

    @memoise
    def gap_curve(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Times and gap around an event, in free motion."""
        times = np.linspace(-0.25, 0.25, 201)
        return times, getattr(self, name).gaps(times)

    @functools.cached_property
    def past_is_free(self) -> bool:
        """Whether the bodies of the published event did not touch before, certified."""
        return contacts.paradox.free_past(self.published.one, self.published.two, PAST)
