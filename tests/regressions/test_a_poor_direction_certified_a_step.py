"""A direction between two bodies that had not converged once certified a step over their contact.

Along such a direction bodies can seem to overlap, and to part, while they are apart and approach. The step that was
taken then was as long as if they had just touched: once in about 100,000 contacts of long ellipsoids two of them met
with an overlap of 1e-4 of their size.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from saltus.gas import HardBodies, Species, random_start
from saltus.systems.gas.forecast import PairView, _touches

LONG = np.array([3.0, 1.0, 1.0]) * 0.5 / 3.0 ** (1 / 3)
EDGE = np.full(3, (64 * np.pi / 6 / 0.3) ** (1 / 3))


def balls_apart() -> HardBodies:
    start = random_start([Species([0.1] * 3, 2, mass=1.0)], EDGE, temperature=1.0, seed=1)
    return HardBodies(start, EDGE)


@pytest.mark.parametrize(
    ("gap", "rate", "change", "wanted"),
    [
        (-1e-3, 1.0, 1e-2, (False, True)),  # poor: nothing is known
        (-1e-3, -1.0, 1e-2, (False, True)),
        (0.0, 1.0, 0.0, (False, False)),  # they have just bounced
        (0.0, -1.0, 0.0, (True, False)),
        (1e-3, -1.0, 1e-2, (False, False)),  # apart along any direction: apart
    ],
)
def test_only_a_direction_that_has_converged_tells_what_happens_at_a_contact(gap, rate, change, wanted):
    seen = PairView(*(jnp.asarray(number) for number in (gap, rate, change, 0.5, 1e-3)))
    found = _touches(balls_apart().terms, seen, jnp.asarray(0.3))
    assert tuple(bool(one) for one in found) == wanted


@pytest.mark.slow
def test_bodies_never_meet_with_an_overlap():
    hard = HardBodies(random_start([Species(LONG, 64, mass=1.0)], EDGE, temperature=1.0, seed=1), EDGE)
    hard.advance(contacts=300_000)
    assert float(hard.fluid.tally.deepest) > -1e-12
