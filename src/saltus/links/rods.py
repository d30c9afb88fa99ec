"""Rigid rods between masses: the network, and the linear system for the forces in them.

Every mass i answers a force R on it with the acceleration K_i R, K_i = (1 - c_i n_iᵀ) / m_i (see
`Mobility`). The rods need forces h with A h = b, where A_rq sums ± e_r · K_i e_q over the masses i
that rods r and q share. How A is solved is chosen once, from the graph.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from saltus.links.network import components, forest_size, has_redundant_rods  # noqa: F401 - two of them for old imports
from saltus.numerics.components import Vec
from saltus.numerics.elimination import solve, solve_tridiagonal

PerMass = Float[Array, " n"]
PerRod = Float[Array, " r"]

DENSE_UP_TO = 96  # rods; larger graphs that are not paths are solved block by block


class Mobility(eqx.Module):
    """How masses answer forces: acceleration = inverse_mass (R - c (n · R)).

    A mass on the surface has its normal as n and c = n - mu t; a free one has n = c = 0; a held
    one has inverse mass 0.
    """

    inverse_mass: PerMass
    n: Vec
    c: Vec

    def answer(self, force: Vec) -> Vec:
        """Accelerations that these forces cause [m s-2]."""
        return (force - self.c * self.n.dot(force)) * self.inverse_mass


class Rods(eqx.Module):
    """A network of rigid rods.

    Args:
        pairs: Masses that each rod joins, as pairs of different indices.
        n_masses: How many masses there are.
        redundant: Whether some rods only repeat what others hold; the forces of least sum of
            squares are then given.
    """

    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)
    n_masses: int = eqx.field(static=True)
    redundant: bool = eqx.field(static=True)
    solver: _Solver = eqx.field(static=True)

    def __init__(self, pairs, n_masses: int, redundant: bool = False):
        self.pairs = tuple((int(i), int(j)) for i, j in pairs)
        self.n_masses = int(n_masses)
        self.redundant = bool(redundant)
        self.solver = _Solver(self.pairs, self.n_masses, self.redundant)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def first(self) -> np.ndarray:
        """Index of the mass at the first end of each rod."""
        return self.solver.first

    @property
    def second(self) -> np.ndarray:
        """Index of the mass at the second end."""
        return self.solver.second

    def between(self, values: Vec) -> Vec:
        """Vector at the first end minus vector at the second end of each rod."""
        return values.map(lambda part: _take(part, self.first) - _take(part, self.second))

    def pull(self, forces: PerRod, directions: Vec) -> Vec:
        """Force of the rods on each mass; a positive rod force pushes its ends apart [N]."""
        return (directions * forces).map(self.solver.gather)

    def diagonal(self, directions: Vec, mobility: Mobility) -> PerRod:
        """The denominators D of the rods taken one by one, A_rr [1/kg]."""

        def at(end: np.ndarray) -> PerRod:
            normal = directions.dot(_ends(mobility.c, end)) * directions.dot(_ends(mobility.n, end))
            return _take(mobility.inverse_mass, end) * (1.0 - normal)

        return at(self.first) + at(self.second)

    def solve(
        self, directions: Vec, mobility: Mobility, b: Float[Array, "r k"], diagonal: PerRod | None = None
    ) -> Float[Array, "r k"]:
        """Solve A h = b for several right-hand sides at once; rods between held masses get h = 0.

        Args:
            directions: Of the rods.
            mobility: Of the masses.
            b: The right-hand sides.
            diagonal: That of A, if it is known.
        """
        diagonal = self.diagonal(directions, mobility) if diagonal is None else diagonal
        loose = (_take(mobility.inverse_mass, self.first) + _take(mobility.inverse_mass, self.second)) > 0.0
        diagonal = jnp.where(loose, diagonal, 1.0)
        b = jnp.where(loose[:, None], b, 0.0)
        return self.solver.solve(diagonal, self._couplings(directions, mobility), b)

    def _couplings(self, directions: Vec, mobility: Mobility) -> Float[Array, " entries"]:
        """Off-diagonal entries of A, in the order of the solver."""
        solver = self.solver
        if not solver.row.size:
            return jnp.zeros(0)
        row, column = _ends(directions, solver.row), _ends(directions, solver.column)
        normal = row.dot(_ends(mobility.c, solver.shared)) * column.dot(_ends(mobility.n, solver.shared))
        return jnp.asarray(solver.sign) * _take(mobility.inverse_mass, solver.shared) * (row.dot(column) - normal)


def _take(values: Array, index: np.ndarray) -> Array:
    """`values[index]`, as a slice where the indices are consecutive (cheaper than a gather)."""
    if index.size and (np.diff(index) == 1).all():
        return values[int(index[0]) : int(index[0]) + index.size]
    return values.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _ends(vectors: Vec, index: np.ndarray) -> Vec:
    return vectors.map(lambda part: _take(part, index))


class _Solver:
    """How the linear system of one graph is put together and solved; made once per graph."""

    def __init__(self, pairs, n_masses: int, redundant: bool):
        self.key = (pairs, n_masses, redundant)
        self.first = np.array([i for i, _ in pairs], int)
        self.second = np.array([j for _, j in pairs], int)
        self.size = len(pairs)
        self._enumerate_couplings(n_masses)
        self._tabulate_incidence(n_masses)
        if redundant:
            self.solve = self._minimum_norm
        elif self.size <= 1:
            self.solve = self._separate
        elif self._is_paths():
            self._order_paths()
            self.solve = self._tridiagonal
        elif self.size <= DENSE_UP_TO:
            self.solve = self._dense
        else:
            self._order_blocks()
            self.solve = self._blocks

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, _Solver) and self.key == other.key

    def _rods_at_masses(self, n_masses: int) -> list[list[tuple[int, float]]]:
        """The rods of each mass, with the sign of that end."""
        at_mass = [[] for _ in range(n_masses)]
        for rod, (i, j) in enumerate(zip(self.first, self.second, strict=True)):
            at_mass[i].append((rod, 1.0))
            at_mass[j].append((rod, -1.0))
        return at_mass

    def _enumerate_couplings(self, n_masses: int):
        """All ordered pairs of different rods that share a mass."""
        entries = [
            (r, q, mass, s * t)
            for mass, rods in enumerate(self._rods_at_masses(n_masses))
            for r, s in rods
            for q, t in rods
            if r != q
        ]  # fmt: skip
        table = np.array(entries, float).reshape(-1, 4)
        self.row, self.column, self.shared = (table[:, k].astype(int) for k in range(3))
        self.sign = table[:, 3]

    def _tabulate_incidence(self, n_masses: int):
        """For each mass its rods and the signs of their ends, padded to the largest number of rods."""
        at_mass = self._rods_at_masses(n_masses)
        most = max((len(rods) for rods in at_mass), default=0)
        self.incident = np.zeros((n_masses, most), int)
        self.incident_sign = np.zeros((n_masses, most))
        for mass, rods in enumerate(at_mass):
            for k, (rod, sign) in enumerate(rods):
                self.incident[mass, k], self.incident_sign[mass, k] = rod, sign
        self.gather = self._gather if most <= 8 else self._scatter

    def _gather(self, per_rod):
        """Sum over the rods of each mass, first end positive."""
        columns = zip(self.incident_sign.T, self.incident.T, strict=True)
        return sum(sign * _take(per_rod, rods) for sign, rods in columns)

    def _scatter(self, per_rod):
        zero = jnp.zeros(self.incident.shape[0])
        return zero.at[self.first].add(per_rod).at[self.second].add(-per_rod)

    def _is_paths(self) -> bool:
        """Whether the graph consists of unbranched chains: every mass has at most two rods, no rings."""
        pairs, n_masses, _ = self.key
        degree = np.bincount(np.concatenate([self.first, self.second]))
        return bool(degree.max() <= 2) and self.size == forest_size(pairs, n_masses)

    def _bandwidth_order(self) -> np.ndarray:
        """Rods in an order in which those that share a mass are near each other (Cuthill and McKee, reversed).

        By hand, as `components`: SciPy's would have to be imported (0.12 s).
        """
        beside: list[set[int]] = [set() for _ in range(self.size)]
        for rod, other in zip(self.row.tolist(), self.column.tolist(), strict=True):
            beside[rod].add(other)
        order, placed = [], set()
        for first in sorted(range(self.size), key=lambda rod: len(beside[rod])):
            reached = [] if first in placed else [first]
            placed.add(first)
            for rod in reached:  # which grows
                reached += sorted(beside[rod] - placed, key=lambda other: (len(beside[other]), other))
                placed |= beside[rod]
            order += reached
        return np.array(order[::-1])

    def _order_paths(self):
        """Rods in the order of their chains: couplings are then between neighbours only."""
        order = self._bandwidth_order()
        self.order = order
        place = np.argsort(order)
        row, column = place[self.row], place[self.column]
        assert (np.abs(row - column) == 1).all()
        self.below = np.flatnonzero(row == column + 1)
        self.below_at = row[self.below]
        self.above = np.flatnonzero(row == column - 1)
        self.above_at = row[self.above]

    def _order_blocks(self):
        """Rods in an order of small bandwidth, cut into blocks that couple to their neighbours only."""
        order = self._bandwidth_order()
        place = np.argsort(order)
        row, column = place[self.row], place[self.column]
        self.width = max(int(np.abs(row - column).max()), 1)
        self.n_blocks = -(-self.size // self.width)
        self.order = order
        self.place = place
        block_row, block_column = row // self.width, column // self.width
        self.band = [
            (
                np.flatnonzero(block_column - block_row == shift),
                block_row[block_column - block_row == shift],
                row[block_column - block_row == shift] % self.width,
                column[block_column - block_row == shift] % self.width,
            )
            for shift in (-1, 0, 1)
        ]

    def _separate(self, diagonal, couplings, b):
        return b / diagonal[:, None]

    def _matrix(self, diagonal, couplings):
        return jnp.diag(diagonal).at[self.row, self.column].add(couplings)

    def _dense(self, diagonal, couplings, b):
        return solve(self._matrix(diagonal, couplings), b)

    def _minimum_norm(self, diagonal, couplings, b):
        matrix = self._matrix(diagonal, couplings)
        values, vectors = jnp.linalg.eigh(0.5 * (matrix + matrix.T))
        good = values > 1e-10 * values[-1]
        inverse = jnp.where(good, 1.0 / jnp.where(good, values, 1.0), 0.0)
        return vectors @ (inverse[:, None] * (vectors.T @ b))

    def _tridiagonal(self, diagonal, couplings, b):
        zero = jnp.zeros(self.size)
        below = zero.at[self.below_at].set(couplings[self.below])
        above = zero.at[self.above_at].set(couplings[self.above])
        x = solve_tridiagonal(below, diagonal[self.order], above, b[self.order])
        return jnp.zeros_like(x).at[self.order].set(x)

    def _blocks(self, diagonal, couplings, b):
        """Block elimination (Thomas) along the chain of blocks."""
        n, w = self.n_blocks, self.width
        pad = n * w - self.size
        main = jax.vmap(jnp.diag)(jnp.concatenate([diagonal[self.order], jnp.ones(pad)]).reshape(n, w))
        parts = []
        for (entry, block, i, j), base in zip(
            self.band, (jnp.zeros((n, w, w)), main, jnp.zeros((n, w, w))), strict=True
        ):
            parts.append(base.at[block, i, j].add(couplings[entry]))
        lower, main, upper = parts
        rhs = jnp.concatenate([b[self.order], jnp.zeros((pad, b.shape[1]))]).reshape(n, w, -1)

        def eliminate(carry, block):
            upper_before, rhs_before = carry
            low, mid, up, right = block
            solved = solve(mid - low @ upper_before, jnp.concatenate([up, right - low @ rhs_before], axis=1))
            return (solved[:, :w], solved[:, w:]), (solved[:, :w], solved[:, w:])

        def substitute(x_after, block):
            up, right = block
            x = right - up @ x_after
            return x, x

        start = (jnp.zeros((w, w)), jnp.zeros((w, b.shape[1])))
        _, (ups, rights) = jax.lax.scan(eliminate, start, (lower, main, upper, rhs))
        _, x = jax.lax.scan(substitute, jnp.zeros((w, b.shape[1])), (ups, rights), reverse=True)
        return x.reshape(n * w, -1)[self.place]
