"""Settings given to JAX: what importing changes, what `configure` adds, and flags that a version does not know."""

import json
import os
import subprocess
import sys

import pytest
from tests.ensemble_kills import environment

from saltus import _jax_settings
from saltus._jax_settings import (
    FAST_LOOPS,
    FEW_COPIES,
    PLAIN_EMITTERS,
    PROVEN,
    compiler_flags,
    known_flags,
    knows,
    quick_to_compile,
)

FRESH = ("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")


def told_by(program, tmp_path, **more):
    """What a new Python says after this program, in an environment without settings; and its warnings."""
    plain = {name: value for name, value in environment().items() if name not in FRESH}
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, env={**plain, "SALTUS_CACHE": str(tmp_path / "jax"), **more}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout), done.stderr


def test_importing_switches_double_precision_on_and_changes_nothing_else(tmp_path):
    program = """
import json, os
before = dict(os.environ)
import saltus
changed = {name for name in os.environ if os.environ[name] != before.get(name)}
import jax
print(json.dumps([sorted(changed), jax.config.jax_enable_x64, jax.config.jax_compilation_cache_dir]))
"""
    (changed, double, cache), _ = told_by(program, tmp_path)
    assert changed == ["JAX_ENABLE_X64"] and double and cache is None


SMALL = """
import contextlib, json, os, warnings
import saltus as sl
{before}
mass = sl.systems.SlidingMasses(sl.surfaces.Plane(0.0, 0.0), [1.0], mu=0.0)
start = sl.hybrid.State.of(q=[[0.0, 0.0]], v=[[1.0, 0.0]])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        with contextlib.suppress(ValueError):  # nothing is compiled for a run that ends before it begins
            sl.simulate(mass, start, until=-1.0)
{after}
import jax
said = [str(one.message) for one in caught if "saltus" in str(one.message)]
print(json.dumps([said, os.environ.get("XLA_FLAGS", ""), jax.config.jax_compilation_cache_dir]))
"""


def test_a_run_without_configure_says_once_how_to_be_faster(tmp_path):
    (said, flags, cache), _ = told_by(SMALL.format(before="", after=""), tmp_path)
    assert len(said) == 1 and "saltus.configure()" in said[0] and flags == "" and cache is None


@pytest.mark.slow
def test_configure_adds_flags_and_a_cache_and_silences_the_reminder(tmp_path):
    (said, flags, cache), _ = told_by(SMALL.format(before="sl.configure()", after=""), tmp_path)
    assert said == [] and "small_while_loop" in flags and cache == str(tmp_path / "jax")
    plain = "sl.configure(flags=False, cache=False)"
    (said, flags, cache), _ = told_by(SMALL.format(before=plain, after=""), tmp_path)
    assert said == [] and flags == "" and cache is None
    (said, flags, cache), told = told_by(SMALL.format(before="", after="sl.configure()"), tmp_path)
    assert flags == "" and "came after JAX had started" in told


def test_an_unknown_flag_is_found_out_by_a_process_of_its_own_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path / "jax"))
    tried = []
    real = _jax_settings.knows
    monkeypatch.setattr(_jax_settings, "knows", lambda flags: tried.append(flags) or real(flags))
    flags = ("--xla_flag_of_tomorrow=1", FAST_LOOPS)
    assert known_flags(flags) == [FAST_LOOPS] and len(tried) == 3  # both, then each
    assert known_flags(flags) == [FAST_LOOPS] and len(tried) == 3
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["flags"]


@pytest.mark.slow
def test_an_unknown_option_of_llvm_is_found_out_too():
    assert knows(["--xla_backend_extra_options=-option-of-tomorrow"]) is False


def test_flags_of_a_version_that_was_tried_before_are_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path / "jax"))
    monkeypatch.setattr(_jax_settings, "_jaxlib", lambda: "0.10.2")
    monkeypatch.setattr(_jax_settings, "PROBE", "raise SystemExit(1)")
    assert known_flags((FAST_LOOPS, PLAIN_EMITTERS)) == [FAST_LOOPS, PLAIN_EMITTERS] and not list(tmp_path.iterdir())
    monkeypatch.setattr(_jax_settings, "_jaxlib", lambda: "0.99")
    assert known_flags((FAST_LOOPS, PLAIN_EMITTERS)) == []


def test_what_is_said_to_be_known_by_this_version_of_jaxlib_is_known():
    flags = PROVEN.get(_jax_settings._jaxlib())
    if flags is None:
        pytest.skip("nothing is said of this version of jaxlib")
    assert knows(flags)


def test_a_process_that_fails_for_another_reason_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path / "jax"))
    monkeypatch.setattr(_jax_settings, "_jaxlib", lambda: "0.99")
    monkeypatch.setattr(_jax_settings, "PROBE", "raise SystemExit(1)")
    assert known_flags((FAST_LOOPS,)) == [] and not list(tmp_path.iterdir())


@pytest.fixture
def all_known(monkeypatch):
    monkeypatch.setattr(_jax_settings, "known_flags", list)


def test_flags_that_the_user_has_set_stand(all_known):
    theirs = "--xla_cpu_use_fusion_emitters=true --xla_backend_extra_options=other=1"
    assert compiler_flags(theirs) == theirs


def test_flags_are_added_once(all_known):
    assert compiler_flags("") == f"{FAST_LOOPS} {FEW_COPIES} {PLAIN_EMITTERS}"
    assert compiler_flags(compiler_flags("")) == compiler_flags("")


def test_flags_for_quick_compilation_leave_out_what_takes_long_and_keep_those_of_the_user(all_known):
    theirs = "--xla_cpu_parallel_codegen_split_count=3"
    quick = compiler_flags(theirs, quick=True)
    assert quick.startswith(theirs) and quick.count("split_count") == 1
    assert "small_while_loop" not in compiler_flags("", quick=True)
    assert quick_to_compile().keys() == {"XLA_FLAGS"}


def test_this_process_has_the_flags_that_are_known():
    assert "small_while_loop" in os.environ["XLA_FLAGS"]
