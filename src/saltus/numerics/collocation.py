"""Gauss collocation: nodes, integrals of the polynomial through values at the nodes, and a step by it."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@functools.cache
def gauss_nodes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (1 + x) / 2, w / 2


def lagrange_basis(nodes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Values at `points` of the polynomials that are one at one node and zero at the others; last axis: nodes."""
    basis = np.ones((*points.shape, len(nodes)))
    for j, node in enumerate(nodes):
        for other in np.delete(nodes, j):
            basis[..., j] *= (points - other) / (node - other)
    return basis


@functools.cache
def mean_matrix(n: int, power: int = 0) -> np.ndarray:
    """Matrix from values at the Gauss nodes to the means `1/x^(p+1) int_0^x y^p f(y) dy` at the nodes.

    The means are taken by Gauss quadrature of the Lagrange polynomials, which is exact; weights
    from a Vandermonde matrix would cost four digits at n = 12.
    """
    nodes, weights = gauss_nodes(n)
    basis = lagrange_basis(nodes, nodes[:, None] * nodes[None, :])
    return np.einsum("q,iqj->ij", weights * nodes**power, basis)


@functools.cache
def integral_matrix(n: int) -> np.ndarray:
    """Matrix from values at the Gauss nodes to the integrals from 0 to each node (Runge-Kutta matrix of Gauss)."""
    nodes, _ = gauss_nodes(n)
    return nodes[:, None] * mean_matrix(n)


def collocation_step(
    rates: Callable[[np.ndarray, Array], Array], y: Float[Array, " n"], h, guess: Float[Array, "n m"], sweeps: int
) -> Float[Array, " n"]:
    """The end of a step of Gauss collocation, solved by Picard sweeps: the error of k of them falls like h^k / k!.

    Args:
        rates: `rates(nodes, stages)`: rates of the stages (n, m) at the nodes, given as parts of the step.
        y: The start.
        h: Length of the step.
        guess: Rates at the m nodes to begin with, such as zero.
        sweeps: How many.
    """
    points = guess.shape[1]
    nodes, weights = gauss_nodes(points)
    integrals = jnp.asarray(integral_matrix(points).T)

    def sweep(_, k):
        return rates(nodes, y[:, None] + h * (k @ integrals))

    return y + h * (jax.lax.fori_loop(0, sweeps, sweep, guess) @ weights)
