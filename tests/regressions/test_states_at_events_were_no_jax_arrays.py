"""`event_data` of a system of one's own is given states of JAX arrays, as all its other methods are."""

import jax
import jax.numpy as jnp
import numpy as np

import saltus as sl
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State


class Bouncing(AbstractSystem):
    """A point on a floor that tells of its bounces by means of JAX."""

    kind = "bouncing"
    mode_names = ("free",)

    def quantities(self):
        return {"height": Quantity("height", "m", ("axis",))}

    def observe(self, state):
        return {"height": state.q}

    def rate(self, state):
        return Rate(q=state.v, v=jnp.array([-9.81]), ledger=state.ledger)

    def guards(self):
        return (Guard("floor", lambda state: state.q[0], jump=self._bounce),)

    def _bounce(self, state, index):
        return State(t=state.t, q=state.q, v=-0.5 * state.v, ledger=state.ledger, mode=state.mode)

    def event_data(self, guard, index, before, after):
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((before, after)))
        upward = before.v.at[0].multiply(-1.0)
        return {"ratio": float(jnp.linalg.norm(after.v) / jnp.linalg.norm(upward)), "change": after.v - before.v}


def test_a_system_may_use_index_updates_and_functions_of_jax_there():
    system = Bouncing()
    run = sl.simulate(system, State.of(q=[1.0], v=[0.0]), until=0.6)
    assert [event.name for event in run.events] == ["floor"]
    assert run.events[0].data["ratio"] == 0.5
    np.testing.assert_allclose(run.events[0].data["change"], 1.5 * np.sqrt(2.0 * 9.81), rtol=1e-12)
