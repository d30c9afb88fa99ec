"""Quaternions (scalar first, body to lab) and the free rotation of a rigid body."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.numerics.components import Turn, Vec

# Order of the Taylor series and step in radians turned. The series of
# Euler's equations converges for about 1.5 rad, so a step loses (0.1 / 1.5)^13 = 5e-16 at most.
ORDER = 12
STEP = 0.1
MOST_STEPS = 50_000  # of one turn


def multiply(p: Float[Array, "*n 4"], q: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """Product of two quaternions: first the turn `q`, then the turn `p`."""
    return jnp.stack(product(*([part[..., k] for k in range(4)] for part in (p, q))), axis=-1)


def normalise(q: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """The quaternion of length 1 in the same direction."""
    return q / jnp.sqrt(jnp.sum(q * q, axis=-1, keepdims=True))


def matrix(q: Float[Array, "*n 4"]) -> Float[Array, "*n 3 3"]:
    """Rotation matrix of a unit quaternion; takes body components to lab components."""
    turn = Turn.of_quaternion(q)
    return jnp.stack([turn.e1.array(), turn.e2.array(), turn.e3.array()], axis=-1)


def rotate(q: Float[Array, "*n 4"], v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """Lab components of a vector given in the body's frame."""
    return Turn.of_quaternion(q).to_lab(Vec.of(v)).array()


def rotate_back(q: Float[Array, "*n 4"], v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """Body components of a vector given in the lab."""
    return Turn.of_quaternion(q).to_body(Vec.of(v)).array()


def from_rotation_vector(v: Float[Array, " 3"]) -> Float[Array, " 4"]:
    """Quaternion of the turn by |v| radians about v."""
    half2 = 0.25 * jnp.sum(v * v)
    small = half2 < 1e-8
    half = jnp.sqrt(jnp.where(small, 1.0, half2))
    sinc = jnp.where(small, 1.0 - half2 / 6.0, jnp.sin(half) / half)
    return jnp.concatenate([jnp.where(small, 1.0 - half2 / 2.0, jnp.cos(half))[None], 0.5 * sinc * v])


def from_matrix(m: Float[Array, "3 3"]) -> Float[Array, " 4"]:
    """Unit quaternion of a rotation matrix (largest component first, so never ill-conditioned)."""
    xx, yy, zz = m[0, 0], m[1, 1], m[2, 2]
    products = jnp.array(
        [
            [1 + xx + yy + zz, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], 1 + xx - yy - zz, m[1, 0] + m[0, 1], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[1, 0] + m[0, 1], 1 - xx + yy - zz, m[2, 1] + m[1, 2]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2], 1 - xx - yy + zz],
        ]
    )
    return normalise(products[jnp.argmax(jnp.diagonal(products))])


def random_quaternion(key: Array, shape: tuple[int, ...] = ()) -> Array:
    """Uniformly distributed orientations."""
    return normalise(jax.random.normal(key, (*shape, 4)))


def rate_of_quaternion(q: Float[Array, " 4"], omega: Float[Array, " 3"]) -> Float[Array, " 4"]:
    """Time derivative of the quaternion for the lab angular velocity `omega`."""
    return 0.5 * multiply(jnp.concatenate([jnp.zeros(1), omega]), q)


def free_rotation(
    q: Float[Array, " 4"],
    omega: Float[Array, " 3"],
    inertia: Float[Array, " 3"],
    duration: Array | float,
    compact: bool = False,
) -> tuple[Float[Array, " 4"], Float[Array, " 3"]]:
    """Orientation and angular velocity after torque-free rotation.

    Taylor series of Euler's equations together with the quaternion, in steps of 0.1 rad; the
    angular momentum is conserved by construction. Measured against 40 digits: 1e-13 over 300 rad.
    Derivatives of every order are right, forward and backward. A turn by more than 5 000 rad, or by none that is a
    number, gives NaN: every call ends. Who takes many short steps takes them by `continue_turn`: rounding changes the
    angular velocity of a slender body, and who goes on from it again and again loses its spin.

    Args:
        q: Unit quaternion, body to lab.
        omega: Angular velocity in the lab [rad s-1].
        inertia: Principal moments of inertia (only ratios matter).
        duration: Time, of either sign [s].
        compact: Quick to compile instead of quick in batches; the answer is the same.

    Returns:
        The quaternion and the angular velocity in the lab.
    """
    body_omega = rotate_back(q, omega)
    turn = _relative_turn(body_omega, inertia, jnp.asarray(duration, float), compact)
    return _motion_after(q, turn, inertia, rotate(q, inertia * body_omega))


def _motion_after(q: Array, turn: Array, inertia: Array, momentum: Array) -> tuple[Array, Array]:
    """Orientation and angular velocity after a turn seen from the body at the start."""
    turned = multiply(q, turn)
    return turned, rotate(turned, rotate_back(turned, momentum) / inertia)


class TurnSum(NamedTuple):
    """A turn since some start, seen from the body there: the sum of its steps, and what rounding has lost of it.

    By Kahan's summation thousands of short steps are as exact as a few long ones.
    """

    turn: Float[Array, " 4"]
    lost: Float[Array, " 4"]

    @staticmethod
    def zero() -> TurnSum:
        """No turn yet."""
        return TurnSum(jnp.zeros(4).at[0].set(1.0), jnp.zeros(4))

    def motion(self, q: Array, inertia: Array, momentum: Array) -> tuple[Array, Array]:
        """Orientation and angular velocity of a body that started at `q` with this angular momentum, in the lab."""
        return _motion_after(q, normalise(self.turn), inertia, momentum)


def continue_turn(
    made: TurnSum, q: Array, inertia: Array, momentum: Array, duration: Array, compact: bool = False
) -> TurnSum:
    """The turn of a free rotation a while later; the arguments as those of `free_rotation` at its start."""
    series = _series_by_array if compact else _series_by_number
    return _add_steps(made, rotate_back(q, momentum), inertia, duration, series)


def free_rotations(
    q: np.ndarray, omega: np.ndarray, inertia: np.ndarray, which: np.ndarray, duration: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`free_rotation` of some bodies to many times, in NumPy: nothing is compiled, and no derivatives are known.

    Each body takes its steps of at most 0.1 rad once; a time between two of them is on the series of its step.

    Args:
        q: Unit quaternions of the bodies (n, 4), body to lab.
        omega: Their angular velocities in the lab (n, 3) [rad s-1].
        inertia: Their principal moments of inertia (n, 3).
        which: Which of the bodies is asked for (m,).
        duration: For how long it has turned, >= 0 (m,) [s].
    """
    moments = Vec(*inertia.T)
    spin = Turn.of_quaternion(q).to_body(Vec(*omega.T))
    momentum = moments.times(spin)
    # The angular speed never exceeds what all energy about the freest axis would give.
    fastest = np.sqrt(spin.dot(momentum) / inertia.min(axis=1))
    stride = STEP / np.maximum(fastest, 1e-300)
    steps = duration / stride[which]
    known = steps < MOST_STEPS  # neither too many, nor of a motion that is not known
    count = np.floor(np.where(known, steps, 0.0)).astype(int)
    most = np.zeros(len(q), int)
    np.maximum.at(most, which, count)
    turned, part = np.zeros((4, len(duration))), (duration - count * stride[which]) / stride[which]
    for group in _groups(most):
        rows = np.flatnonzero(np.isin(which, group))
        mass, load = (Vec(*(one[group] for one in whole)) for whole in (moments, momentum))
        series, lost = _steps(load, mass, stride[group], int(most[group].max()))
        at = count[rows], slice(None), np.searchsorted(group, which[rows])
        change = np.zeros((len(rows), 4))
        for k in range(ORDER, 0, -1):
            change = (change + series[:, k][at]) * part[rows, None]
        turned[:, rows] = (series[:, 0][at] + (change + lost[at])).T
    mass, load = (Vec(*(one[which] for one in whole)) for whole in (moments, momentum))
    turned = np.where(known, turned / np.sqrt(np.sum(turned * turned, axis=0)), np.nan)
    turned = np.stack(product(q[which].T, turned))
    turn = Turn.of_quaternion(turned.T)
    spin = turn.to_lab(turn.to_body(Turn.of_quaternion(q[which]).to_lab(load)).over(mass))
    return turned.T, np.stack([spin.x, spin.y, spin.z], axis=1)


def _groups(most: np.ndarray) -> list[np.ndarray]:
    """Bodies that are stepped together, so that neither steps nor memory are wasted; each group in rising order."""
    order = np.argsort(most, kind="stable")
    room = np.cumsum(most[order] + 1) // 20_000
    return [np.sort(order[room == part]) for part in np.unique(room)]


def _steps(momentum: Vec, moments: Vec, stride: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Turns during the steps 0 to `most`, as series in the part of the step (steps, order, 4, bodies).

    And what rounding has lost of the turn at the start of each (steps, 4, bodies), by Kahan's summation.
    """
    here, lost = np.zeros((2, 4, len(stride)))
    here[0] = 1.0
    series, missing = [], []
    inertia = np.stack(tuple(moments))
    for _ in range(most + 1):
        spin = Turn.of_quaternion(here.T).to_body(momentum).over(moments)
        terms = _series_by_numpy(here, np.stack(tuple(spin)), inertia, stride)
        series.append(terms)
        missing.append(lost)
        change = np.add.reduce(terms[:0:-1], axis=0) + lost
        after = here + change
        here, lost = after, change - (after - here)
    return np.stack(series), np.stack(missing)


def product(p, q) -> list:
    """The components of a product of quaternions."""
    a, b, c, d = p
    w, x, y, z = q
    return [
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y + c * w + d * x - b * z,
        a * z + d * w + b * y - c * x,
    ]


@functools.partial(jax.custom_jvp, nondiff_argnums=(3,))
def _relative_turn(body_omega: Array, inertia: Array, duration: Array, compact: bool) -> Float[Array, " 4"]:
    """The turn made since the start, seen from the body at the start."""
    return _turn(body_omega, inertia, duration, _series_by_array if compact else _series_by_number)


@_relative_turn.defjvp
def _relative_turn_jvp(compact, primals, tangents):
    # The loop has no reverse mode, but its Jacobian is small: build it forward, then multiply.
    body_omega, inertia, duration = primals

    def turn(body_omega, inertia):
        turned = _turn(body_omega, inertia, duration, _series_by_loop)
        return turned, turned

    (by_omega, by_inertia), turned = jax.jacfwd(turn, argnums=(0, 1), has_aux=True)(body_omega, inertia)
    rate = multiply(turned, _pure(rotate_back(turned, inertia * body_omega) / inertia)) / 2.0
    return turned, by_omega @ tangents[0] + by_inertia @ tangents[1] + rate * tangents[2]


def _pure(v: Array) -> Array:
    return jnp.concatenate([jnp.zeros_like(v[:1]), v])


def _turn(body_omega: Array, inertia: Array, duration: Array, series: Callable) -> Float[Array, " 4"]:
    return normalise(_add_steps(TurnSum.zero(), inertia * body_omega, inertia, duration, series).turn)


def _add_steps(made: TurnSum, momentum: Array, inertia: Array, duration: Array, series: Callable) -> TurnSum:
    """Add steps of at most 0.1 rad; `momentum` is the angular momentum seen from the body at the start."""

    def going(carry):
        left, _, count = carry
        return (jnp.abs(left) > 0.0) & (count < MOST_STEPS)

    def add_step(carry):
        left, (q, lost), count = carry
        omega = rotate_back(q, momentum) / inertia
        speed = jnp.sqrt(jax.lax.stop_gradient(jnp.sum(omega * omega)))
        longest = STEP / jnp.maximum(speed, 1e-300)
        step = jnp.clip(left, -longest, longest)
        change = series(q, omega, inertia, step) + lost
        new = q + change
        return left - step, TurnSum(new, change - (new - q)), count + 1

    left, made, _ = jax.lax.while_loop(going, add_step, (duration, made, jnp.zeros((), int)))
    return TurnSum(jnp.where(left == 0.0, made.turn, jnp.nan), made.lost)


def _series_by_number(q: Array, body_omega: Array, inertia: Array, step: Array) -> Array:
    """How the quaternion changes in one step, number by number: quick in batches."""
    w = [[body_omega[i]] for i in range(3)]
    p = [[q[i]] for i in range(4)]
    ratios = [(inertia[(i + 1) % 3] - inertia[(i + 2) % 3]) / inertia[i] for i in range(3)]
    for k in range(ORDER):

        def product(a, b, k=k):
            return functools.reduce(operator.add, (a[i] * b[k - i] for i in range(k + 1)))

        scale = step / (k + 1)
        turn = [
            -(product(p[1], w[0]) + product(p[2], w[1]) + product(p[3], w[2])),
            product(p[0], w[0]) + product(p[2], w[2]) - product(p[3], w[1]),
            product(p[0], w[1]) + product(p[3], w[0]) - product(p[1], w[2]),
            product(p[0], w[2]) + product(p[1], w[1]) - product(p[2], w[0]),
        ]
        spin = [ratios[i] * scale * product(w[(i + 1) % 3], w[(i + 2) % 3]) for i in range(3)]
        for terms, new in zip(w, spin, strict=True):
            terms.append(new)
        for terms, new in zip(p, turn, strict=True):
            terms.append(0.5 * scale * new)
    return jnp.stack([functools.reduce(operator.add, reversed(terms[1:])) for terms in p])


def _series_by_numpy(q: np.ndarray, body_omega: np.ndarray, inertia: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The terms of the same series, the place itself first, of the rows of arrays (order, 4, n)."""
    ratios = (np.roll(inertia, -1, axis=0) - np.roll(inertia, -2, axis=0)) / inertia
    scale = step * np.concatenate([np.full_like(q, 0.5), ratios])
    terms = np.empty((ORDER + 1, 7, q.shape[1]))  # of the quaternion, then of the spin
    terms[0] = np.concatenate([q, body_omega])
    for k in range(ORDER):
        pairs = np.einsum("kin,kjn->ijn", terms[: k + 1], terms[k::-1, 4:])
        np.matmul(_RATES, pairs.reshape(21, -1), out=terms[k + 1])
        terms[k + 1] *= scale / (k + 1)
    return terms[:, :4]


def _rates() -> np.ndarray:
    """Which products of quaternion and spin (7 numbers) with the spin (3) make up their rates, but for factors."""
    rates = np.zeros((7, 7, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        rates[0, 1 + i, i] = -1.0
        rates[1 + i, 0, i] = rates[1 + i, 1 + j, k] = 1.0
        rates[1 + i, 1 + k, j] = -1.0
        rates[4 + i, 4 + j, k] = 1.0
    return rates.reshape(7, 21)


_RATES = _rates()


def _series_by_array(q: Array, body_omega: Array, inertia: Array, step: Array) -> Array:
    """How the quaternion changes in one step, from few, larger operations: quick to compile."""
    ratios = (jnp.roll(inertia, -1) - jnp.roll(inertia, -2)) / inertia
    w, p = body_omega[:, None], q[:, None]
    for k in range(ORDER):
        scale = step / (k + 1)
        back = w[:, ::-1]
        spin, turn = next_terms(ratios * scale, w @ back.T, p @ back.T)
        w = jnp.concatenate([w, spin[:, None]], axis=1)
        p = jnp.concatenate([p, 0.5 * scale * turn[:, None]], axis=1)
    return jnp.sum(p[:, 1:], axis=1)


def next_terms(scale: Array, ww: Array, pw: Array) -> tuple[Array, Array]:
    """Next terms of the series of a free rotation, from the sums of products of the terms before.

    Args:
        scale: Of the angular velocity: for each axis (I_j - I_k) / I_i over the number of the term.
        ww: Sums of products of terms of the angular velocity.
        pw: Sums of products of terms of the quaternion and of the angular velocity.

    Returns:
        The term of the angular velocity in the frame of the body, and twice that of the quaternion times its number.
    """
    turn = [
        -(pw[1, 0] + pw[2, 1] + pw[3, 2]),
        pw[0, 0] + pw[2, 2] - pw[3, 1],
        pw[0, 1] + pw[3, 0] - pw[1, 2],
        pw[0, 2] + pw[1, 1] - pw[2, 0],
    ]
    return scale * jnp.stack([ww[1, 2], ww[2, 0], ww[0, 1]]), jnp.stack(turn)


def _series_by_loop(q: Array, body_omega: Array, inertia: Array, step: Array) -> Array:
    """How the quaternion changes in one step, order by order in a loop: quickest to compile, for derivatives."""
    ratios = (jnp.roll(inertia, -1) - jnp.roll(inertia, -2)) / inertia

    def order(k, terms):
        w, p = terms
        # Entry j of a reversed row is the term k - j; those beyond k are still zero.
        back = jnp.roll(w[:, ::-1], k + 1, axis=1)
        scale = step / (k + 1)
        spin, turn = next_terms(ratios * scale, w @ back.T, p @ back.T)
        return w.at[:, k + 1].set(spin), p.at[:, k + 1].set(0.5 * scale * turn)

    first = (jnp.zeros((3, ORDER + 1)).at[:, 0].set(body_omega), jnp.zeros((4, ORDER + 1)).at[:, 0].set(q))
    _, p = jax.lax.fori_loop(0, ORDER, order, first)
    return jnp.sum(p[:, 1:], axis=1)
