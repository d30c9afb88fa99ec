"""One suite over every exported system: add an example here and all of it applies."""

import functools
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests import own

import saltus as sl
from saltus.engines.choice import ENGINES
from saltus.hybrid import AbstractSystem, HybridSystem, simulate_many
from saltus.hybrid.system import checked_guards
from saltus.scenarios import load


def _ready(name, until):
    scenario = load(name).scenario
    return lambda: (*scenario.assemble(), until)


def _raft():
    raft = sl.systems.Raft(sl.surfaces.Plane(-0.2, 0.0), [1.0, 2.0], [(0, 1)], mu=0.3, stiffness=1e3, strength=6.0)
    return raft, raft.start([[0.0, 0.0], [1.0, 0.0]], [[3.0, 0.0], [2.0, 0.5]]), 0.3


def _functions():
    mass = own.stick_slip()
    return mass, mass.start(), 8.0


EXAMPLES = {
    "BallOnPlane": _ready("plane-spin-down", 0.3),
    "BallOnRails": _ready("rails-to-rest", 0.3),
    "BodyOnGround": _ready("stone-down-a-slope", 0.4),
    "Butterfly": _ready("butterfly-slip", 0.2),
    "ButterflyPlan": _ready("butterfly-plan", 0.5),
    "Chain": _ready("chain", 3.0),
    "FunctionSystem": _functions,
    "Raft": _raft,
    "RigidBodies": _ready("ellipsoids", 1.0),
    "SlidingMasses": _ready("bowl", 2.0),
}
# Of the others the programs take long to compile.
RUN_QUICKLY = ("BallOnPlane", "FunctionSystem", "Raft", "SlidingMasses")


def _each(quick):
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in EXAMPLES]
    )


every = _each(EXAMPLES)


@functools.cache
def example(name):
    return EXAMPLES[name]()


@functools.cache
def run_of(name):
    return sl.simulate(*example(name))


def test_every_exported_system_is_an_example():
    exported = (getattr(place, name) for place in (sl.systems, sl.hybrid) for name in place.__all__)
    systems = (one for one in exported if inspect.isclass(one) and issubclass(one, HybridSystem))
    assert {one.__name__ for one in systems if not inspect.isabstract(one)} == set(EXAMPLES)


@every
def test_a_system_keeps_one_contract_and_is_of_its_class(name):
    system = example(name)[0]
    assert type(system).__name__ == name
    assert sum(isinstance(system, contract) for contract in ENGINES) == 1


@every
def test_what_is_observed_is_what_is_told_of(name):
    system, start, _ = example(name)
    found = eqx.filter_eval_shape(lambda system, state: system.observe(state), system, start)
    told = system.quantities()
    assert set(found) == set(told)
    assert {key: len(value.shape) for key, value in found.items()} == {key: len(told[key].dims) for key in found}
    assert all(quantity.units and quantity.long_name for quantity in told.values())
    known = {dim for quantity in told.values() for dim in quantity.dims}
    assert set(system.coordinates()) <= known


@every
def test_every_guard_has_its_jump_or_ends_the_run(name):
    system = example(name)[0]
    if isinstance(system, AbstractSystem):
        guards = checked_guards(system)
        assert guards and all(guard.jump is not None or guard.ends is not None for guard in guards)


@_each(RUN_QUICKLY)
def test_the_energy_closes(name):
    run = run_of(name)
    assert run.outcome.name not in ("inaccurate", "stalled", "not_finite")
    data = run.to_dataset(times=65)
    energies = {"kinetic_energy", "potential_energy", "dissipated_energy"}
    if energies <= set(data) and run.system.balanced:
        assert sl.diagnostics.energy_balance(data).relative < 1e-8


@_each(("FunctionSystem", "SlidingMasses"))
def test_a_replay_is_the_run(name):
    run = run_of(name)
    try:
        again = run.replay()
    except ValueError as reason:
        assert "cannot be replayed" in str(reason)
        return
    for part in ("t", "q", "v"):
        np.testing.assert_allclose(getattr(again.end, part), getattr(run.end, part), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again.event_times, [event.t for event in run.events], rtol=0, atol=1e-9)


@_each(("FunctionSystem",))
def test_many_runs_at_once_end_as_one_does(name):
    system, start, until = example(name)
    if not isinstance(system, AbstractSystem):
        return  # run one by one in an ensemble, too
    alone = run_of(name).end
    many = simulate_many(system, jax.tree.map(lambda x: jnp.stack([x, x]), start), until, method=system.method)
    for part in ("t", "q", "v", "ledger"):
        for row in np.asarray(getattr(many.end, part)):
            np.testing.assert_allclose(row, getattr(alone, part), rtol=1e-9, atol=1e-9)
    assert (many.n_events == len(run_of(name).events)).all()
