"""Facts about objects by identity: never those of another object, and gone with it."""

import equinox as eqx
import jax.numpy as jnp
import pytest

import saltus as sl
from saltus.hybrid.object_facts import ObjectFacts


class Thing(eqx.Module):
    number: float


def test_facts_belong_to_one_object_and_end_with_it():
    seen: ObjectFacts[str] = ObjectFacts()
    one, other = Thing(1.0), Thing(1.0)
    seen.put(one, "a")
    assert seen.get(one) == "a" and seen.get(other) is None
    seen.put(3, "numbers cannot be watched")
    assert seen.get(3) is None
    del one
    assert not seen._facts


def test_a_system_that_was_run_before_is_refused_with_a_traced_start_or_traced_numbers():
    import jax

    system = sl.systems.SlidingMasses(sl.surfaces.Sphere(radius=1.0), masses=[1.0], mu=0.0)
    start = system.start(position=[[0.3, 0.0]], velocity=[[0.0, 1.0]])
    sl.simulate(system, start, until=0.1)
    with pytest.raises(TypeError, match="cannot be traced"):
        jax.jit(lambda t: sl.simulate(system, eqx.tree_at(lambda s: s.t, start, t), until=0.1))(jnp.asarray(0.0))
    with pytest.raises(TypeError, match="cannot be traced"):
        jax.jit(lambda m: sl.simulate(eqx.tree_at(lambda s: s.mass, system, m), start, until=0.1))(system.mass)
