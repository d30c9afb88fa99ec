"""What a body on the ground shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saltus.hybrid import Quantity, State
from saltus.hybrid.state import on_host
from saltus.numerics import rotation
from saltus.numerics.components import Vec
from saltus.programs import brief_program
from saltus.shapes.solid import Solid
from saltus.systems.ground_body.mechanics import FLIGHT, MODES, REST, MotionTerms, look

if TYPE_CHECKING:
    from saltus.systems.ground_body.system import BodyOnGround

QUANTITIES = {
    "position": Quantity(("axis",), "m", "position of the centre of mass"),
    "velocity": Quantity(("axis",), "m s-1", "velocity of the centre of mass"),
    "quaternion": Quantity(("quaternion",), "1", "orientation, body to lab"),
    "angular_velocity": Quantity(("axis",), "rad s-1", "angular velocity, lab frame"),
    "contact_point": Quantity(("axis",), "m", "the body's point that faces the ground"),
    "contact_normal": Quantity(("axis",), "1", "normal of the ground below that point"),
    "gap": Quantity((), "m", "distance of that point from the ground's tangent plane below it"),
    "jump_height": Quantity((), "m", "height of that point over the ground, along z"),
    "slip": Quantity(("axis",), "m s-1", "slip velocity at the contact; 0 in flight"),
    "spin": Quantity((), "rad s-1", "turning about the normal"),
    "normal_force": Quantity((), "N", "normal force"),
    "friction_force": Quantity(("axis",), "N", "friction force on the body"),
    "friction_torque": Quantity(("axis",), "N m", "moment of friction and rolling resistance at the contact"),
    "kinetic_energy": Quantity((), "J", "kinetic energy"),
    "potential_energy": Quantity((), "J", "potential energy, 0 at z = 0"),
    "dissipated_energy": Quantity((), "J", "energy lost to friction and impacts"),
    "mode": Quantity((), "1", "mode"),
}


def energies(system: BodyOnGround, state: State) -> tuple[Array, Array]:
    """Kinetic and potential energy [J]."""
    omega = rotation.rotate_back(rotation.normalise(state.q.quaternion), state.v.turning)
    kinetic = 0.5 * (system.solid.mass * jnp.sum(state.v.velocity**2) + omega @ system.solid.inertia @ omega)
    return kinetic, system.solid.mass * system.gravity * state.q.centre[2]


def observe(system: BodyOnGround, state: State, seen: MotionTerms) -> dict[str, Array]:
    """Everything worth showing of one state; at rest the forces are those that hold the body."""
    sight, now = seen.sight, seen.forces
    touches = state.mode != FLIGHT
    touch = sight.touch
    kinetic, potential = energies(system, state)
    torque = (touch.in_space(now.moment) + touch.normal * now.torque).array()
    height = jnp.where(touches, 0.0, jnp.maximum(touch.height, 0.0))
    return {
        "position": state.q.centre,
        "velocity": state.v.velocity,
        "quaternion": state.q.quaternion,
        "angular_velocity": state.v.turning,
        "contact_point": touch.point.array(),
        "contact_normal": touch.normal.array(),
        "gap": touch.gap,
        "jump_height": height,
        "slip": jnp.where(touches, touch.in_space(sight.slip).array(), 0.0),
        "spin": sight.spin,
        "normal_force": jnp.where(touches, now.load, 0.0),
        "friction_force": jnp.where(touches, touch.in_space(now.force).array(), 0.0),
        "friction_torque": jnp.where(touches, torque, 0.0),
        "kinetic_energy": kinetic,
        "potential_energy": potential,
        "dissipated_energy": state.ledger.lost,
        "mode": state.mode,
    }


def attributes(system: BodyOnGround) -> dict[str, str | int | float]:
    """The shapes, as meshes of points in the body's frame about the centre of mass, so that they can be drawn."""
    return {"mass": float(system.solid.mass), "mesh": json.dumps(meshes(system))}


def meshes(system: BodyOnGround, n: int = 17) -> list:
    """For each piece a grid of points of its surface: the support points of a grid of directions."""
    # Rays evenly over the proxy ellipsoid: normals would crowd at the edges.
    polar, around = np.meshgrid(np.linspace(0.0, np.pi, n), np.linspace(0.0, 2.0 * np.pi, 2 * n - 1), indexing="ij")
    rays = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=-1)
    return [np.round(np.asarray(points), 12).tolist() for points in _support_points(system.solid, rays)]


@brief_program
def _support_points(solid: Solid, rays: Any) -> list[Array]:
    """The support points of all pieces."""
    found = []
    for i in range(solid.n_pieces):
        shape, offset = solid.piece(i)
        normals = rays / shape.proxy_axes()
        normals = normals / jnp.sqrt(jnp.sum(normals * normals, axis=-1, keepdims=True))
        found.append(shape.support_pair(Vec.of(normals))[1].array() + offset)
    return found


def event_data(before: State, after: State) -> dict[str, Any]:
    """When an event was over, the mode it leads to, energy lost."""
    before, after = on_host(before, after)
    lost = float(after.ledger.lost - before.ledger.lost)
    return {"t": float(after.t), "into": MODES[int(after.mode)], "energy_loss": lost}


def stop_data(index: int, before: State, after: State) -> dict[str, Any]:
    """The same of a stop of slip or of turning."""
    data = event_data(before, after)
    if data["into"] not in ("roll", "rest"):
        del data["t"]  # what sets off again at once has already been given a moment for it; the stop was before
    return data


def landing_data(system: BodyOnGround, index: int, before: State, after: State) -> dict[str, Any]:
    """The same of an impact, with point, normal, impulse and speed."""
    before, after = on_host(before, after)
    point, normal, impulse, closing = (np.asarray(part) for part in _blow(system, before, after, np.asarray(index)))
    hit = {"point": point, "normal": normal, "impulse": impulse, "normal_speed": float(-closing)}
    return event_data(before, after) | hit


@brief_program
def _blow(system: BodyOnGround, before: State, after: State, index):
    sight = look(system, before, index)
    impulse = system.solid.mass * (after.v.velocity - before.v.velocity)
    return sight.touch.point.array(), sight.touch.normal.array(), impulse, sight.closing


def at_rest(state: State) -> bool:
    """Whether the body rests."""
    return int(state.mode) == REST
