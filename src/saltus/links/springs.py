"""Elastic rods between masses: the network, and the forces that follow from its stretch."""

from __future__ import annotations

import functools
import operator
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saltus import checks
from saltus.programs.arrays import numbers


class ElasticRods(eqx.Module):
    """A network of rods that give way a little; a rod force > 0 pushes the masses apart.

    Args:
        pairs: Masses that each rod joins.
        n_masses: How many masses there are.
        stiffness: Force per stretch, > 0 [N/m].
        damping: Force per speed of stretching, >= 0 [N s/m].
        strength: Size of the force that breaks a rod, > 0; infinite if it never breaks [N].
    """

    first: Int[Array, " r"]
    second: Int[Array, " r"]
    incident: Int[Array, "degree n"]
    sign: Float[Array, "degree n"]
    stiffness: Float[Array, " r"]
    damping: Float[Array, " r"]
    strength: Float[Array, " r"]

    def __init__(self, pairs, n_masses: int, stiffness, damping: Any = 0.0, strength: Any = np.inf):
        checks.positive("stiffness", stiffness, "Leave it out for a rigid rod.")
        checks.nonnegative("damping", damping)
        known = checks.concrete(strength)
        if known is not None and not (known > 0.0).all():
            raise ValueError(
                f"`strength` must be > 0, got {float(known.min())}. Leave it out for a rod that never breaks."
            )
        table = np.asarray(pairs, int).reshape(-1, 2)
        self.first, self.second = (numbers(column, np.int32) for column in table.T)
        incident, sign = _incidence(table, n_masses)
        self.incident, self.sign = numbers(incident, np.int32), numbers(sign)
        self.stiffness, self.damping, self.strength = (
            _each(value, len(table)) for value in (stiffness, damping, strength)
        )

    def __len__(self) -> int:
        return self.first.shape[0]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The masses that each rod joins."""
        return list(zip(np.asarray(self.first).tolist(), np.asarray(self.second).tolist(), strict=True))

    def between(self, values: Float[Array, "d n"]) -> Float[Array, "d r"]:
        """Value at the first end minus value at the second end of each rod."""
        return take(values, self.first) - take(values, self.second)

    def of_each_mass(self, values: Float[Array, "*d r"]) -> Float[Array, "*d degree n"]:
        """Values of the rods of each mass; where it has fewer than others, that of some other rod."""
        if not len(self):
            return jnp.zeros((*values.shape[:-1], *self.sign.shape))
        return take(values, self.incident)

    def at_masses(self, values: Float[Array, "*d r"]) -> Float[Array, "*d n"]:
        """Sum over the rods of each mass: plus at the first end, minus at the second."""
        return total(self.sign * self.of_each_mass(values))

    def over_masses(self, values: Float[Array, "*d r"]) -> Float[Array, "*d n"]:
        """Sum over the rods of each mass, all of them positive."""
        return total(jnp.abs(self.sign) * self.of_each_mass(values))


def total(values: Float[Array, "*d degree n"]) -> Float[Array, "*d n"]:
    """Sum over the rods of each mass, of values in the order of `of_each_mass`."""
    if not values.shape[-2]:
        return jnp.zeros((*values.shape[:-2], values.shape[-1]))
    # One by one: a sum over an axis becomes a call of a library, which a loop compiled as one piece cannot hold.
    return functools.reduce(operator.add, (values[..., k, :] for k in range(values.shape[-2])))


def take(values: Array, index: Int[Array, "..."]) -> Array:
    """Entries of the last axis, by indices that are known to be good."""
    return values.at[..., index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _each(value: Any, count: int) -> Float[Array, " r"]:
    """One number for each rod."""
    known = checks.concrete(value)
    return jnp.broadcast_to(value, (count,)) if known is None else numbers(np.broadcast_to(known, (count,)))


def _incidence(table: np.ndarray, n_masses: int) -> tuple[np.ndarray, np.ndarray]:
    """The rods of each mass and the signs of their ends, padded with the sign 0."""
    rods_at: list[list[tuple[int, float]]] = [[] for _ in range(n_masses)]
    for rod, (i, j) in enumerate(table):
        rods_at[i].append((rod, 1.0))
        rods_at[j].append((rod, -1.0))
    degree = max((len(rods) for rods in rods_at), default=0)
    incident, sign = np.zeros((degree, n_masses), int), np.zeros((degree, n_masses))
    for mass, rods in enumerate(rods_at):
        for k, (rod, end) in enumerate(rods):
            incident[k, mass], sign[k, mass] = rod, end
    return incident, sign
