"""Bodies given by their support function."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus import checks
from saltus.numerics.components import Sym, Vec, tangent_basis
from saltus.numerics.sphere import sphere_rule
from saltus.shapes.general import DIRECTIONS, AbstractSampledShape, principal_frame, widest_radius

NEWTON_STEPS = 12


class SupportShape(AbstractSampledShape):
    """The body whose extent in the direction n is h(n).

    The function is a JAX function of a unit vector (3,), three times differentiable; it is
    continued to other lengths by h(s n) = s h(n). The body's frame is centred in its centre of
    mass and turned to its principal axes; `centre` and `axes` say where that frame lies in the
    function's coordinates.

    Args:
        function: Support function of unit vectors [m].
    """

    function: Callable = eqx.field(static=True)
    centre: Float[Array, " 3"]
    axes: Float[Array, "3 3"]
    properties: Float[Array, " 4"]  # volume, second moments
    bounds: Float[Array, " 2"]  # radius, widest radius of curvature
    directions: Float[Array, "n 3"]

    def __init__(self, function: Callable):
        directions, weights = sphere_rule(DIRECTIONS)

        def surface(n):
            value = self._homogeneous(function, n)
            slope = jax.grad(lambda m: self._homogeneous(function, m))
            return value, slope(n), jax.jacfwd(slope)(n)

        value, points, bend = (np.asarray(part) for part in jax.jit(jax.vmap(surface))(jnp.asarray(directions)))
        checks.finite("support function", value)
        radii = np.linalg.eigvalsh(bend)  # one eigenvalue, along the normal, is zero
        size = float(np.max(np.abs(points)))
        if radii[:, 0].min() < -1e-6 * size or radii[:, 1].min() <= 0.0:
            raise ValueError(
                f"The function is no support function of a smooth body: a radius of curvature of "
                f"{radii.min():.3g} m was found. Give a convex function with positive radii of curvature."
            )
        patch = weights * radii[:, 1] * radii[:, 2]
        first = np.einsum("n,n,ni->i", patch, value / 4.0, points)
        second = np.einsum("n,n,ni,nj->ij", patch, value / 5.0, points, points)
        frame = principal_frame(float(np.sum(patch * value / 3.0)), first, second)
        self.function = function
        self.centre, self.axes = jnp.asarray(frame.centre), jnp.asarray(frame.axes)
        self.properties = jnp.asarray([frame.volume, *frame.second_moments])
        radius = 1.005 * float(np.max(np.linalg.norm(points - frame.centre, axis=1)))
        self.bounds = jnp.asarray([radius, widest_radius(radii[:, 2], radius)])
        self.directions = jnp.asarray(directions[::4] @ frame.axes)

    @staticmethod
    def _homogeneous(function: Callable, n: Array) -> Array:
        length = jnp.sqrt(jnp.sum(n * n))
        return length * function(n / length)

    def _support(self, n: Array) -> Array:
        turned = self.axes @ n
        return self._homogeneous(self.function, turned) - self.centre @ turned

    def support_pair(self, n: Vec) -> tuple[Array, Vec]:
        value, point = jax.value_and_grad(self._support)(n.array())
        return value, Vec.of(point)

    def _nearest_normal(self, x: Array) -> Array:
        """Direction n of the largest n . x - h(n): the normal at the surface point nearest to x."""
        heights = self.directions @ x - jax.vmap(self._support)(self.directions)
        start = jax.lax.stop_gradient(self.directions[jnp.argmax(heights)])

        def newton(n, x):
            first, second = tangent_basis(Vec.of(n))
            basis = jnp.stack([first.array(), second.array()], axis=-1)
            away = x @ n - self._support(n)
            bend = basis.T @ jax.hessian(self._support)(n) @ basis + away * jnp.eye(2)
            turned = n + basis @ jnp.linalg.solve(bend, basis.T @ (x - jax.grad(self._support)(n)))
            return turned / jnp.sqrt(jnp.sum(turned * turned))

        fixed = jax.lax.stop_gradient(x)
        found = jax.lax.fori_loop(0, NEWTON_STEPS, lambda _, n: newton(n, fixed), start)
        return newton(jax.lax.stop_gradient(found), x)  # the last step carries the derivatives

    def level_parts(self, x: Vec) -> tuple[Array, Vec, Sym]:
        n = self._nearest_normal(x.array())
        away = x.array() @ n - self._support(n)
        return away, Vec.of(n), Sym.of(self._tangent_inverse(n, away))

    def _tangent_inverse(self, n: Array, away: Array) -> Array:
        first, second = tangent_basis(Vec.of(n))
        basis = jnp.stack([first.array(), second.array()], axis=-1)
        bend = basis.T @ jax.hessian(self._support)(n) @ basis + away * jnp.eye(2)
        return basis @ jnp.linalg.inv(bend) @ basis.T

    def level_third(self, x: Array) -> Array:
        return self.bending(x)[2]

    def bending(self, point: Array) -> tuple[Array, Array, Array]:
        """Normal, curvature and third derivatives: the Legendre transforms of those of h."""
        n = self._nearest_normal(point)
        curvature = self._tangent_inverse(n, jnp.zeros(()))
        third = jax.jacfwd(jax.hessian(self._support))(n)
        return n, curvature, -jnp.einsum("abc,ai,bj,ck->ijk", third, curvature, curvature, curvature)


Supported = SupportShape  # its name before, for code of users
