"""Settings of every test: double precision, and property tests that repeat."""

import os

import saltus  # noqa: F401  (before JAX: it switches double precision on)

import hypothesis  # isort: skip
import jax  # isort: skip
import pytest  # isort: skip

# No deadline: the first example of a test compiles. Derandomized: a failure on one machine fails on all.
hypothesis.settings.register_profile("fast", max_examples=20, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=300, deadline=None, derandomize=True)
hypothesis.settings.load_profile(os.environ.get("SALTUS_HYPOTHESIS", "fast"))


@pytest.fixture(autouse=True, scope="session")
def double_precision():
    """Every test runs in float64; a test that switches it off would poison the others."""
    assert jax.config.jax_enable_x64


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_are_forgotten():
    """What one module compiles another hardly uses; kept for all, it would fill gigabytes."""
    yield
    jax.clear_caches()
