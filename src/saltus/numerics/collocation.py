"""Gauss collocation: nodes, and integrals of the polynomial through values at the nodes."""

from __future__ import annotations

import functools

import numpy as np


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
