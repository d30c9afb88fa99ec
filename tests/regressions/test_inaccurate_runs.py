"""Runs once ended as finished with a wrong energy balance, or with energies that were no numbers."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import saltus as sl
from saltus.diagnostics import Promise, assess
from saltus.hybrid import AbstractSystem, Outcome, Quantity, Rate, State


class Spring(AbstractSystem):
    """A mass on a spring, whose energies are known."""

    kind: ClassVar[str] = "spring"
    stiffness: float = 1.0

    def rate(self, state):
        return Rate(state.v, -self.stiffness * state.q, jnp.zeros(0))

    def quantities(self):
        names = ("kinetic_energy", "potential_energy", "dissipated_energy")
        return {name: Quantity((), "J", name.replace("_", " ")) for name in names}

    def observe(self, state):
        kinetic, potential = 0.5 * state.v[0] ** 2, 0.5 * self.stiffness * state.q[0] ** 2
        return {"kinetic_energy": kinetic, "potential_energy": potential, "dissipated_energy": jnp.zeros(())}


def swing(size=1.0, **options):
    return sl.simulate(Spring(), State.of(q=[size], v=[0.0]), until=50.0, **options)


def test_tolerances_too_loose_for_the_state_are_told():
    run = swing(atol=0.05)
    assert run.outcome.name == "inaccurate" and not run.outcome.ok
    assert "unaccounted" in run.outcome.message and "atol" in run.outcome.message
    assert run.trajectory.outcome.name == "finished"  # the result stays
    assert run.to_dataset(times=201).attrs["outcome"] == "inaccurate"
    assert run.to_dataset(times=2).attrs["outcome"] == "inaccurate"


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-6, "atol": 1e-8}, {"rtol": 1e-3, "atol": 1e-5}, {"step": 0.5}])
def test_healthy_runs_are_not_suspected(options):
    # Constant steps promise nothing; few samples that show one phase say nothing.
    run = swing(**options)
    assert run.outcome.name == "finished"
    assert run.to_dataset(times=201).attrs["outcome"] == run.to_dataset(times=2).attrs["outcome"] == "finished"


def test_an_absolute_tolerance_above_the_state_is_told():
    assert swing(size=1e-13).outcome.name == "inaccurate"


def test_energies_that_are_no_numbers_are_told():
    assert swing(size=1e200).outcome.name == "not_finite"


def energies(kinetic, potential, dissipated, **more):
    known = {"kinetic_energy": kinetic, "potential_energy": potential, "dissipated_energy": dissipated}
    return {name: np.asarray(column, float) for name, column in (known | more).items()}


DONE = Outcome("finished", "Reached t = 1 s.")


def test_rounding_of_a_large_potential_is_no_error():
    told = energies([0.0, 1e-9], [1e6, 1e6], [0.0, 0.0])
    assert assess(DONE, told, Promise(1e-10)) is DONE


def test_a_length_that_should_be_constant_counts_too():
    told = energies([1.0, 1.0], [0.0, 0.0], [0.0, 0.0], rod_length=[[1.0], [1.001]])
    assert assess(DONE, told, Promise(1e-10)).name == "inaccurate"
    assert assess(DONE, told, Promise(None)) is DONE
    assert assess(DONE, told | {"rod_whole": np.ones((2, 1))}, Promise(1e-10)) is DONE  # elastic rods


def test_another_end_keeps_its_name_and_says_it_too():
    jammed = Outcome("jammed", "It jammed.")
    told = assess(jammed, energies([1.0, 0.5], [0.0, 0.0], [0.0, 0.0]), Promise(1e-10))
    assert told.name == "jammed" and "unaccounted" in told.message


def test_systems_that_do_not_know_their_energy_are_taken_at_their_word():
    assert assess(DONE, {"height": np.zeros(3)}, Promise(1e-10)) is DONE


def test_many_steps_may_add_up_and_meaningless_tolerances_promise_a_hundredth():
    assert Promise(1e-10, 10).relative == pytest.approx(1e-7)
    assert Promise(1e-10, 10**6).relative == pytest.approx(1e-5)
    assert Promise(0.06).relative == 0.01
