"""Bodies that stay in contact for a while under finite contact forces."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from saltus.contacts.gap import Separation, gap, separation_of
from saltus.contacts.pair import Pair, followed
from saltus.contacts.wall import Wall, wall_gap
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State
from saltus.numerics import rotation
from saltus.numerics.components import Vec
from saltus.shapes.body import Body
from saltus.systems.bodies.touch import Meeting, meeting

HOLD = 10.0  # rate at which a gap that has opened by rounding is closed again, in units of the motion's own


class Pairs(eqx.Module):
    """Pairs of bodies, by their numbers; `shift` puts the first next to the second in a periodic box."""

    first: Int[Array, " c"]
    second: Int[Array, " c"]
    shift: Float[Array, "c 3"]


class Solved(eqx.Module):
    """The contact forces at an instant, and what they come from.

    Args:
        bodies: The bodies, stacked.
        meetings: How they meet: pairs, then walls, each stacked.
        marks: Contact points as the state has them, in the frames of both bodies [m].
        corrected: The same moved to the closest points [m].
        forces: Pairs first, then walls [N].
        effects: Accelerations of each body per force.
        tolerance: The size below which each force counts as zero [N].
    """

    bodies: Body
    meetings: list[Meeting]
    marks: Array
    corrected: Array
    forces: Array
    effects: Array
    tolerance: Array


class Bond(AbstractSystem):
    """A few bodies of a crowd that press on each other, and free ones near by.

    Frictionless rigid contact: the forces keep the second derivative of every closed gap at zero and do no work. The
    contact points are followed with the motion, so no gap is searched for.

    Args:
        stock: The bodies, stacked.
        gravity: Uniform acceleration [m s-2].
        walls: All walls, stacked, or None.
        contacts: Pairs in contact.
        wall_contacts: (wall, body) in contact.
        watched: Pairs that may touch.
        watched_walls: Which body may touch which wall.
        pace: Rate of the motion; sets how fast errors of the contact are taken back [s-1].
    """

    kind: ClassVar[str] = "bond"

    stock: Body
    gravity: Float[Array, " 3"]
    walls: Wall | None
    contacts: Pairs
    wall_contacts: Int[Array, "w 2"]
    watched: Pairs
    watched_walls: Bool[Array, "k walls"]
    pace: Array

    @property
    def k(self) -> int:
        """How many bodies."""
        return self.stock.mass.shape[0]

    def start(self, t: float, q: np.ndarray, v: np.ndarray) -> State:
        """The state from rows of the crowd; finds the contact points."""
        marks = np.zeros((self.contacts.first.shape[0], 2, 3))
        for k, (i, j, shift) in enumerate(zip(*_fields(self.contacts), strict=True)):
            one, two = (
                _row(self.stock, m).moved(q[m, :3] + d, v[m, :3], jnp.asarray(q[m, 3:]), v[m, 3:6])
                for m, d in ((int(i), shift), (int(j), jnp.zeros(3)))
            )
            seen = gap(one, two)
            marks[k] = _mark(one, seen.point1), _mark(two, seen.point2)
        return State.of(t=t, q=np.concatenate([q.ravel(), marks.ravel()]), v=v[:, :6], mode=0)

    def _bodies(self, q: Array, v: Array) -> Body:
        return jax.vmap(lambda body, q, v: body.moved(q[:3], v[:3], q[3:7], v[3:6]))(self.stock, q, v)

    def _unpacked(self, state: State) -> tuple[Body, Array]:
        rows = state.q[: 7 * self.k].reshape(self.k, 7)
        return self._bodies(rows, state.v), state.q[7 * self.k :].reshape(-1, 2, 3)

    # ---- contact forces -----------------------------------------------------------------------

    def _meetings(self, bodies: Body, marks: Array) -> tuple[list[Meeting], Array]:
        """Every contact (pairs, then walls, each stacked), and the marks moved to the closest points."""
        found, corrected = [], marks
        if marks.shape[0]:

            def of_pair(first, second, shift, mark):
                one, two = _moved(_row(bodies, first), shift), _row(bodies, second)
                seen = closest_next_to(one, two, mark)
                moved = jnp.stack([_mark(one, seen.point1), _mark(two, seen.point2)])
                return meeting(one, two, seen, self.gravity), moved

            pairs, corrected = jax.vmap(of_pair)(*_fields(self.contacts), marks)
            found.append(pairs)
        if self.wall_contacts.shape[0]:

            def of_wall(contact):
                wall, body = _row(self.walls, contact[0]), _row(bodies, contact[1])
                return meeting(wall, body, wall_gap(wall, body), self.gravity)

            found.append(jax.vmap(of_wall)(self.wall_contacts))
        return found, corrected

    def _solved(self, state: State) -> Solved:
        bodies, marks = self._unpacked(state)
        found, corrected = self._meetings(bodies, marks)
        levers = self._levers(bodies, found)
        inverse = jax.vmap(Body.inverse_inertia)(bodies)
        effects = jnp.concatenate(
            [levers[..., :3] / self.stock.mass[:, None], jnp.einsum("kij,ckj->cki", inverse, levers[..., 3:])], axis=-1
        )
        coupling = jnp.einsum("cki,dki->cd", levers, effects)
        hold = HOLD * self.pace
        free = jnp.concatenate(
            [met.motion.a_eff + 2.0 * hold * met.motion.v + hold**2 * met.motion.gap for met in found]
        )
        # A body held more than once over leaves forces undetermined: take those of least size.
        own = jnp.diagonal(coupling)
        if own.shape[0] == 1:
            forces = -free / own
        else:
            forces = jnp.linalg.solve(coupling + 1e-13 * jnp.diag(own), -free)
        tolerance = jnp.concatenate([met.tolerances.a_eff for met in found]) / own
        return Solved(bodies, found, marks, corrected, forces, effects, tolerance)

    def _levers(self, bodies: Body, found: list[Meeting]) -> Array:
        """Generalised direction of each contact force, by body: along the normal, and the torque."""
        rows = []
        for met, is_pair in zip(found, self._sorts(), strict=True):
            n, at = met.separation.normal, met.separation
            if is_pair:

                def of_pair(first, second, shift, n, point1, point2):
                    one, two = _row(bodies, first), _row(bodies, second)
                    on1 = jnp.concatenate([-n, -jnp.cross(point1 - one.center - shift, n)])
                    on2 = jnp.concatenate([n, jnp.cross(point2 - two.center, n)])
                    return jnp.zeros((self.k, 6)).at[first].add(on1).at[second].add(on2)

                rows.append(jax.vmap(of_pair)(*_fields(self.contacts), n, at.point1, at.point2))
            else:

                def of_wall(contact, n, point):
                    body = _row(bodies, contact[1])
                    lever = jnp.concatenate([n, jnp.cross(point - body.center, n)])
                    return jnp.zeros((self.k, 6)).at[contact[1]].add(lever)

                rows.append(jax.vmap(of_wall)(self.wall_contacts, n, at.point2))
        return jnp.concatenate(rows)

    def _sorts(self) -> list[bool]:
        """For each stack of meetings whether it is one of pairs."""
        return [True] * bool(self.contacts.first.shape[0]) + [False] * bool(self.wall_contacts.shape[0])

    # ---- the hybrid contract ------------------------------------------------------------------

    def look(self, state: State) -> tuple[Rate, Array, tuple[Array, Array]]:
        """Rates, all guards, and the members as rows of the crowd, at once: the forces are the costly part of each.

        The rows are place and orientation; velocities and the sum of contact forces.
        """
        solved = self._solved(state)
        return self._rate(state, solved), self._guards(state, solved), self._rows(state, solved)

    def rate(self, state: State) -> Rate:
        return self._rate(state, self._solved(state))

    def guards(self) -> tuple[Guard, ...]:
        guards = [Guard("release", lambda state: self._release(self._solved(state)))]
        if self.watched.first.shape[0]:
            guards.append(Guard("touch", self._gaps))
        if self.walls is not None:
            guards.append(Guard("wall", self._wall_gaps, lambda state: self.watched_walls.ravel()))
        return tuple(guards)

    def _guards(self, state: State, solved: Solved) -> Array:
        others = [guard.function(state) for guard in self.guards()[1:]]
        return jnp.concatenate([self._release(solved), *others])

    @staticmethod
    def _release(solved: Solved) -> Array:
        """A contact ends as its force falls through zero, or once one that was never above zero pulls."""
        return jnp.concatenate([solved.forces, solved.forces + solved.tolerance])

    def _rows(self, state: State, solved: Solved) -> tuple[Array, Array]:
        n_pairs, forces = self.contacts.first.shape[0], solved.forces
        on = jnp.zeros(self.k)
        on = on.at[self.contacts.first].add(forces[:n_pairs]).at[self.contacts.second].add(forces[:n_pairs])
        on = on.at[self.wall_contacts[:, 1]].add(forces[n_pairs:])
        return state.q[: 7 * self.k].reshape(self.k, 7), jnp.concatenate([state.v, on[:, None]], axis=1)

    def _rate(self, state: State, solved: Solved) -> Rate:
        bodies = solved.bodies
        turning = jax.vmap(rotation.rate_of_quaternion)(bodies.quaternion, bodies.angular_velocity)
        q = jnp.concatenate([bodies.velocity, turning], axis=1).ravel()
        spin = jax.vmap(_euler)(bodies)
        pull = jnp.broadcast_to(self.gravity, spin.shape)
        v = jnp.concatenate([pull, spin], axis=1) + jnp.einsum("c,cki->ki", solved.forces, solved.effects)
        moving = jnp.zeros((0, 2, 3))
        if solved.marks.shape[0]:

            def slide(first, second, _, motion):
                one = rotation.rotate_back(bodies.quaternion[first], motion.contact_velocity1)
                return jnp.stack([one, rotation.rotate_back(bodies.quaternion[second], motion.contact_velocity2)])

            moving = jax.vmap(slide)(*_fields(self.contacts), solved.meetings[0].motion)
            moving = moving + HOLD * self.pace * (solved.corrected - solved.marks)
        return Rate(q=jnp.concatenate([q, moving.ravel()]), v=v, ledger=jnp.zeros_like(state.ledger))

    def _gaps(self, state: State) -> Array:
        bodies, _ = self._unpacked(state)

        def of(first, second, shift):
            return gap(_moved(_row(bodies, first), shift), _row(bodies, second)).gap

        return jax.vmap(of)(*_fields(self.watched))

    def _wall_gaps(self, state: State) -> Array:
        bodies, _ = self._unpacked(state)
        return jax.vmap(lambda body: jax.vmap(lambda wall: wall_gap(wall, body).gap)(self.walls))(bodies).ravel()

    def project(self, state: State) -> State:
        rows = state.q[: 7 * self.k].reshape(self.k, 7)
        rows = rows.at[:, 3:].set(rotation.normalised(rows[:, 3:]))
        return eqx.tree_at(lambda s: s.q, state, jnp.concatenate([rows.ravel(), state.q[7 * self.k :]]))

    def quantities(self) -> dict[str, Quantity]:
        return {}

    def observe(self, state: State) -> dict[str, Array]:
        return {}


def closest_next_to(one: Body, two: Body, marks: Array) -> Separation:
    """Closest points next to two marks in the bodies' frames."""
    pair = Pair.of(one, two)
    near1, near2 = pair.turn1.to_lab(Vec.of(marks[0])), pair.offset + pair.turn2.to_lab(Vec.of(marks[1]))
    n, point1, point2 = followed(pair, near1, near2, steps=1)
    return separation_of(one, n, point1, point2, n.dot(point2 - point1))


def _euler(body: Body) -> Array:
    """Angular acceleration of free rotation."""
    return -body.inverse_inertia() @ jnp.cross(body.angular_velocity, body.angular_momentum())


def _mark(body: Body, point: Array) -> Array:
    return rotation.rotate_back(body.quaternion, point - body.center)


def _moved(body: Body, shift: Array) -> Body:
    return eqx.tree_at(lambda b: b.center, body, body.center + shift)


def _row(tree, index: Array):
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _fields(pairs: Pairs) -> tuple[Array, Array, Array]:
    return pairs.first, pairs.second, pairs.shift
