"""A compiled search once decided twice, with different rounding, whether a pair touches, and looked for ever.

Where the compiler computes a gap once for each of its uses, one copy can be fused with multiplications that the other
keeps apart. This happened with few optimisations after 3977 contacts of these balls; the run was called stalled.
"""

import numpy as np

from saltus import gas as gases
from saltus.gas import HardBodies, Species
from saltus.systems.gas import loop
from saltus.systems.gas.overlap import gaps

COUNT, FRACTION = 108, 0.4


def balls() -> HardBodies:
    box = np.full(3, (COUNT * np.pi / 6 / FRACTION) ** (1 / 3))
    start = gases.random_start([Species([0.5] * 3, COUNT, mass=1.0)], box, temperature=1.0, seed=1)
    return HardBodies(start, box)


def test_a_search_for_a_contact_ends():
    hard = balls()
    for _ in range(5):
        hard.advance(contacts=2000)
        assert hard.outcome is None
        bodies = hard.snapshot()
        assert gaps(bodies, hard.box).min() > -1e-12


def compiled(program) -> int:
    """How often a program has been compiled or read back."""
    return program.plain._cached._cache_size() + len(program._named)


def test_a_second_piece_of_a_run_needs_no_other_program():
    hard = balls()
    hard.advance(contacts=10)
    had = compiled(loop.advance)
    hard.advance(contacts=10)
    assert compiled(loop.advance) == had
