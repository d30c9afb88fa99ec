"""From the contacts of a crowd to the small systems that follow them."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from saltus.numerics.components import Turn, Vec
from saltus.shapes.ball import Ball
from saltus.shapes.ellipsoid import Ellipsoid
from saltus.systems.bodies.bond import FLATNESS, LEFT, Bond, Contacts
from saltus.systems.bodies.closed import fill_rows
from saltus.systems.bodies.columns import ARGUMENTS, HEAD, TURNING, marks_in, rows_in
from saltus.systems.bodies.lying import Face, LyingBody
from saltus.systems.bodies.state import motion_of
from saltus.systems.bodies.touch import face

LYING = 1e-9  # of kappa, below which a contact is on a flat
TILT = 1e-15  # by which a body that rocks on a flat is taken to have tilted, so that its contact point can set out


@dataclasses.dataclass
class Hold:
    """What a crowd remembers of a contact that lasts.

    Args:
        slack: Force below zero that still counts as none [N].
        sticks: Whether it sticks.
        creeps: Whether it has only begun to slip.
        heading: Direction of its slip, if that has only begun.
        inside: Whether it is within the spot of a face.
        lies: Whether its body lies on a face.
        rests: Whether it rests there.
    """

    slack: float
    sticks: bool = False
    creeps: bool = False
    heading: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(2))
    inside: bool = False
    lies: bool = False
    rests: bool = False


def groups(bonds, bodies_of) -> list[tuple[list[int], list]]:
    """Bodies that hang together by contacts, each with its contacts."""
    found: list[tuple[set[int], list]] = []
    for bond in sorted(bonds):
        bodies, contacts = set(bodies_of(bond)), [bond]
        for group in [group for group in found if group[0] & bodies]:
            found.remove(group)
            bodies |= group[0]
            contacts += group[1]
        found.append((bodies, contacts))
    return [(sorted(bodies), sorted(contacts)) for bodies, contacts in found]


def bond_of(plan, members: list[int], contacts: list, q, v) -> Bond:
    """The band of bodies that hang together by these contacts, as they are now."""
    system = plan.system
    contacts = sorted(contacts, key=lambda contact: (contact[0] >= system.n, contact))
    places = {member: k for k, member in enumerate(members)}
    pairs = [contact for contact in contacts if contact[0] < system.n]
    walls = [contact for contact in contacts if contact[0] >= system.n]
    first, second = np.array(pairs, int).reshape(-1, 2).T
    size = float(plan.radius[members].max())
    motion = motion_of(v[members])
    speed = float(np.linalg.norm(motion.velocity - motion.velocity.mean(axis=0), axis=1).max())
    if walls:
        speed = float(np.linalg.norm(motion.velocity, axis=1).max())
    spin = float(np.linalg.norm(motion.turning, axis=1).max())
    pace = spin + speed / size + np.sqrt(np.linalg.norm(plan.gravity) / size) + 1e-3
    holds = [plan.bonds[contact] for contact in contacts]
    rows = np.concatenate([q[members], motion.velocity, motion.turning], axis=1)
    bond = Bond(
        members=tuple(members),
        stock=_rows_of(system.stock, np.array(members)),
        parts=_parts(system, pairs, walls),
        contacts=Contacts(
            names=contacts,
            first=np.array([places[i] for i in first], int),
            second=np.array([places[contact[1]] for contact in contacts], int),
            shift=plan.shift(q[first], q[second]),
            slack=np.array([hold.slack for hold in holds]),
            sticks=np.array([hold.sticks for hold in holds]),
            heading=np.array([hold.heading for hold in holds]),
            creeps=np.array([hold.creeps for hold in holds]),
        ),
        start=np.concatenate([np.zeros(HEAD), rows.ravel(), _marks(plan, contacts, q, v).ravel()]),
        gravity=plan.gravity,
        mu=plan.mu,
        stop=plan.stop,
        size=size,
        pace=pace,
        flatness=0.0,
        longest=plan.longest_leg(members, v),
        face=Face.of(plan, contacts[0], q) if len(contacts) == 1 else None,
    )
    if bond.face is not None:
        holds[0].inside = bond.face.outside(bond.start[-3:]) < (LEFT if holds[0].inside else 0.0)
        bond = dataclasses.replace(bond, inside=holds[0].inside)
    return _on_flats(bond, system)


def band_of(plan, members: list[int], contacts: list, q, v) -> Bond | LyingBody:
    """The band of these bodies for how they move on: one that lies on a face does so until another touches it."""
    bond, holds = bond_of(plan, members, contacts, q, v), [plan.bonds[contact] for contact in contacts]
    lies = len(holds) == 1 and holds[0].lies and bond.face is not None
    return LyingBody.of(bond, holds[0].rests) if lies else bond


def _on_flats(bond: Bond, system) -> Bond:
    """With the independent variable that suits its shapes; bodies that rock on a flat are set on their way."""
    if isinstance(system.stock.shape, Ball | Ellipsoid):
        return bond
    flatness = FLATNESS / bond.size
    closed = bond.closed_contacts(bond.start, flatness)
    flat = closed.kappa < LYING
    still = closed.rocking * bond.size <= float(system.settle_speed)
    if (flat & still).any():
        return bond
    y = bond.start.copy()
    marks = marks_in(y, bond.k)
    for c in np.flatnonzero(flat).tolist():
        _set_out(bond, closed, c, marks[c])
    return dataclasses.replace(bond, start=y, flatness=flatness)


def _set_out(bond: Bond, closed, c: int, marks: np.ndarray) -> None:
    """Move the marks of a contact on a flat to where a tilt below rounding would take them."""
    rows = rows_in(bond.start, bond.k)
    second = bond.contacts.second[c]
    body = _rows_of(bond.stock, second).with_motion(*(jnp.asarray(rows[second, part]) for part in ARGUMENTS))
    n = closed.normal[c]
    omega = rows[second, TURNING].copy()
    if c < bond.contacts.n_pairs:
        omega -= rows[bond.contacts.first[c], TURNING]
    parting = np.cross(n, omega)
    towards = -n - TILT * parting / np.linalg.norm(parting)
    turn = np.asarray(body.turn().to_body(_vec(towards)).array())
    moved = np.asarray(body.shape.support_point(jnp.asarray(turn))) - marks[1]
    marks[1] += moved
    if c < bond.contacts.n_pairs:
        first = bond.contacts.first[c]
        one = _rows_of(bond.stock, first).with_motion(*(jnp.asarray(rows[first, part]) for part in ARGUMENTS))
        marks[0] += np.asarray(one.turn().to_body(body.turn().to_lab(_vec(moved))).array())


def _vec(array):
    return Vec.of(jnp.asarray(array))


def _marks(plan, contacts: list, q, v) -> np.ndarray:
    """Contact points in the frames of both bodies."""
    marks = np.zeros((len(contacts), 2, 3))
    for k, contact in enumerate(contacts):
        one, two = plan.partners(contact, q, v)
        seen = face(one, two, plan.system.gravity).separation
        marks[k, 1] = _mark(two, seen.point2)
        if contact[0] < plan.system.n:
            marks[k, 0] = _mark(one, seen.point1)
    return marks


def _mark(body, point) -> np.ndarray:
    away = np.asarray(point) - np.asarray(body.center)
    return np.array([*Turn.of_quaternion(np.asarray(body.quaternion)).to_body(Vec(*away))])


def _parts(system, pairs: list, walls: list) -> tuple:
    """The bodies of pairs, and walls with their bodies; None where there are none."""
    of_pairs = of_walls = None
    if pairs:
        ones, twos = fill_rows(np.array(pairs, int)).T
        of_pairs = (_rows_of(system.stock, ones), _rows_of(system.stock, twos))
    if walls:
        bodies = _rows_of(system.stock, fill_rows(np.array(walls))[:, 1])
        of_walls = (jnp.asarray(fill_rows(_planes(system, walls))), bodies)
    return of_pairs, of_walls


def _planes(system, walls: list) -> np.ndarray:
    if not walls:
        return np.zeros((0, 4))
    which = np.array([wall - system.n for wall, _ in walls])
    return np.concatenate([np.asarray(system.walls.normal), np.asarray(system.walls.offset)[:, None]], axis=1)[which]


def _rows_of(tree, index):
    return jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf)[index]), tree)
