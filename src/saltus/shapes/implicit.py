"""Bodies given by a function that is negative inside."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics.components import Sym, Vec
from saltus.numerics.sphere import sphere_rule
from saltus.shapes.general import DIRECTIONS, AbstractSampledShape, principal_frame, widest_radius

NEWTON_STEPS = 12


class Implicit(AbstractSampledShape):
    """The body where a function is negative.

    The function is a JAX function of a point (3,), three times differentiable, with a convex
    zero level. The body's frame is centred in its centre of mass and turned to its principal
    axes; `centre` and `axes` say where that frame lies in the function's coordinates.

    Mass properties come from quadrature over 4608 rays (about 1e-10 for smooth bodies), the
    bounds on extent and curvature from sampling with a margin.

    Args:
        function: Level function, negative inside.
        inside: A point well inside the body, in the function's coordinates [m].
    """

    function: Callable = eqx.field(static=True)
    centre: Float[Array, " 3"]
    axes: Float[Array, "3 3"]
    samples: Float[Array, "n 3"]
    properties: Float[Array, " 4"]  # volume, second moments
    bounds: Float[Array, " 2"]  # radius, widest radius of curvature

    def __init__(self, function: Callable, inside=(0.0, 0.0, 0.0)):
        inside = np.asarray(inside, float)
        checks.shaped("inside", inside, (3,))
        if not float(function(jnp.asarray(inside))) < 0.0:
            raise ValueError(
                f"The level function is {float(function(jnp.asarray(inside))):.6g} at `inside` = {inside.tolist()}, "
                "but must be negative there. Give a point inside the body."
            )
        directions, weights = sphere_rule(DIRECTIONS)
        reach = _ray_lengths(function, inside, directions)
        moments = np.einsum("n,n,ni,nj->ij", weights, reach**5 / 5.0, directions, directions)
        first = np.einsum("n,n,ni->i", weights, reach**4 / 4.0, directions)
        frame = principal_frame(float(np.sum(weights * reach**3 / 3.0)), first, moments)
        points = (directions * reach[:, None] - frame.centre) @ frame.axes
        self.function = function
        self.centre, self.axes = jnp.asarray(inside + frame.centre), jnp.asarray(frame.axes)
        self.samples = jnp.asarray(points[::4])
        self.properties = jnp.asarray([frame.volume, *frame.second_moments])
        radius = 1.005 * float(np.max(np.linalg.norm(points, axis=1)))
        curvatures = np.linalg.eigvalsh(np.asarray(jax.jit(jax.vmap(self._bare_curvature))(jnp.asarray(points))))
        # One eigenvalue belongs to the normal and is zero; a convex body has no negative one.
        if curvatures[:, 0].min() * radius < -1e-6:
            raise ValueError(
                f"The body is not convex: a curvature of {curvatures[:, 0].min():.3g} per metre was found. "
                "Give a level function whose zero level is convex."
            )
        self.bounds = jnp.asarray([radius, widest_radius(1.0 / np.maximum(curvatures[:, 1], 1e-300), radius)])

    def _level(self, x: Array) -> Array:
        return self.function(self.centre + self.axes @ x)

    def _bare_curvature(self, x: Array) -> Array:
        gradient = jax.grad(self._level)(x)
        steepness = jnp.sqrt(gradient @ gradient)
        tangent = jnp.eye(3) - jnp.outer(gradient, gradient) / steepness**2
        return tangent @ jax.hessian(self._level)(x) @ tangent / steepness

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        normal = n.array()
        guess = jax.lax.stop_gradient(self.samples[jnp.argmax(self.samples @ normal)])
        x = _support_point(self._level, guess, normal)
        return n.dot(Vec.of(x)), Vec.of(x)

    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        point = x.array()
        value, gradient = jax.value_and_grad(self._level)(point)
        return value, Vec.of(gradient), Sym.of(jax.hessian(self._level)(point))

    def level_third(self, x: Array) -> Array:
        return jax.jacfwd(jax.hessian(self._level))(x)


def _ray_lengths(function: Callable, start: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Distance from `start` to the zero level along each direction."""
    values = jax.jit(jax.vmap(lambda s, u: function(jnp.asarray(start) + s * u)))
    low, high = np.zeros(len(directions)), np.full(len(directions), 1e-3)
    for _ in range(60):
        outside = np.asarray(values(high, directions)) > 0.0
        if outside.all():
            break
        low, high = np.where(outside, low, high), np.where(outside, high, 2.0 * high)
    else:
        raise ValueError("The body has no end along some ray. Give a level function that is positive far away.")
    for _ in range(60):
        middle = 0.5 * (low + high)
        outside = np.asarray(values(middle, directions)) > 0.0
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    return 0.5 * (low + high)


def _support_point(level: Callable, guess: Array, normal: Array) -> Array:
    """Where the gradient of `level` points along `normal` on the zero level (Newton)."""
    gradient = jax.grad(level)

    def residual(unknown, normal):
        x, multiplier = unknown[:3], unknown[3]
        return jnp.concatenate([multiplier * gradient(x) - normal, level(x)[None]])

    def newton(unknown, normal):
        return unknown - jnp.linalg.solve(jax.jacfwd(residual)(unknown, normal), residual(unknown, normal))

    fixed = jax.lax.stop_gradient(normal)
    start = jnp.concatenate([guess, 1.0 / jnp.sqrt(jnp.sum(gradient(guess) ** 2))[None]])
    found = jax.lax.fori_loop(0, NEWTON_STEPS, lambda _, u: newton(u, fixed), start)
    return newton(jax.lax.stop_gradient(found), normal)[:3]  # the last step carries the derivatives
