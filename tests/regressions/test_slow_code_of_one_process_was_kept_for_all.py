"""Code that was compiled without optimisation (as tests do) was kept under the name of the optimised one.

A gas then ran at a quarter of its speed in every later process, until its programs were compiled anew.
"""

import jax
import jax.numpy as jnp
import pytest

from saltus import _jax_settings
from saltus.programs import program, text


@pytest.fixture
def optimisation():
    """The setting is put back."""
    before = jax.config.read(text.UNOPTIMISED)
    yield lambda less: jax.config.update(text.UNOPTIMISED, less)
    jax.config.update(text.UNOPTIMISED, before)


def test_programs_compiled_with_and_without_optimisation_are_kept_apart(tmp_path, monkeypatch, optimisation):
    monkeypatch.setattr(_jax_settings, "_programs", [tmp_path])
    monkeypatch.setattr(text, "KNOWN", text.KNOWN | {"tests"})
    for less in (True, False):
        optimisation(less)
        program(_double)(jnp.ones(3))
    assert len({path.name.partition(".")[0] for path in tmp_path.glob("double-*")}) == 2


def _double(x):
    return 2.0 * x
