"""Forces at the one contact of a body with the ground, in every mode.

A contact has six rows: along the normal n; slip along e1, e2; turning about e1, e2; turning about n. In each the
motion is held (the row's acceleration is given, its force follows) or obeys a law (its force is a known share of the
normal force). Held and lawful rows together are one linear system for all forces at once, so that normal force and
friction are right together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.contacts.ground import FacingMotion, GroundTouch, facing_motion, ground_touch
from saltus.laws.friction import PointLimit
from saltus.laws.friction.base import direction
from saltus.laws.friction.limit import LEAST
from saltus.numerics import rotation
from saltus.numerics.components import Sym, Turn, Vec
from saltus.systems.ball_common import size
from saltus.systems.ground_body.state import GroundMotion

if TYPE_CHECKING:
    from saltus.hybrid import State
    from saltus.systems.ground_body.system import BodyOnGround

MODES = ("flight", "slide", "skid", "roll", "rest")
FLIGHT, SLIDE, SKID, ROLL, REST = range(5)
SPOT_ROUNDS = 12  # of the radius of a spot that grows with the load: each round cuts the error by 3 and more

# Which rows each mode holds: normal, slip, slip, turning about e1, e2, turning about n.
_POINT = [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]]
_SPOT = [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 1], [1, 1, 1, 1, 1, 1]]
TURNS_AT_ONCE = 1e2  # times as fast as what counts as none
HELD = {True: np.array(_POINT, bool), False: np.array(_SPOT, bool)}


def held_rows(system: BodyOnGround, mode: Array | int) -> Array:
    """Which rows a mode holds; by comparison, since a table that is looked up cannot be computed lane by lane."""
    return ((jnp.arange(len(MODES)) == mode)[:, None] & HELD[system.point]).any(axis=0)


class Sight(eqx.Module):
    """A body and the ground below it, as far as geometry and velocities tell.

    Args:
        touch: The facing points of the piece that touches.
        arm: From the centre of mass to the body's facing point [m].
        facing: How the facing points move.
        drift: Velocity of the body's material at its facing point [m/s].
        omega: Angular velocity, lab [rad/s].
        gyro: Angular acceleration in flight, lab [rad/s2].
        turn: Orientation, body to lab.
        mobility: Inverse of the inertia tensor, lab [1/(kg m2)].
    """

    touch: GroundTouch
    arm: Vec
    facing: FacingMotion
    drift: Vec
    omega: Vec
    gyro: Vec
    turn: Turn
    mobility: Sym

    @property
    def slip(self) -> Float[Array, " 2"]:
        """Slip along e1, e2 [m/s]."""
        return jnp.stack(self.touch.tangential(self.drift))

    @property
    def rolling(self) -> Float[Array, " 2"]:
        """Angular velocity along e1, e2 [rad/s]."""
        return jnp.stack(self.touch.tangential(self.omega))

    @property
    def spin(self) -> Array:
        """Angular velocity about the normal [rad/s]."""
        return self.touch.normal.dot(self.omega)

    @property
    def contact_motion(self) -> Motion:
        """Slip, rolling and spin, which laws are asked with."""
        return Motion(self.slip, self.rolling, self.spin)

    @property
    def motion(self) -> GroundMotion:
        """Velocity of the centre of mass, and angular velocity."""
        return GroundMotion((self.drift - self.omega.cross(self.arm)).array(), self.omega.array())

    @property
    def closing(self) -> Array:
        """Rate of the gap [m/s]."""
        return self.touch.normal.dot(self.drift)


class Motion(eqx.Module):
    """What a law of friction is asked with: slip, rolling and spin, or only their directions."""

    slip: Float[Array, " 2"]
    rolling: Float[Array, " 2"]
    spin: Array


class Wrench(eqx.Module):
    """What the ground does to the body, and what follows.

    Args:
        load: Normal force [N].
        force: Friction force along e1, e2 [N].
        moment: Moment about e1, e2 at the contact [N m].
        torque: Moment about the normal [N m].
        acceleration: Of the centre of mass [m/s2].
        angular_acceleration: In the lab [rad/s2].
        gain: Accelerations of the six rows.
        stiffness: Acceleration of the gap per normal force, friction included [1/kg]; unique while it is > 0.
    """

    load: Array
    force: Float[Array, " 2"]
    moment: Float[Array, " 2"]
    torque: Array
    acceleration: Float[Array, " 3"]
    angular_acceleration: Float[Array, " 3"]
    gain: Float[Array, " 6"]
    stiffness: Array

    @staticmethod
    def nothing() -> Wrench:
        """No force at all; what a search begins with."""
        return Wrench(*(jnp.zeros(n) for n in ((), 2, 2, (), 3, 3, 6, ())))


@eqx.filter_jit
def look(system: BodyOnGround, state: State, piece: Array | int | None = None, newton_steps: int = 2) -> Sight:
    """Where the body faces the ground, with the piece that touches or a given one."""
    index = active_piece(state) if piece is None else piece
    shape, offset = system.solid.piece(index)
    center, turn = Vec.of(state.q.centre), Turn.of_quaternion(rotation.normalise(state.q.quaternion))
    place = state.q.facing.reshape(-1, 2)[0 if system.solid.n_pieces == 1 else index]
    # In flight the place has only gone with the centre.
    flies = state.mode == FLIGHT
    middle = center + turn.to_lab(Vec.of(offset))
    touch = ground_touch(system.surface, shape, middle, turn, place, newton_steps, flies)
    mobility = turn.tensor_to_lab(Sym.of(system.solid.inertia).inverse())
    return _sight(system, touch, touch.point - center, state.v, turn, mobility)


class MotionTerms(eqx.Module):
    """All that the motion of a state asks for, computed once.

    Args:
        sights: Every piece of the body and the ground below it, stacked.
        sight: The piece that touches.
        forces: What the ground does to it, as if it touched.
    """

    sights: Sight
    sight: Sight
    forces: Wrench


@eqx.filter_jit
def see(system: BodyOnGround, state: State) -> MotionTerms:
    """Where all pieces face the ground, and the forces of contact."""
    if system.solid.n_pieces == 1:
        sight = look(system, state)
        sights = jax.tree.map(lambda part: part[None], sight)
    else:
        sights = jax.vmap(lambda piece: look(system, state, piece))(jnp.arange(system.solid.n_pieces))
        touching = active_piece(state)
        sight = jax.tree.map(lambda part: jax.lax.dynamic_index_in_dim(part, touching, 0, keepdims=False), sights)
    return MotionTerms(sights, sight, wrench(system, sight, jnp.maximum(state.mode, SLIDE)))


@eqx.filter_jit
def with_velocity(system: BodyOnGround, sight: Sight, v: GroundMotion) -> Sight:
    """The same place with other velocities."""
    return _sight(system, sight.touch, sight.arm, v, sight.turn, sight.mobility)


def _sight(system: BodyOnGround, touch: GroundTouch, arm: Vec, v: GroundMotion, turn: Turn, mobility: Sym) -> Sight:
    velocity, omega = Vec.of(v.velocity), Vec.of(v.turning)
    facing = facing_motion(touch, arm, velocity, omega)
    momentum = turn.to_lab(Sym.of(system.solid.inertia) @ turn.to_body(omega))
    gyro = mobility @ momentum.cross(omega)
    return Sight(touch, arm, facing, velocity + omega.cross(arm), omega, gyro, turn, mobility)


def active_piece(state: State) -> Array:
    """Which of the body's pieces touches the ground, or touched it last; the first where it would lie on two."""
    return jnp.maximum(state.ledger.piece, 0.0).astype(int)


def rows(sight: Sight) -> tuple[Float[Array, "3 3"], Float[Array, "6 3"]]:
    """For unit forces of the first three rows the force; and for all six the moment about the centre of mass."""
    pushes = jnp.stack([vector.array() for vector in (sight.touch.normal, *sight.touch.tangents)])
    turns = jnp.concatenate([jnp.cross(sight.arm.array(), pushes), pushes[1:], pushes[:1]])
    return pushes, turns


def row_mobility(system: BodyOnGround, sight: Sight) -> Float[Array, "6 6"]:
    """Accelerations of the rows per force in the rows; symmetric and positive."""
    _, turns = rows(sight)
    straight = jnp.where(np.arange(6) < 3, 1.0 / system.solid.mass, 0.0)  # the pushes are orthogonal unit vectors
    return _product(_product(turns, sight.mobility.array()), turns.T) + jnp.diag(straight)


def _product(a: Array, b: Array) -> Array:
    """The product of two small matrices, or of one and a vector, as sums of products.

    What XLA makes of `@` is a piece of code for large matrices, which takes longer to compile and to run.
    """
    if b.ndim == 1:
        return jnp.sum(a * b, axis=-1)
    return jnp.sum(a[..., :, None] * b, axis=-2)


def point_mobility(system: BodyOnGround, sight: Sight) -> Float[Array, "3 3"]:
    """Change of the velocity at the contact per impulse there, in the lab [1/kg]."""
    x, y, z = sight.arm
    zero = jnp.zeros_like(x)
    columns = [Vec(zero, z, -y), Vec(-z, zero, x), Vec(y, -x, zero)]  # the arm times the axes
    turned = [sight.mobility @ column for column in columns]
    spread = jnp.stack([jnp.stack([column.dot(other) for other in turned]) for column in columns])
    return jnp.eye(3) / system.solid.mass + spread


def shares(system: BodyOnGround, motion: Motion, sight: Sight, load: Array) -> Float[Array, " 6"]:
    """Forces of the rows per normal force, as the laws have them."""
    law = system.law_under(load, sight.touch)
    reaction = jax.tree.map(lambda part: part / load, law.reaction(motion.slip, motion.spin, load, motion.rolling))
    moment, torque = reaction.rolling_moment, reaction.spin_torque
    if system.resisted:
        lever = system.lever(sight.touch)
        if system.point:
            against = lever * direction(jnp.append(motion.rolling, motion.spin))
            moment, torque = moment - against[:2], torque - against[2]
        else:
            moment = moment - lever * direction(motion.rolling)
    return jnp.concatenate([jnp.ones(1), reaction.force, moment, torque[None]])


@eqx.filter_jit
def wrench(system: BodyOnGround, sight: Sight, mode: Array | int, motion: Motion | None = None) -> Wrench:
    """Forces and accelerations in a mode of contact; `motion` stands in for the body's own in the laws.

    With the body's own as `motion` its direction is not eased (`_ease_turning`), which matters only where it slides.
    """
    held, eases = held_rows(system, mode), motion is None and system.resisted and not system.load_matters
    motion = _known_direction(system, sight) if motion is None else motion
    mobility, free = row_mobility(system, sight), free_gain(system, sight)

    def slide(share: Array) -> tuple[Array, Array]:
        """A body that slides is held along the normal only: all forces are shares of the one there."""
        response = jnp.sum(mobility[0] * share)
        return -free[0] / response * share, response

    def slide_eased(share: Array) -> tuple[Array, Array]:
        forces, _ = slide(share)
        gain = free + jnp.sum(mobility * forces, axis=1)
        eased = _ease_turning(system, sight, motion, forces[0], gain, mobility)
        return slide(shares(system, eased, sight, jnp.ones(())))

    def under(load: Array) -> tuple[Array, Array]:
        return jax.lax.cond(
            mode == SLIDE,
            slide_eased if eases else slide,
            lambda share: _solve(system, sight, held, share, mobility, free),
            shares(system, motion, sight, load),
        )

    if not system.load_matters:
        return _wrench(system, sight, *under(jnp.ones(())), mobility, free)
    weight = system.solid.mass * system.gravity

    def improve(_, carry):
        forces, stiffness = under(carry[0])
        return jnp.maximum(forces[0], 1e-12 * weight), forces, stiffness

    _, forces, stiffness = jax.lax.fori_loop(0, SPOT_ROUNDS, improve, (weight, jnp.zeros(6), jnp.zeros(())))
    return _wrench(system, sight, forces, stiffness, mobility, free)


def _known_direction(system: BodyOnGround, sight: Sight) -> Motion:
    """The body's own motion; derivatives leave out that of slip so slow that friction turns it within no time."""
    own = sight.contact_motion
    # A spot is smaller than the body: its rim is slower than this.
    speed = size(own.slip) if system.point else size(own.slip) + system.solid.radius() * jnp.abs(own.spin)
    slow, given = speed < TURNS_AT_ONCE * system.precision * system.speed, jax.lax.stop_gradient(own)
    spin = own.spin if system.point else jnp.where(slow, given.spin, own.spin)
    return Motion(jnp.where(slow, given.slip, own.slip), own.rolling, spin)


def _ease_turning(
    system: BodyOnGround, sight: Sight, motion: Motion, load: Array, gain: Array, mobility: Array
) -> Motion:
    """The motion with the direction of its turning as it is a moment later, where it turns slowly.

    The resistance to rolling, a moment of given size against the turning, turns a slow turning towards its own
    direction at a rate that grows like its inverse: a stone that slides and hardly turns would be followed in steps of
    microseconds for seconds. Here that rate is bounded: beyond the bound the law is asked with the direction that an
    implicit step finds, which lags no more. The bound is such that the turning differs by less than
    what counts as none (`jumps.near`): turning slower than A / bound, with A its acceleration by the resistance,
    lags behind a direction that changes by Q per second by at most A Q / bound^2, and that is `precision` times Q.
    """
    n = 3 if system.point else 2
    turning = jnp.append(motion.rolling, motion.spin)[:n]
    speed = size(turning)
    ahead = turning / jnp.where(speed > 0.0, speed, 1.0)
    across = jnp.eye(n) - jnp.outer(ahead, ahead)
    pull = jnp.maximum(load, 0.0) * system.resistance(jnp.ones(()), sight.touch)
    response = pull * mobility[3 : 3 + n, 3 : 3 + n]
    most = jnp.sqrt(jnp.maximum(jnp.trace(response), LEAST) / system.precision)
    # The moment over the turning; smooth where the bound begins to matter.
    slow = most * speed / jnp.maximum(jnp.trace(response), LEAST)
    moment = jnp.maximum(1.0 - slow, 0.0) ** 2 / (most * jnp.maximum(speed, LEAST))
    matrix = jnp.eye(n) + moment * _product(_product(across, response), across)
    aside = solve_backwards(matrix, (moment * _product(across, gain[3 : 3 + n]))[:, None])[:, 0]
    turned = turning + speed * _product(across, aside)
    return Motion(motion.slip, turned[:2], turned[2] if system.point else motion.spin)


def free_gain(system: BodyOnGround, sight: Sight) -> Float[Array, " 6"]:
    """Accelerations of the rows without the ground."""
    pushes, turns = rows(sight)
    carried = sight.omega.cross(sight.facing.arm_rate)
    frame = _product(pushes, (fall(system) + carried).array())
    turned = sight.facing.normal_rate.dot(sight.drift)
    return _product(turns, sight.gyro.array()) + jnp.concatenate([frame[:1] + turned, frame[1:], jnp.zeros(3)])


def fall(system: BodyOnGround) -> Vec:
    """Acceleration in flight [m/s2]."""
    nothing = jnp.zeros_like(system.gravity)
    return Vec(nothing, nothing, -system.gravity)


def _solve(system: BodyOnGround, sight: Sight, held, share, mobility, free) -> tuple[Float[Array, " 6"], Array]:
    """All forces at once, from the rows that are held and those that obey a law; and the stiffness (see `Wrench`)."""
    normal_rate = sight.facing.normal_rate
    # What is held stays so while the normal turns: an angular velocity along the normal, or one across it.
    turning = sight.spin * jnp.stack(sight.touch.tangential(normal_rate))
    target = jnp.concatenate([jnp.zeros(3), turning, -normal_rate.dot(sight.omega)[None]])
    n = 6 if system.resisted or not system.point else 3
    lawful = jnp.eye(n) - jnp.outer(share[:n] * (jnp.arange(n) > 0), jnp.eye(n)[0])
    matrix = jnp.where(held[:n, None], mobility[:n, :n], lawful)
    wanted = jnp.stack([jnp.where(held, target - free, 0.0)[:n], jnp.eye(n)[0]], axis=-1)
    answer = solve_backwards(matrix, wanted)
    return jnp.concatenate([answer[:, 0], jnp.zeros(6 - n)]), 1.0 / answer[0, 1]


def _wrench(system: BodyOnGround, sight: Sight, forces, stiffness, mobility, free) -> Wrench:
    """What follows from the forces of the rows."""
    force, moment = sum_rows(sight, forces)
    return Wrench(
        load=forces[0],
        force=forces[1:3],
        moment=forces[3:5],
        torque=forces[5],
        acceleration=(fall(system) + force / system.solid.mass).array(),
        angular_acceleration=(sight.gyro + sight.mobility @ moment).array(),
        gain=free + jnp.sum(mobility * forces, axis=1),
        stiffness=stiffness,
    )


def sum_rows(sight: Sight, forces: Float[Array, " 6"]) -> tuple[Vec, Vec]:
    """The force, and the moment about the centre of mass, of the rows' forces."""
    pushes, turns = rows(sight)
    return Vec.of(_product(forces[:3], pushes)), Vec.of(_product(forces, turns))


def solve_backwards(matrix: Float[Array, "n n"], wanted: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Solution of the rows' equations by elimination from the last row to the first, without exchanges.

    Held rows belong to a symmetric positive matrix, and a row with a law has 1 on the diagonal and else only its share
    of the normal force in the first column: all pivots but the first are positive, and the first is what friction may
    make vanish. As a loop it is an order of magnitude quicker than a general solver for so few unknowns.
    """
    n = len(matrix)

    def eliminate(i, rows):
        k = n - 1 - i
        pivot = jax.lax.dynamic_index_in_dim(rows, k, 0, keepdims=False)
        column = jax.lax.dynamic_index_in_dim(rows, k, 1)
        pivot = pivot / column[k, 0]
        return jnp.where((jnp.arange(n) == k)[:, None], pivot, rows - column * pivot)

    return jax.lax.fori_loop(0, n, eliminate, jnp.concatenate([matrix, wanted], axis=1))[:, n:]


def power(sight: Sight, now: Wrench) -> Array:
    """Power that the contact takes from the body [W]."""
    return -(now.force @ sight.slip + now.moment @ sight.rolling + now.torque * sight.spin)


@eqx.filter_jit
def hold(system: BodyOnGround, sight: Sight, held: Array, speeds: Array | None = None) -> tuple[Array, Array]:
    """Smallest change of the velocities (weighted with the inertia) after which the held rows stand still.

    Or after which they have the given speeds.
    """
    n = 6 if system.resisted or not system.point else 3
    held = held[:n]
    mobility = row_mobility(system, sight)[:n, :n]
    turning = jnp.concatenate([sight.closing[None], sight.slip, sight.rolling, sight.spin[None]])[:n]
    matrix = jnp.where(held[:, None] & held[None, :], mobility, jnp.eye(n))
    missing = -turning if speeds is None else speeds[:n] - turning
    wanted = jnp.where(held, missing, 0.0)[:, None]
    impulse, moment = sum_rows(sight, jnp.concatenate([solve_backwards(matrix, wanted)[:, 0], jnp.zeros(6 - n)]))
    return (impulse / system.solid.mass).array(), (sight.mobility @ moment).array()


def grip_use(system: BodyOnGround, now: Wrench, sight: Sight) -> Array:
    """Share of the friction that a contact without slip uses; it slips at 1."""
    load = jnp.maximum(now.load, LEAST)
    law = system.law_under(load, sight.touch)
    limit = PointLimit(law.capacity(load)) if system.point else law.limit(load)
    return limit.use(now.force, now.torque)


def turn_use(system: BodyOnGround, now: Wrench, sight: Sight) -> Array:
    """Share of the resistance to rolling that a body which does not turn uses; it turns at 1."""
    load = jnp.maximum(now.load, LEAST)
    turned = jnp.append(now.moment, now.torque) if system.point else now.moment
    return size(turned) / jnp.maximum(system.resistance(load, sight.touch) * load, LEAST)
