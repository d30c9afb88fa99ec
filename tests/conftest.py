"""Settings of every test: double precision, property tests that repeat, programs that compile quickly."""

import ctypes
import gc
import os
import sys
from pathlib import Path

import hypothesis
import jax
import pytest

import saltus
from saltus._jax_settings import QUICK, known_flags
from tests.browser import browser  # noqa: F401

PROFILE = os.environ.get("SALTUS_HYPOTHESIS", "fast")
if PROFILE != "thorough":  # a program in one module takes a tenth less to compile than in pieces, and runs the same
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *known_flags(QUICK[-1:])]).strip()
saltus.configure(programs=False)  # before JAX starts; tests change what programs are made of, and keep none

# No deadline: the first example of a test compiles. Derandomized: a failure on one machine fails on all.
hypothesis.settings.register_profile("fast", max_examples=20, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=300, deadline=None, derandomize=True)
hypothesis.settings.load_profile(PROFILE)

gc.set_threshold(200_000, 20, 100)  # tracing makes many objects that live on: looking at them often takes time
# Bytes that a process may keep for compiled programs and traces.
ROOMY = max(2e9, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 8 if hasattr(os, "sysconf") else 0.0)


@pytest.fixture(autouse=True, scope="session")
def double_precision():
    """Every test runs in float64; a test that switches it off would poison the others."""
    assert jax.config.jax_enable_x64


def _compile_for(node):
    """Few optimisations: most tests compile for longer than they compute.

    Modules and tests marked `optimised` are compiled as for users, and all of them by `make test-all`.
    """
    as_for_users = PROFILE == "thorough" or node.get_closest_marker("optimised") is not None
    if as_for_users == jax.config.read("jax_disable_most_optimizations"):
        jax.clear_caches()  # what is compiled already was compiled otherwise
        jax.config.update("jax_disable_most_optimizations", not as_for_users)


@pytest.fixture(autouse=True, scope="module")
def _how_fixtures_of_a_module_are_compiled(request):
    _compile_for(request.node)


@pytest.fixture(autouse=True)
def _how_a_test_is_compiled(request):
    _compile_for(request.node)


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_are_forgotten():
    """One module uses few of the programs of another; kept for all, they would fill gigabytes."""
    yield
    if memory_in_use() > ROOMY:
        jax.clear_caches()
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
        if give_back is not None:  # else what is free is kept, and counts
            give_back(0)


def memory_in_use() -> float:
    """Bytes of this process; no end of them where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if told.exists() else float("inf")


# Files whose tests use the same programs; a process runs all of them, and compiles once.
ALIKE = {
    "chain": ("exact/test_chain", "exact/test_derivatives", "exact/test_reference_chain", "unit/test_chain"),
    "rails": ("exact/test_ball_on_rails", "exact/test_reference_friction", "unit/test_friction_scenarios"),
    "sliding": ("exact/test_reference_sliding", "exact/test_sliding_masses", "exact/test_terrain"),
    "bodies": (
        "exact/test_bodies_ahead_of_the_queue",
        "exact/test_reference_impact",
        "properties/test_contacts",
        "unit/test_bodies",
    ),
}
GROUP_OF = {f"tests/{name}.py": group for group, names in ALIKE.items() for name in names}


# Files that take longest (half a minute), beside those of the groups: begun first, so that no process ends alone.
LONG = tuple(
    f"tests/{name}.py"
    for name in (
        "properties/test_fuzz",
        "unit/test_calibration",
        "unit/test_gas",
        "unit/test_ground_body",
        "unit/test_kernel",
        "unit/test_run_samples",
    )
)


def pytest_collection_modifyitems(items):
    """Long files first, else in their order."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadfile` files that are alike stay in one process, too."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class AlikeTogether(LoadFileScheduling):
        def _split_scope(self, nodeid):
            name = super()._split_scope(nodeid)
            return GROUP_OF.get(name, name)

    return AlikeTogether(config, log)
