"""Carlson's integrals against SciPy, and pairs of near points against all their images."""

import itertools

import numpy as np
import pytest
from scipy import special

from saltus.numerics.elliptic import rd, rf, rg
from saltus.systems.gas import overlap


@pytest.mark.parametrize(("ours", "theirs"), [(rf, special.elliprf), (rd, special.elliprd), (rg, special.elliprg)])
def test_carlson_integrals_are_those_of_scipy(ours, theirs):
    for arguments in 10.0 ** np.random.default_rng(3).uniform(-6.0, 6.0, (500, 3)):
        assert ours(*arguments) == pytest.approx(float(theirs(*arguments)), rel=4e-15)  # rounding of a dozen roots
    assert ours(0.0, 1.0, 2.0) == pytest.approx(float(theirs(0.0, 1.0, 2.0)), rel=4e-15)


@pytest.mark.parametrize("periodic", [(True, True, True), (True, False, True), (False, False, False)])
@pytest.mark.parametrize("few", [0, 600])
def test_near_pairs_are_those_of_all_images(monkeypatch, periodic, few):
    monkeypatch.setattr(overlap, "FEW", few)
    edges, reach = np.array([2.0, 3.0, 2.5]), 0.99
    place = np.random.default_rng(5).uniform(-2.0, 2.0, (40, 3))
    one, two, apart = overlap.near_pairs(place, reach, np.where(periodic, edges, np.inf))
    wanted = []
    images = np.array(list(itertools.product(*((-3, -2, -1, 0, 1, 2, 3) if p else (0,) for p in periodic)))) * edges
    for i, j in itertools.combinations(range(len(place)), 2):
        between = place[j] - place[i] + images
        wanted += [(i, j, *np.round(v, 9)) for v in between if np.linalg.norm(v) < reach]
    found = [(min(i, j), max(i, j), *np.round(v if i < j else -v, 9)) for i, j, v in zip(one, two, apart, strict=True)]
    assert sorted(np.array(found).tolist()) == sorted(np.array(wanted).tolist())
