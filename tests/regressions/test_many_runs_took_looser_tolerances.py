"""Many runs, and runs inside a program, take the tolerances, the method and the system that `simulate` takes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import own

import saltus as sl
from saltus.hybrid import AbstractSystem, Quantity, Rate, simulate_bounded, simulate_many

LOOSE = {"rtol": 1e-3, "atol": 1.0}


class Swing(AbstractSystem):
    """x'' = -x, which asks for a small absolute tolerance, and for another one where `rtol` is known."""

    kind = "swing"
    strength: jax.Array = dataclasses.field(default_factory=lambda: jnp.asarray(1.0))

    def rate(self, state):
        return Rate(q=state.v, v=-self.strength * state.q, ledger=jnp.zeros(0))

    def quantities(self):
        return {"x": Quantity(("axis",), "m", "position")}

    def observe(self, state):
        return {"x": state.q}

    def atol_limit(self):
        return 1e-9


class Stiffened(Swing):
    """A swing that is another system when it is run with a tolerance, as bodies on the ground are."""

    @property
    def method(self):
        return "tsit5"

    def with_tolerance(self, rtol):
        return dataclasses.replace(self, strength=jnp.asarray(1.0 + rtol))


@pytest.mark.parametrize("system", [Swing(), Stiffened()], ids=["atol_limit", "with_tolerance"])
def test_the_end_is_that_of_a_single_run(system):
    start = sl.hybrid.State.of(0.0, [1e-3], [0.0])
    alone = sl.simulate(system, start, until=3.0, **LOOSE).end
    many = simulate_many(system, start, np.array([3.0, 2.0]), **LOOSE)
    inside = jax.jit(lambda: simulate_bounded(system, start, 3.0, max_events=1, max_steps=200, **LOOSE))()
    np.testing.assert_allclose(many.end.q[0], alone.q, rtol=1e-12)
    np.testing.assert_allclose(inside.end.q, alone.q, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"rtol": 0.0}, "`rtol`"), ({"method": "rk4"}, "needs `step`"), ({"step": -1.0, "method": "rk4"}, "`step`")],
)
def test_what_a_single_run_refuses_many_runs_refuse(options, told):
    ball = own.ball()
    with pytest.raises(ValueError, match=told):
        simulate_many(ball, ball.start(), np.array([1.0]), **options)
    with pytest.raises(ValueError, match=told):
        simulate_bounded(ball, ball.start(), 1.0, max_events=2, **options)
