"""Slabs between two bodies, found by NumPy, against the certified gap."""

import numpy as np
import pytest

import saltus as sl
from saltus.contacts.slabs import Hull, widest_slab
from saltus.numerics.on_host import rotation_matrices


@pytest.mark.parametrize("seed", range(12))
def test_the_widest_slab_is_never_wider_than_the_gap_and_reaches_it_for_one_exponent(seed):
    random = np.random.default_rng(seed)
    axes, exponents = random.uniform(0.3, 1.0, (2, 3)), random.choice([2.5, 4.0, 8.0], 2)
    quaternions = random.standard_normal((2, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    direction = random.standard_normal(3)
    offset = direction / np.linalg.norm(direction) * random.uniform(0.8, 3.0)  # some of them overlap
    hulls = [Hull(a, e, turn) for a, e, turn in zip(axes, exponents, rotation_matrices(quaternions), strict=True)]
    bodies = [
        sl.shapes.Body(sl.shapes.Superellipsoid(a, [e] * 3), density=1.0, center=center, quaternion=quaternion)
        for a, e, center, quaternion in zip(axes, exponents, (np.zeros(3), offset), quaternions, strict=True)
    ]
    gap = float(sl.contacts.gap(*bodies).gap)
    width = widest_slab(*hulls, offset, enough=np.inf)
    if gap > 0.0:
        assert width == pytest.approx(gap, abs=1e-9)  # the direction is right to the root of rounding
    else:
        assert width < 0.0
    narrow = widest_slab(hulls[0], Hull(axes[1], 2.0 * exponents[1], hulls[1].turn), offset, enough=np.inf)
    assert narrow <= width + 1e-12  # of a body that holds the other
