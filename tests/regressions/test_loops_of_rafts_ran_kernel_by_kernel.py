"""A raft of 360 masses once took 1.5 times as long per step as it had before, with both cores at work.

The forces of the rods at each mass were summed over an axis, which XLA hands to a library where there are some thousand
numbers. No loop that holds such a call is compiled as one piece.
"""

import jax
import jax.numpy as jnp
import numpy as np

from saltus.links.springs import ElasticRods


def test_the_sum_over_the_rods_of_a_mass_calls_no_library():
    side = 40
    number = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate([np.stack([number[:-1], number[1:]], -1), np.stack([number.T[:-1], number.T[1:]], -1)])
    rods = ElasticRods(pairs.reshape(-1, 2), side * side, 1.0)
    values = jnp.ones((3, len(rods)))
    for name in ("at_masses", "over_masses"):
        program = jax.jit(lambda rods, values, name=name: getattr(rods, name)(values)).lower(rods, values).compile()
        assert "kind=kCustom" not in program.as_text()
