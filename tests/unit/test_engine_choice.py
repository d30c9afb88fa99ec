"""Which engine runs a system, and what `engine=` takes."""

import numpy as np
import pytest
from tests.toys import FLIES, playground, playground_start

import saltus as sl
from saltus.engines import EventDriven, EventQueue, FixedStep, TimeStepping
from saltus.engines.choice import ENGINES, Options, engine_for
from saltus.hybrid import AbstractSystem, AbstractTrajectory, HybridSystem
from saltus.systems import Raft, RigidBodies
from saltus.views.kinds import view_of
from saltus.views.pages.document import view_of as page_of

RAFT = Raft(sl.surfaces.Plane(0.0, 0.0), [1.0, 1.0], [(0, 1)], mu=0.3, stiffness=1e3)
BALL = sl.shapes.Body(sl.shapes.Ball(0.5), density=1.0)
BODIES = RigidBodies([BALL])
TOY = playground()


@pytest.mark.parametrize(
    ("system", "options", "engine"),
    [
        (TOY, {}, EventDriven),
        (TOY, {"method": "rk4", "step": 0.01}, FixedStep),
        (TOY, {"step": 0.01}, FixedStep),
        (RAFT, {}, TimeStepping),
        (BODIES, {}, EventQueue),
    ],
)
def test_the_engine_follows_from_the_contract_that_a_system_keeps(system, options, engine):
    assert type(engine_for(system, Options(**options))) is engine


@pytest.mark.parametrize("system", [TOY, RAFT, BODIES])
def test_a_system_keeps_one_contract_and_none_that_it_does_not_mean(system):
    kept = [contract for contract in ENGINES if isinstance(system, contract)]
    assert len(kept) == 1 and isinstance(system, HybridSystem)
    for name in ("rate", "guards", "jump", "engine"):
        assert hasattr(system, name) == (isinstance(system, AbstractSystem) and name != "engine")


def test_a_run_with_an_engine_given_is_the_run_with_its_options():
    start = playground_start(height=[1.0], mode=[FLIES])
    given = sl.simulate(TOY, start, 0.3, engine=EventDriven(rtol=1e-8))
    plain = sl.simulate(TOY, start, 0.3, rtol=1e-8)
    assert given.rtol == plain.rtol == 1e-8 and isinstance(given.trajectory, AbstractTrajectory)
    assert (np.asarray(given.end.q) == np.asarray(plain.end.q)).all()
    assert sl.simulate(TOY, start, 0.3, engine=FixedStep(1.0 / 64.0)).rtol is None


def test_an_engine_for_other_systems_is_refused():
    with pytest.raises(TypeError, match="EventQueue runs systems of the contract AbstractQueuedSystem, and Playground"):
        sl.simulate(TOY, playground_start(), 1.0, engine=EventQueue())
    with pytest.raises(TypeError, match="Leave `engine` out"):
        sl.simulate(RAFT, RAFT.start([[0.0, 0.0], [1.0, 0.0]]), 1.0, engine=EventDriven())


def test_an_option_beside_an_engine_is_refused():
    with pytest.raises(ValueError, match=r"`rtol` belongs to the engine. Give it there, as in EventDriven\(...\)."):
        sl.simulate(TOY, playground_start(), 1.0, engine=EventDriven(), rtol=1e-6)


def test_what_cannot_be_replayed_says_so():
    run = sl.simulate(RAFT, RAFT.start([[0.0, 0.0], [1.0, 0.0]]), 0.02)
    with pytest.raises(ValueError, match="A run of Raft cannot be replayed"):
        run.replay()


def test_a_raft_is_its_own_kind_for_results_and_views():
    data = sl.simulate(RAFT, RAFT.start([[0.0, 0.0], [1.0, 0.0]]), 0.02).to_dataset(times=3)
    assert data.attrs["kind"] == "raft"
    assert view_of(data).__name__ == "saltus.views.raft"
    assert page_of(data).__name__ == "saltus.views.pages.sliding"
