"""The samples of an ensemble: what they depend on, and how they are distributed."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import qmc

from saltus.ensembles.design import Design, points
from saltus.errors import ScenarioError
from saltus.scenarios.ensemble import EnsembleModel

MIXED = {
    "friction.mu": {"normal": [0.02, 0.005], "min": 0.0},
    "gravity": {"lognormal": [9.0, 0.3], "max": 12.0},
    "surface.radius": {"uniform": [1.0, 2.0], "min": 1.5},
    "solve.method": {"choice": ["rk4", "dopri8", "tsit5"], "weights": [1.0, 2.0, 1.0]},
    "solve.adhesion": {"choice": [True, False]},
}
LINKED = {"correlated": [{"keys": ["friction.mu", "gravity", "surface.radius"], "correlation": 0.5}]}
DESIGNS = ("random", "sobol", "latin", "saltelli")


def design(kind="random", samples=64, seed=1, **tables):
    return Design(EnsembleModel.model_validate({"samples": samples, "seed": seed, "design": kind, **tables}))


def same(first, second):
    return all(first[key].dtype == second[key].dtype and (first[key] == second[key]).all() for key in first)


@given(
    kind=st.sampled_from(DESIGNS),
    cuts=st.lists(st.integers(0, 192), max_size=6),
    seed=st.integers(0, 2**63),
    linked=st.booleans(),
)
def test_any_chunking_gives_the_same_bits(kind, cuts, seed, linked):
    more = LINKED if linked and kind != "saltelli" else {}
    whole = design(kind, 192, seed, **MIXED, **more)
    edges = sorted({0, 192, *cuts})
    parts = [
        # Each chunk from a design of its own: as a worker draws it.
        design(kind, 192, seed, **MIXED, **more).draw(first, last)
        for first, last in itertools.pairwise(edges)
    ]
    joined = {key: np.concatenate([part[key] for part in parts]) for key in whole.keys}
    assert same(whole.draw(0, 192), joined)


@pytest.mark.parametrize("kind", DESIGNS)
def test_threads_that_draw_at_once_do_not_disturb_each_other(kind):
    shared = design(kind, 12 * 1024, **MIXED)
    edges = [(first, first + 512) for first in range(0, 12 * 1024, 512)]
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda chunk: shared.draw(*chunk), edges))
    for chunk, part in zip(edges, parts, strict=True):
        assert same(shared.draw(*chunk), part)


@given(
    kind=st.sampled_from(["random", "sobol"]),
    fewer=st.integers(1, 300),
    more=st.integers(1, 700),
    seed=st.integers(0, 1000),
)
def test_a_sample_does_not_depend_on_how_many_there_are(kind, fewer, more, seed):
    few, many = design(kind, fewer, seed, **MIXED), design(kind, fewer + more, seed, **MIXED)
    assert same(few.draw(0, fewer), many.draw(0, fewer))


@given(kind=st.sampled_from(DESIGNS), seed=st.integers(0, 1000))
def test_seeds_differ(kind, seed):
    first, second = design(kind, 192, seed, **MIXED), design(kind, 192, seed + 1, **MIXED)
    assert (first.draw(0, 192)["friction.mu"] != second.draw(0, 192)["friction.mu"]).mean() > 0.9


def test_another_key_changes_nothing_in_a_random_design():
    one = {"gravity": MIXED["gravity"]}
    assert (design(**one).draw(0, 64)["gravity"] == design(**MIXED).draw(0, 64)["gravity"]).all()


MARGINALS = {
    "normal": ({"normal": [2.0, 0.5]}, stats.norm(2.0, 0.5)),
    "cut_off": ({"normal": [0.02, 0.005], "min": 0.018, "max": 0.03}, stats.truncnorm(-0.4, 2.0, 0.02, 0.005)),
    "far_tail": ({"normal": [0.0, 1.0], "min": 9.0}, stats.truncnorm(9.0, np.inf)),
    "far_lower_tail": ({"normal": [0.0, 1.0], "max": -9.0}, stats.truncnorm(-np.inf, -9.0)),
    "uniform": ({"uniform": [-1.0, 3.0]}, stats.uniform(-1.0, 4.0)),
    "lognormal": ({"lognormal": [0.3, 0.7]}, stats.lognorm(0.7, scale=0.3)),
}


@pytest.mark.parametrize("kind", ["random", "sobol", "latin"])
@pytest.mark.parametrize("name", MARGINALS)
def test_values_have_their_distribution(name, kind):
    table, expected = MARGINALS[name]
    values = design(kind, 4096, seed=5, x=table).draw(0, 4096)["x"]
    distance = stats.kstest(values, expected.cdf).statistic
    # Random: the distance exceeds 1.95 / sqrt(n) once in a thousand seeds. Strata: one value in each, so 1 / n.
    assert distance < (1.95 / 64 if kind == "random" else 1.001 / 4096)


@given(
    location=st.floats(-3, 3),
    scale=st.floats(0.01, 10),
    low=st.floats(-5, 5),
    width=st.floats(1e-3, 5),
    name=st.sampled_from(["normal", "uniform"]),
)
def test_no_value_lies_beyond_min_and_max(location, scale, low, width, name):
    pair = [location, scale] if name == "normal" else [low - scale, low + width + scale]
    table = {name: pair, "min": low, "max": low + width}
    try:
        values = design(samples=200, x=table).draw(0, 200)["x"]
    except ScenarioError as error:
        # Hundreds of standard deviations away nothing can be drawn.
        assert "no probability" in str(error) and min(abs(low - location), abs(low + width - location)) > 30 * scale
        return
    assert (values >= low).all() and (values <= low + width).all()
    # Cut off, not heaped at the ends.
    assert (values == low).sum() + (values == low + width).sum() <= 2


@pytest.mark.parametrize("kind", ["random", "sobol", "latin"])
def test_correlated_keys_have_their_correlations_and_their_distributions(kind):
    matrix = [[1.0, 0.8, -0.3], [0.8, 1.0, 0.0], [-0.3, 0.0, 1.0]]
    tables = {
        "a": {"normal": [0.0, 1.0]},
        "b": {"normal": [5.0, 0.1]},
        "c": {"lognormal": [2.0, 0.5]},
        "d": {"uniform": [0.0, 1.0]},
        "correlated": [{"keys": ["a", "b", "c"], "correlation": matrix}],
    }
    values = design(kind, 20_000, **tables).draw(0, 20_000)
    normal = np.stack([values["a"], values["b"], np.log(values["c"]), values["d"]])
    expected = np.eye(4)
    expected[:3, :3] = matrix
    # The scatter of a correlation of n samples is at most 1 / sqrt(n) = 0.007.
    assert np.abs(np.corrcoef(normal) - expected).max() < 0.025
    assert stats.kstest(values["c"], stats.lognorm(0.5, scale=2.0).cdf).statistic < 1.95 / np.sqrt(20_000)


@given(count=st.integers(1, 400), seed=st.integers(0, 1000))
def test_a_latin_hypercube_has_one_sample_in_every_stratum(count, seed):
    values = design("latin", count, seed, x={"uniform": [0.0, 1.0]}, y={"uniform": [0.0, 1.0]}).draw(0, count)
    for key in values:
        assert (np.sort((values[key] * count).astype(int)) == np.arange(count)).all()


def test_strata_of_two_keys_are_joined_at_random():
    values = design("latin", 5000, x={"uniform": [0.0, 1.0]}, y={"uniform": [0.0, 1.0]}).draw(0, 5000)
    order = np.arange(5000)
    for first, second in ((values["x"], values["y"]), (order, values["x"]), (order, values["y"])):
        # The scatter of a correlation of independent keys is 1 / sqrt(5000) = 0.014.
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.05
    places = np.histogram2d(values["x"], values["y"], bins=10)[0]
    # 81 degrees of freedom; above 140 once in ten thousand.
    assert ((places - 50) ** 2 / 50).sum() < 140


def test_every_order_of_a_few_numbers_comes_up_equally_often():
    three = np.arange(3, dtype=np.uint64)
    orders = [tuple(points.Permutation(3, points.Stream(seed))(three)) for seed in range(600)]
    counts = [orders.count(order) for order in itertools.permutations(range(3))]
    # 5 degrees of freedom; above 25.7 once in ten thousand.
    assert sum((count - 100) ** 2 / 100 for count in counts) < 25.7


@given(count=st.integers(1, 5000), seed=st.integers(0, 100))
def test_a_permutation_takes_every_number_once(count, seed):
    found = points.Permutation(count, points.Stream(seed))(np.arange(count, dtype=np.uint64))
    assert (np.sort(found) == np.arange(count)).all()


@given(dimensions=st.integers(1, 8), seed=st.integers(0, 100), first=st.integers(0, 500), count=st.integers(1, 100))
def test_any_stretch_of_the_sobol_sequence_is_that_of_scipy(dimensions, seed, first, count):
    reference = qmc.Sobol(dimensions, scramble=True, bits=points.SOBOL_CELLS, seed=np.random.default_rng(seed))
    expected = reference.random(1024)[first : first + count]
    found = points.Sobol(dimensions, seed, samples=1024).draw(first, first + count)
    assert (found == expected + 2.0 ** -(points.SOBOL_CELLS + 1)).all()


def test_a_saltelli_design_is_ordered_as_salib_expects():
    drawn = points.Saltelli(2, seed=4, samples=6 * 8).draw(0, 48).reshape(8, 6, 2)
    base = points.Sobol(4, seed=4, samples=8).draw(0, 8)
    a, b = base[:, :2], base[:, 2:]
    assert (drawn[:, 0] == a).all() and (drawn[:, 5] == b).all()
    assert (drawn[:, 1] == np.stack([b[:, 0], a[:, 1]], axis=1)).all()
    assert (drawn[:, 2] == np.stack([a[:, 0], b[:, 1]], axis=1)).all()
    assert (drawn[:, 3] == np.stack([a[:, 0], b[:, 1]], axis=1)).all()
    assert (drawn[:, 4] == np.stack([b[:, 0], a[:, 1]], axis=1)).all()


axes = st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=5), min_size=1, max_size=4)


@given(axes)
def test_a_grid_is_the_product_of_its_axes_the_last_fastest(lists):
    grid = design("grid", None, **{f"key{place}": {"values": values} for place, values in enumerate(lists)})
    expected = np.array(list(itertools.product(*lists)))
    assert grid.samples == len(expected)
    assert (grid.numbers(grid.draw(0, grid.samples)) == expected).all()
    middle = grid.samples // 2
    assert (grid.numbers(grid.draw(middle, grid.samples)) == expected[middle:]).all()


def test_choices_come_up_by_their_weights():
    values = design("sobol", 1024, **MIXED).draw(0, 1024)
    assert [(values["solve.method"] == name).sum() for name in ("rk4", "dopri8", "tsit5")] == [256, 512, 256]
    assert values["solve.adhesion"].dtype == bool and values["solve.adhesion"].sum() == 512


def test_texts_are_stored_as_their_place_in_the_list():
    drawn = design(**MIXED)
    values = drawn.draw(0, 64)
    assert drawn.choices == {"solve.method": ["rk4", "dopri8", "tsit5"]}
    table = drawn.numbers(values)
    assert table.shape == (64, 5) and table.dtype == float
    assert [drawn.choices["solve.method"][int(place)] for place in table[:, 3]] == list(values["solve.method"])


def test_whole_numbers_stay_whole():
    assert design(links={"choice": [3, 5, 8]}).draw(0, 64)["links"].dtype.kind == "i"
