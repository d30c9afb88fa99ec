"""States with named parts: systems read names, engines one array."""

import re
from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import saltus as sl
from saltus.hybrid import AbstractSystem, Guard, Parts, Quantity, Rate, State, part, simulate_bounded, simulate_many

SYSTEMS = Path(sl.__file__).parent / "systems"


class Place(Parts):
    along: Array = part()
    height: Array = part(1)


class Count(Parts):
    hits: Array = part()
    odd: Array = part()


class NamedBall(AbstractSystem):
    """Two heights that bounce, and a place along the floor."""

    kind: ClassVar[str] = "named_ball"
    restitution: Array

    def rate(self, state):
        return Rate(q=state.v, v=Place(jnp.zeros(()), jnp.full(2, -9.81)), ledger=jnp.zeros(0))

    def guards(self):
        return (Guard("floor", lambda s: s.q.height, jump=self.bounce),)

    def bounce(self, state, index):
        speed = state.v.height.at[index].multiply(-self.restitution)
        mode = Count(state.mode.hits + 1, ~state.mode.odd)
        return state.replace(v=state.v.replace(height=speed), mode=mode)

    def quantities(self):
        return {"height": Quantity(("ball",), "m", "height")}

    def observe(self, state):
        return {"height": state.q.height}


def start(first=1.0):
    place = Place(along=0.0, height=jnp.array([first, 2.0]))
    return State.of(0.0, place, Place(1.0, jnp.zeros(2)), [], Count(0, np.asarray(False)))


BALL = NamedBall(jnp.asarray(0.8))
HITS = [(np.sqrt(2 * 1.0 / 9.81), 0), (np.sqrt(2 * 2.0 / 9.81), 1)]


def test_parts_are_one_array_and_back():
    place = Place(along=np.array([1.0, 4.0]), height=np.array([[2.0, 3.0], [5.0, 6.0]]))
    assert place.shape == (2, 3) and place.size == 6 and place.ndim == 2 and len(place) == 2
    np.testing.assert_array_equal(place, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    again = place.refill(10.0 * place.array())
    assert again.along.tolist() == [10.0, 40.0] and again.height[1].tolist() == [50.0, 60.0]
    count = Count(np.asarray(3), np.asarray(True))
    assert np.asarray(count).tolist() == [3, 1]
    assert count.refill(np.array([4, 0])).odd.dtype == bool
    assert float(jnp.sum(jax.tree.map(lambda x: x[0], place))) == 6.0 and float(place[1, 0]) == 4.0


def test_parts_do_what_arrays_do_and_say_which_names_they_have():
    place = Place(jnp.asarray(-1.0), jnp.asarray([2.0, -3.0]))
    assert float(place.max()) == 2.0 and place.ravel().tolist() == [-1.0, 2.0, -3.0]
    assert place.at[0].set(5.0).tolist() == [5.0, 2.0, -3.0]
    with pytest.raises(AttributeError, match="'Place' has no part 'hight'; it has along, height"):
        _ = place.hight


def test_arithmetic_with_parts_is_that_of_their_array():
    place = Place(jnp.asarray(-1.0), jnp.asarray([2.0, -3.0]))
    flat = np.array([-1.0, 2.0, -3.0])
    for ours, theirs in (
        (abs(place), abs(flat)), (-place, -flat), (0.5 * place, 0.5 * flat), (place * 0.5, 0.5 * flat),
        (place / 2.0, flat / 2.0), (1.0 + place, 1.0 + flat), (1.0 - place, 1.0 - flat), (flat - place, 0 * flat),
    ):  # fmt: skip
        np.testing.assert_array_equal(ours, theirs)


def test_a_run_with_names_finds_its_events_and_keeps_the_form_of_its_state():
    run = sl.simulate(BALL, start(), until=0.7)
    assert [(pytest.approx(event.t, rel=1e-13), event.index) for event in run.events] == HITS
    assert run.end.q.height.shape == (2,) and float(run.end.q.along) == pytest.approx(0.7, rel=1e-14)
    assert int(run.end.mode.hits) == 2 and not bool(run.end.mode.odd)
    states = run.states([0.1, 0.5])
    np.testing.assert_allclose(states.q.along, [0.1, 0.5], rtol=1e-14)
    assert states.mode.hits.tolist() == [0, 1] and states.mode.odd.tolist() == [False, True]
    np.testing.assert_allclose(run.to_dataset(times=[0.1]).height[0], [1 - 0.5 * 9.81 * 0.01, 2 - 0.5 * 9.81 * 0.01])


def test_a_derivative_goes_by_the_names():
    run = sl.simulate(BALL, start(), until=0.7)
    slope = jax.grad(lambda first: run.replay(BALL, start(first)).end.q.height[0])(1.0)
    h = 1e-5
    ends = [sl.simulate(BALL, start(1.0 + s), until=0.7).end.q.height[0] for s in (h, -h)]
    assert float(slope) == pytest.approx(float(ends[0] - ends[1]) / (2 * h), rel=1e-6)
    bounded = jax.jit(lambda: simulate_bounded(BALL, start(), 0.7, max_events=4))()
    np.testing.assert_allclose(bounded.end.q.height, run.end.q.height, rtol=1e-12)


@pytest.mark.parametrize("how", [{}, {"method": "rk4", "step": 0.01}], ids=["adaptive", "constant"])
def test_many_runs_keep_the_names(how):
    alone = sl.simulate(BALL, start(), until=0.7, **how)
    many = simulate_many(BALL, jax.tree.map(lambda x: jnp.stack([x, x]), start()), until=0.7, **how)
    assert many.end.mode.hits.tolist() == [2, 2]
    np.testing.assert_allclose(many.end.q.height[1], alone.end.q.height, rtol=1e-12)


def test_no_system_counts_through_its_state():
    """What a system keeps has a name; x, y, z of many masses are columns, not places in a list."""
    counts = re.compile(r"\b(state|before|after|s)\.(q|v|ledger|mode)(\.at)?\[(\.\.\., )?\d")
    found = [
        f"{path.relative_to(SYSTEMS)}: {line.strip()}"
        for path in sorted(SYSTEMS.rglob("*.py"))
        for line in path.read_text().splitlines()
        if counts.search(line)
    ]
    assert not found, found


def test_a_copy_of_parts_as_an_array_can_be_written_to():
    parts = Place(along=jnp.zeros(2), height=jnp.ones((2, 3)))
    rows = np.array(parts)
    rows[0] = 5.0
    assert rows[0, 0] == 5.0 and float(parts.along[0]) == 0.0


def test_parts_can_be_gone_through_and_come_to_an_end():
    place = Place(along=jnp.asarray(1.0), height=jnp.array([2.0, 3.0]))
    assert [float(number) for number, _ in zip(place, range(10), strict=False)] == [1.0, 2.0, 3.0]
    first, *_ = Place(along=np.asarray(1.0), height=np.array([2.0, 3.0]))
    assert first == 1.0
