"""Programs of scalars hid errors of JAX, and a NaN that tells an engine to take a shorter step."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend import core as jex
from tests.toys import BouncingBall, Oscillator

from saltus.engines import batch, kernel
from saltus.engines.scalar_system import ScalarSystem
from saltus.engines.step_control import steps_of
from saltus.engines.steppers import stepper
from saltus.hybrid import State
from saltus.numerics.scalars import (
    CannotScalariseError,
    Scalars,
    SlowPathWarning,
    as_inputs,
    evaluate,
    needed_nodes,
    scalarize,
    slow_path,
)
from saltus.numerics.scalars.programs import RULES


def _nothing(system, state):
    return jnp.zeros(0)


def by_scalars(function, lanes, strict=False):
    """The results of a function of two numbers for many lanes, through its scalar program."""
    s = Scalars(strict)
    given = as_inputs(s, np.zeros(2), "x")
    results = [one.ravel()[0] for one in scalarize(function, (jnp.zeros(2),), [given], s)]
    return evaluate(results, dict(zip(given, lanes, strict=True)), jnp.zeros(lanes.shape[1]))


def test_zero_times_what_is_undefined_stays_undefined_in_a_strict_program():
    def function(x):
        # The second is a pole at most, the third is a root of squares: both are dropped.
        return 0.0 * jnp.sqrt(x[0] - 1.0) + x[1], 0.0 * (1.0 / x[1]) + 0.0 * jnp.sqrt(x[0] ** 2 + 1.0)

    first, second = by_scalars(function, jnp.array([[0.5, 2.0], [3.0, 4.0]]), strict=True)
    assert np.isnan(first[0]) and first[1] == 4.0
    assert (np.asarray(second) == 0.0).all()


def test_zero_times_what_is_undefined_is_dropped_where_another_result_shows_it_or_none_ever_asks():
    def function(x):
        root = jnp.sqrt(x[0] - 1.0)
        return root * x[1], 0.0 * root * jnp.exp(x[1])

    s = Scalars()
    shown, dropped = scalarize(function, (jnp.zeros(2),), [as_inputs(s, np.zeros(2), "x")], s)
    assert dropped.ravel()[0].equals(0) and s.shows_all(shown.ravel())
    assert not s.shows_all(dropped.ravel())


def test_zero_times_what_is_undefined_in_a_case_that_is_not_taken_does_no_harm():
    def function(x):
        return (jnp.where(x[0] > 1.0, 0.0 * jnp.sqrt(x[0] - 1.0), x[1]),)

    for strict in (False, True):
        (found,) = by_scalars(function, jnp.array([[0.5, 2.0], [3.0, 4.0]]), strict)
        np.testing.assert_array_equal(found, [3.0, 0.0])


def test_a_rate_that_is_nowhere_but_undefined_beyond_a_border_ends_a_step_of_the_kernel():
    class Bordered(Oscillator):
        def rate(self, state):
            flat = super().rate(state)
            return eqx.tree_at(lambda r: r.q, flat, 0.0 * jnp.sqrt(1.0 - state.q))

    state = State.of(q=[0.5], v=[0.0])
    assert ScalarSystem(Bordered(), state, (), None, _nothing).flowing == [0, 1]


def test_errors_of_jax_itself_are_not_taken_for_a_program_that_cannot_be_written_out(monkeypatch):
    def broken(s, eqn, *arrays):
        raise NotImplementedError("JAX cannot do this")

    monkeypatch.setitem(RULES, "sin", broken)
    with pytest.raises(NotImplementedError, match="JAX cannot"):
        by_scalars(lambda x: (jnp.sin(x[0]),), jnp.ones((2, 1)))


def test_a_parameter_that_another_version_of_jax_calls_otherwise_is_named():
    closed = jax.make_jaxpr(lambda x: x.T)(jnp.zeros((2, 2)))
    (eqn,) = closed.jaxpr.eqns
    renamed = eqn.replace(params={"order": eqn.params["permutation"]})
    other = jex.ClosedJaxpr(closed.jaxpr.replace(eqns=[renamed]), closed.consts)
    from saltus.numerics.scalars.programs import _inline

    s = Scalars()
    (found,) = _inline(s, other, [as_inputs(s, np.zeros((2, 2)), "x")])
    with pytest.raises(CannotScalariseError, match=r"a parameter 'permutation', which JAX .* does not have"):
        needed_nodes(found.ravel())


class Tall(BouncingBall):
    def rate(self, state):
        matrix = jnp.eye(2) + 0.0 * state.q[0]
        return eqx.tree_at(lambda r: r.v, super().rate(state), -9.81 * jnp.linalg.eigvalsh(matrix)[1:])


def test_a_batch_says_once_which_system_runs_slower_and_why():
    slow_path._warn.cache_clear()
    system = Tall(jnp.asarray(0.5), jnp.asarray(9.81))
    start = State(np.zeros(2), np.ones((2, 1)), np.zeros((2, 1)), np.zeros((2, 0)), np.zeros(2, int))
    control = steps_of(0.0, 0.0, 0.01, 0.0)
    settings = batch.BatchSettings(stepper("rk4"), control, _nothing, 64, 10_000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            lanes = batch.run(eqx.filter(system, False), system, start, 0.3, settings)
    ours = [str(one.message) for one in told if one.category is SlowPathWarning]
    assert len(ours) == 1 and ours[0].startswith("Tall runs without the fast path") and "eigh" in ours[0]
    np.testing.assert_allclose(lanes.state.q[:, 0], 1.0 - 0.5 * 9.81 * 0.09, rtol=1e-12)


def test_programs_that_are_remembered_are_not_more_and_more(monkeypatch):
    monkeypatch.setattr(kernel, "KEPT", 2)
    monkeypatch.setattr(kernel, "_PROGRAMS", type(kernel._PROGRAMS)())
    states = State(jnp.zeros(1), jnp.ones((1, 1)), jnp.zeros((1, 1)), jnp.zeros((1, 0)), jnp.zeros(1, int))
    for _ in range(4):
        kernel.lanes_program(Oscillator(), states, None, None, True, lambda system, state: jnp.zeros(0))
    assert len(kernel._PROGRAMS) == 2
