"""Smooth convex rigid bodies that fly, collide and stay in contact."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.contacts.gap import ellipsoid_gap, gap
from saltus.contacts.wall import Wall, wall_gap
from saltus.hybrid import AbstractQueuedSystem, Quantity, State
from saltus.laws.impact import AbstractImpactLaw, Elastic
from saltus.numerics import rotation
from saltus.numerics.differentiable import linear_part
from saltus.programs import brief_program
from saltus.programs.arrays import join_numbers, numbers, stack_numbers
from saltus.shapes.alike import alike
from saltus.shapes.ball import Ball
from saltus.shapes.body import Body, stack
from saltus.shapes.ellipsoid import Ellipsoid
from saltus.starts.bodies import refuse_overlap, unit_walls
from saltus.systems.bodies.state import BodyMotion, BodyPlace, ImpactLosses, motion_of, place_of

PARADOX_POLICIES = ("sustain", "pass", "stop")
SLENDER = 10.0  # longest over shortest semi-axis up to which gaps are found the quick way
NEAREST = 6  # neighbours among which the smallest gap of a body is looked for


class RigidBodies(AbstractQueuedSystem):
    """Rigid bodies in free flight between impacts.

    Bodies turn and fly in closed form; the engine is a queue of contacts, each found exactly. Two
    bodies that free motion would drive into each other without an approach (the paradox, or bounces that
    have become slower than `settle_speed`) stay in contact under a finite frictionless force.

    Args:
        bodies: The bodies, with where they are and how they move.
        gravity: Uniform acceleration (3,) [m s-2].
        law: Law of impact.
        walls: Planes as (normal, offset): the bodies are where normal . x > offset.
        period: Edge lengths of a periodic box, or None [m].
        paradox: "sustain" (contact force), "pass" (conservation laws as they stand) or "stop".
        settle_speed: Normal speed below which bounces end in contact, and slip below which a body rests [m s-1].
        rocking_limit: Part of its height by which a superellipsoid that rocks on a face may still rise to count as
            lying on it, if restitution is below one; 0 for never [-].

    References:
        Palffy-Muhoray, Virga, Wilkinson & Zheng 2017, On a paradox in the impact dynamics of smooth rigid bodies.
    """

    kind: ClassVar[str] = "bodies"
    mode_names: ClassVar[tuple[str, ...]] = ("free", "contact", "rest")

    stock: Body  # stacked; only shape, mass and inertia matter
    gravity: Float[Array, " 3"]
    walls: Wall | None
    period: Float[Array, " 3"] | None
    law: AbstractImpactLaw
    settle_speed: Array
    rocking_limit: Array
    paradox: str = eqx.field(static=True)
    quick_gaps: bool = eqx.field(static=True)  # whether the gaps of what never overlaps can be found the quick way

    def __init__(
        self,
        bodies: Sequence[Body],
        *,
        gravity=(0.0, 0.0, 0.0),
        law: AbstractImpactLaw | None = None,
        walls: Sequence[tuple[Any, float]] = (),
        period=None,
        paradox: str = "sustain",
        settle_speed: float = 1e-8,
        rocking_limit: float = 1e-3,
    ):
        checks.one_of("paradox", paradox, PARADOX_POLICIES)
        checks.shaped("gravity", gravity, (3,))
        checks.finite("gravity", gravity)
        checks.nonnegative("settle_speed", settle_speed)
        checks.between("rocking_limit", rocking_limit, 0.0, 0.1)
        bodies = _list_of_bodies(bodies)
        if not bodies:
            raise ValueError("There are no bodies. Give at least one.")
        if law is not None:
            checks.instance("law", law, AbstractImpactLaw, "Give one of saltus.laws.impact, such as Newton(0.5).")
        shapes = alike([body.shape for body in bodies])
        plain = [eqx.tree_at(lambda b: b.shape, body, None) for body in bodies]
        self.stock = eqx.tree_at(lambda b: b.shape, stack(plain), shapes, is_leaf=lambda x: x is None)
        self.gravity = numbers(gravity)
        self.walls = _walls(walls)
        self.period = _period(period)
        self.law = Elastic() if law is None else law
        self.paradox = paradox
        self.quick_gaps = paradox != "pass" and not _slender(shapes)
        self.settle_speed = numbers(settle_speed)
        self.rocking_limit = numbers(rocking_limit)

    @property
    def n(self) -> int:
        """How many bodies there are."""
        return self.stock.mass.shape[0]

    @property
    def n_walls(self) -> int:
        """How many walls there are."""
        return 0 if self.walls is None else self.walls.offset.shape[0]

    def start(self, bodies: Sequence[Body], t: float = 0.0) -> State:
        """The state in which the bodies are where they say; overlapping ones are refused."""
        bodies = _list_of_bodies(bodies)
        if len(bodies) != self.n:
            raise ValueError(f"The system has {self.n} bodies, got {len(bodies)}. Give the bodies it was built with.")
        q = place_of(stack_numbers(*(join_numbers(body.center, body.quaternion) for body in bodies)))
        v = motion_of(stack_numbers(*(join_numbers(body.velocity, body.angular_velocity, 0.0) for body in bodies)))
        state = State.of(t=t, q=q, v=v, ledger=ImpactLosses(np.zeros(())), mode=np.zeros(self.n, int))
        self._refuse_overlap(state)
        return state

    def _refuse_overlap(self, state: State) -> None:
        from saltus.systems.bodies.searches import overlaps

        if any(checks.concrete(leaf) is None for leaf in jax.tree.leaves((state, self.stock, self.walls, self.period))):
            return  # traced numbers cannot be looked at
        for first, second, depth in overlaps(self, state):
            refuse_overlap(first, second, depth, self.n)

    def plan(self, start: State, until: float):
        """What the event queue asks for what is to come."""
        from saltus.systems.bodies.schedule import Schedule

        return Schedule(self, start, until)

    def check_replay(self, event) -> None:
        """Refuse an event that `replay_event` does not know."""
        if event.name != "impact":
            raise ValueError(
                f"A run in which bodies stay in contact or only graze cannot be replayed, and this one has the event "
                f"{event.name!r} at t = {event.t:.6g} s. Take a run of impacts alone."
            )

    def replay_event(self, event, t: Array, since: Array, q: Array, v: Array):
        """An impact of an earlier run taken again, for the rows of those it concerns (`impact_replay`)."""
        from saltus.systems.bodies.impact_replay import strike

        wall = event.data["partner"] - self.n
        partner = None if wall < 0 else jnp.asarray(wall)
        return linear_part(strike, _choose(self, jnp.asarray(event.members)), partner, t, since, q, v)

    def only(self, members: Array) -> RigidBodies:
        return eqx.tree_at(lambda s: s.stock, self, row_of(self.stock, members))

    def radii(self) -> Float[Array, " n"]:
        """Radius of a ball about each body [m]."""
        return _radii_of(self.stock.shape)

    def body(self, state: State, index) -> Body:
        """One body where it is."""
        return self.at(state.q[index], state.v[index], index)

    def bodies(self, state: State) -> list[Body]:
        """All bodies where they are."""
        return [self.body(state, i) for i in range(self.n)]

    @staticmethod
    def contact_force(state: State) -> Array:
        """Sum of the forces of sustained contact on each body; also of stacked states [N]."""
        return state.v.contact_force

    def at(self, q: Array, v: Array, index) -> Body:
        """One body in a given place and motion."""
        place, motion = place_of(q), motion_of(v)
        return row_of(self.stock, index).with_motion(place.centre, motion.velocity, place.quaternion, motion.turning)

    def wall(self, index) -> Wall:
        """One wall."""
        return row_of(self.walls, jnp.asarray(index))

    def flow(self, index: Array, q: Array, v: Array, duration: Array, compact: bool = False) -> tuple[Array, Array]:
        """Free motion of one body in closed form; `compact` is quick to compile."""
        moved = self.at(q, v, index).after(duration, self.gravity, compact)
        motion = BodyMotion(moved.velocity, moved.angular_velocity, jnp.zeros(()))
        return BodyPlace(moved.center, moved.quaternion).array(), motion.array()

    def flow_many(self, members: np.ndarray, q: np.ndarray, v: np.ndarray, which: np.ndarray, durations: np.ndarray):
        gravity, since, inertia = np.asarray(self.gravity), durations[:, None], np.asarray(self.stock.inertia)
        velocity = v[which, :3] + since * gravity
        place = q[which, :3] + since * (v[which, :3] + 0.5 * since * gravity)
        turned, omega = rotation.free_rotations(q[:, 3:], v[:, 3:6], inertia[members], which, durations)
        none = np.zeros((len(which), 1))
        return np.concatenate([place, turned], axis=1), np.concatenate([velocity, omega, none], axis=1)

    def nearest_image(self, first: Array, second: Array) -> Array:
        """Centre `second` moved by whole periods to where it is nearest to `first`."""
        if self.period is None:
            return second
        return second - self.period * jnp.round((second - first) / self.period)

    # ---- what it shows ------------------------------------------------------------------------

    def quantities(self) -> dict[str, Quantity]:
        vector = ("body", "axis")
        return {
            "position": Quantity(vector, "m", "centre of mass"),
            "velocity": Quantity(vector, "m s-1", "velocity of the centre of mass"),
            "quaternion": Quantity(("body", "quaternion_part"), "1", "orientation, body to lab"),
            "angular_velocity": Quantity(vector, "rad s-1", "angular velocity in the lab"),
            "gap": Quantity(("body",), "m", "smallest gap to another body or a wall"),
            "contact_force": Quantity(("body",), "N", "force of sustained contact"),
            "linear_momentum": Quantity(("axis",), "kg m s-1", "total momentum"),
            "angular_momentum": Quantity(("axis",), "kg m2 s-1", "total angular momentum about the origin"),
            "kinetic_energy": Quantity((), "J", "kinetic energy"),
            "potential_energy": Quantity((), "J", "potential energy"),
            "dissipated_energy": Quantity((), "J", "energy lost in impacts"),
            "mode": Quantity(("body",), "1", "free, in contact or at rest"),
        }

    def observe(self, state: State) -> dict[str, Array]:
        indices = jnp.arange(self.n)
        bodies = jax.vmap(self.at)(state.q.array(), state.v.array(), indices)
        center, velocity = state.q.centre, state.v.velocity
        momentum = self.stock.mass[:, None] * velocity
        spins = jax.vmap(Body.angular_momentum)(bodies)
        return {
            "position": center,
            "velocity": velocity,
            "quaternion": state.q.quaternion,
            "angular_velocity": state.v.turning,
            "gap": jax.vmap(lambda i: self._smallest_gap(state, i))(indices),
            "contact_force": self.contact_force(state),
            "linear_momentum": jnp.sum(momentum, axis=0),
            "angular_momentum": jnp.sum(jnp.cross(center, momentum) + spins, axis=0),
            "kinetic_energy": jnp.sum(jax.vmap(Body.kinetic_energy)(bodies)),
            "potential_energy": -jnp.sum(self.stock.mass * (center @ self.gravity)),
            "dissipated_energy": state.ledger.lost,
            "mode": state.mode,
        }

    def observe_rows(self, states: State) -> dict[str, np.ndarray] | None:
        from saltus.systems.bodies.rows import observe_rows

        return observe_rows(self, states)

    def _smallest_gap(self, state: State, i: Array) -> Array:
        """The gap between a body and the nearest of the others and of the walls [m]."""
        body = self.body(state, i)
        found = [jnp.asarray(jnp.inf)]
        if self.n > 1:
            radii = self.radii()
            centers = jax.vmap(lambda c: self.nearest_image(body.center, c))(state.q.centre)
            away = jnp.sqrt(jnp.sum((centers - body.center) ** 2, axis=1)) - radii
            order = jnp.argsort(jnp.where(jnp.arange(self.n) == i, jnp.inf, away))[: min(NEAREST, self.n - 1)]

            def one(j):
                other = eqx.tree_at(lambda b: b.center, self.body(state, j), centers[j])
                return ellipsoid_gap(other, body) if self.quick_gaps else gap(other, body).gap

            found.append(jnp.min(jax.vmap(one)(order)))
        if self.n_walls:
            found.append(jnp.min(jax.vmap(lambda wall: wall_gap(wall, body).gap)(self.walls)))
        return jnp.min(jnp.stack(found))

    def coordinates(self) -> dict[str, list[Any]]:
        return {"axis": ["x", "y", "z"], "quaternion_part": ["w", "x", "y", "z"], "body": list(range(self.n))}

    def attributes(self) -> dict[str, str | int | float]:
        axes = np.asarray(jax.vmap(lambda shape: shape.proxy_axes())(self.stock.shape))
        exponents = np.asarray(getattr(self.stock.shape, "exponents", np.full_like(axes, 2.0)))
        walls = [] if self.walls is None else np.c_[self.walls.normal, self.walls.offset].tolist()
        return {
            "law": type(self.law).__name__,
            "paradox": self.paradox,
            "shape_axes": json.dumps(axes.tolist()),
            "shape_exponents": json.dumps(exponents.tolist()),
            "walls": json.dumps(walls),
            "period": json.dumps([] if self.period is None else np.asarray(self.period).tolist()),
        }

    def event_quantities(self) -> dict[str, Quantity]:
        return {
            "partner": Quantity((), "1", "index of the other body; walls are counted on from the bodies"),
            "impulse": Quantity((), "N s", "normal impulse"),
            "label": Quantity((), "1", "kind of the touch"),
            "normal_velocity": Quantity((), "m s-1", "rate of the gap before the event"),
            "gap_acceleration": Quantity((), "m s-2", "second derivative of the gap before the event"),
            "gap_jerk": Quantity((), "m s-3", "third derivative of the gap before the event"),
            "force_rate": Quantity((), "N s-1", "rate at which the contact force sets in"),
        }


@eqx.filter_jit
def _choose(system: RigidBodies, members: Array) -> RigidBodies:
    return system.only(members)


def row_of(tree, index):
    """One row of a stacked tree."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _list_of_bodies(bodies) -> list[Body]:
    """Bodies, each of which is one."""
    advice = "Give a list of bodies, such as [shapes.Body(shapes.Ball(0.5), density=1.0)]."
    if not isinstance(bodies, Iterable):
        raise TypeError(f"`bodies` must be several bodies, got a {type(bodies).__name__}. {advice}")
    bodies = list(bodies)
    for index, body in enumerate(bodies):
        checks.instance(f"bodies[{index}]", body, Body, advice)
    return bodies


def _slender(shapes) -> bool:
    """Whether shapes are no ellipsoids, or such that the quick search for their gaps may not converge."""
    if isinstance(shapes, Ball):
        return False
    axes = checks.concrete(shapes.axes) if isinstance(shapes, Ellipsoid) else None
    return axes is None or bool((axes.max(axis=-1) > SLENDER * axes.min(axis=-1)).any())


def _walls(walls: Sequence[tuple[Any, float]]) -> Wall | None:
    walls = list(walls)
    if not walls:
        return None
    normals, offsets = [normal for normal, _ in walls], [offset for _, offset in walls]
    xp = jnp if checks.concrete(normals) is None or checks.concrete(offsets) is None else np
    return Wall(*(numbers(part) for part in unit_walls(normals, offsets, xp)))


def _period(period) -> Array | None:
    if period is None:
        return None
    checks.shaped("period", period, (3,))
    checks.positive("period", period)
    return jnp.asarray(period, float)


@brief_program
def _radii_of(shapes: Any) -> Float[Array, " n"]:
    return jax.vmap(lambda shape: shape.radius())(shapes)
