"""A guard says what happens when it fires; what it does not say is refused before the run begins."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import pytest
from tests import own
from tests.toys import Clock, ball, clock_start

import saltus as sl
from saltus.hybrid import AbstractSystem, Guard, Quantity, Rate, State, unchanged
from saltus.hybrid.system import jump_of


class Falling(AbstractSystem):
    """A point that falls at unit speed, with the guards that a test hands over."""

    kind: ClassVar[str] = "falling"
    listed: tuple[Guard, ...] = ()

    def rate(self, state):
        return Rate(jnp.full(1, -1.0), jnp.zeros(1), jnp.zeros(0))

    def guards(self):
        return self.listed

    def quantities(self):
        return {"height": Quantity((), "m", "height")}

    def observe(self, state):
        return {"height": state.q[0]}


START = State.of(q=[1.0], v=[0.0])


def lifted(state, index):
    return State(state.t, state.q + 2.0, state.v, state.ledger, state.mode)


def test_a_guard_carries_its_jump():
    run = sl.simulate(Falling((Guard("floor", lambda s: s.q[0], jump=lifted),)), START, until=4.0)
    assert [(event.name, round(event.t, 12)) for event in run.events] == [("floor", 1.0), ("floor", 3.0)]
    assert float(run.end.q[0]) == pytest.approx(1.0, abs=1e-12)


def test_a_system_with_a_method_jump_serves_the_guards_that_have_none():
    class Both(Falling):
        def jump(self, state, guard, index):
            assert guard == "floor"
            return lifted(state, index)

    passed = Guard("half", lambda s: s.q[0] - 0.5, jump=unchanged)
    run = sl.simulate(Both((Guard("floor", lambda s: s.q[0]), passed)), START, until=2.0)
    assert [event.name for event in run.events] == ["half", "floor"]
    assert float(run.end.q[0]) == pytest.approx(1.0, abs=1e-12)


def test_a_guard_that_says_nothing_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"Guard 'floor' of Falling does not say what happens.*jump=.*ends='finished'"):
        sl.simulate(Falling((Guard("floor", lambda s: s.q[0]),)), START, until=2.0)


def test_a_guard_that_ends_the_run_needs_no_jump():
    run = sl.simulate(Falling((Guard("floor", lambda s: s.q[0], ends="finished"),)), START, until=2.0)
    assert run.outcome.name == "finished" and float(run.end.t) == pytest.approx(1.0, abs=1e-12)


def test_an_unknown_outcome_is_refused_where_the_guard_is_made():
    with pytest.raises(ValueError, match=r"outcome of guard 'floor' 'landed'.*Known: finished"):
        Guard("floor", lambda s: s.q[0], ends="landed")
    with pytest.raises(ValueError, match="border"):
        Guard("floor", lambda s: s.q[0], border=True)


def test_an_unknown_guard_has_no_jump():
    with pytest.raises(ValueError, match=r"Unknown guard of Clock 'guard1'. Did you mean 'guard0'"):
        AbstractSystem.jump(Clock((lambda x: 1.0 - x,)), clock_start(), "guard1", jnp.asarray(0))


def test_every_system_of_the_package_says_what_its_guards_do():
    coulomb = sl.laws.friction.Coulomb(0.2)
    spot = sl.laws.friction.Combined(0.2, 0.01, rolling_shift=0.1)
    bowl = sl.surfaces.Sphere(1.0)
    pair = {"masses": [1.0, 1.0], "rods": [(0, 1)], "mu": 0.1}
    some = [
        sl.systems.SlidingMasses(bowl, **pair),
        sl.systems.SlidingMasses(bowl, **pair, adhesion=False),
        sl.systems.Chain(3, table_friction=0.1),
        sl.systems.Chain(3, material="string", ends_off_table=True),
        *(sl.systems.BallOnPlane(1.0, 0.1, law) for law in (coulomb, spot)),
        *(sl.systems.BallOnRails(1.0, 0.1, 0.5, law) for law in (coulomb, spot)),
        ball(0.5),
        own.stick_slip(),
    ]
    for system in some:
        for guard in system.guards():
            assert callable(jump_of(system, guard))
            assert guard.jump is not None or guard.ends is not None


def test_a_guard_tells_what_belongs_to_its_events_and_the_system_that_of_all_others():
    class Marks(Clock):
        def guards(self):
            first, second = super().guards()
            return dataclasses.replace(first, data=lambda index, before, after: {"count": float(after.v[0])}), second

        def event_data(self, guard, index, before, after):
            return {"name": guard}

    run = sl.simulate(Marks((lambda x: 1.0 - x, lambda x: 2.0 - x)), clock_start(), until=3.0)
    assert [event.data for event in run.events] == [{"count": 1.0}, {"name": "guard1"}]


def test_the_record_of_an_event_has_the_state_that_a_guard_tends_to_and_the_jump_has_not():
    class Late(Clock):
        def guards(self):
            (mark,) = super().guards()
            return (dataclasses.replace(mark, approach=lambda state, index: state.replace(v=state.v + 7.0)),)

    run = sl.simulate(Late((lambda x: 1.0 - x,)), clock_start(), until=2.0)
    (event,) = run.events
    assert float(event.before.v[0]) == 7.0 and float(event.after.v[0]) == 1.0
