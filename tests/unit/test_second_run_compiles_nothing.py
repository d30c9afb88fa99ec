"""Numbers are data: a second run with other ones uses the programs of the first."""

import contextlib

import jax
import jax.numpy as jnp
import pytest

from saltus.programs import brief_program
from saltus.scenarios import load
from saltus.surfaces import Expression

COMPILED = "/jax/core/compile/backend_compile_duration"

# Of each kind a ready scenario, and other numbers of its system and of its start.
OTHER = {
    "bowl-pendulum-friction": ["masses.0.mass=1.25", "gravity=9.7"],
    "chain": ["overhang=2e-4", "gravity=1.1"],
    "plane-spin-down": ["mass=1.5", "friction.mu=0.21"],
    "rails-to-rest": ["mass=1.5", "start.velocity=0.9"],
    "butterfly-roll": ["mass=0.04"],
    "ellipsoids": ["bodies.0.density=1.5"],
    "rolling-coin": ["gravity=9.7"],
}
EVERYWHERE = ["solve.rtol=1e-9", "solve.atol=1e-11", "solve.samples=777"]
QUICK = ("bowl-pendulum-friction",)


@contextlib.contextmanager
def compilations():
    """The names of what is compiled meanwhile."""
    seen, listening = [], [True]

    def listen(name, seconds, **more):
        if name == COMPILED and listening:
            seen.append(more.get("fun_name", "a program"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        listening.clear()  # JAX 0.8 has no way to send a listener away


def run(name, overrides):
    scenario = load(name, overrides, False).scenario
    return scenario.simulate().to_dataset(times=scenario.solve.samples)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in OTHER]
)
def test_other_numbers_compile_nothing(name):
    jax.clear_caches()  # other tests of this process may have run the same scenario
    with compilations() as first:
        run(name, [])
    assert first  # else nothing is seen at all
    with compilations() as again:
        run(name, [*OTHER[name], *EVERYWHERE])
    assert not again


def test_a_program_that_is_not_kept_compiles_nothing_but_itself():
    """Sums of constants belong to the program; once each of them was compiled and run while the program was traced."""
    x = jnp.linspace(0.0, 1.0, 37)
    with compilations() as seen:
        brief_program(lambda y: y * jnp.cumsum(jnp.arange(37.0)))(x)
    assert len(seen) == 1


def test_a_surface_written_as_a_formula_is_read_without_a_program():
    """Every operation of its height was once compiled and run, to find constant parts that are no numbers."""
    with compilations() as seen:
        Expression("tanh(0.37*x**7 - y**5/3.1) + c", {"c": 0.2})
    assert not seen
