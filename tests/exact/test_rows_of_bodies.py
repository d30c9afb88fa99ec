"""What bodies show in many states, in NumPy and by the compiled program."""

import jax
import numpy as np
import pytest

from saltus import scenarios

pytestmark = pytest.mark.slow

BALLS = ["fill.shape.axes=[0.5, 0.5, 0.5]"]


@pytest.mark.parametrize("changes", [[], ["box.periodic=true"], BALLS, ["fill.count=1"], ["gravity=[0.3, 0, -2]"]])
def test_states_are_shown_alike_with_and_without_a_program(changes):
    run = scenarios.load("box-of-ellipsoids", ["solve.until=0.8", *changes]).scenario.simulate()
    states = run.states(np.linspace(0.0, 0.8, 41))
    rows, program = run.system.observe_rows(states), jax.jit(jax.vmap(run.system.observe))(states)
    assert rows is not None and rows.keys() == program.keys() == run.system.quantities().keys()
    for name, values in rows.items():
        # Both searches for a gap end within rounding of it.
        assert values == pytest.approx(np.asarray(program[name]), rel=1e-12, abs=1e-13), name


def test_two_bodies_of_any_shape_are_shown_alike_with_and_without_the_program_of_all():
    run = scenarios.load("paradox", ["solve.until=0.05"]).scenario.simulate()
    states = run.states(np.linspace(0.0, 0.05, 5))
    rows, program = run.system.observe_rows(states), jax.jit(jax.vmap(run.system.observe))(states)
    assert rows is not None and rows.keys() == program.keys()
    for name, values in rows.items():
        assert values == pytest.approx(np.asarray(program[name]), rel=1e-12, abs=1e-13), name


def test_many_bodies_and_other_shapes_are_left_to_the_program():
    system, start = scenarios.load("box-of-ellipsoids", ["fill.shape.exponents=4.0"]).scenario.build()
    assert system.observe_rows(jax.tree.map(lambda leaf: np.asarray(leaf)[None], start)) is None
