"""Settings given to JAX."""

import importlib.metadata

from saltus._jax_settings import QUICK_EMITTERS, compiler_flags, quick_to_compile


def test_a_compiler_flag_that_ends_other_versions_is_given_only_to_versions_that_know_it(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{QUICK_EMITTERS[0]}.7")
    assert "xla_cpu_use_fusion_emitters=false" in compiler_flags("")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0.1")
    assert "fusion_emitters" not in compiler_flags("")


def test_flags_that_the_user_has_set_stand():
    theirs = "--xla_cpu_use_fusion_emitters=true --xla_backend_extra_options=other=1"
    assert compiler_flags(theirs) == theirs


def test_flags_are_added_once():
    assert compiler_flags(compiler_flags("")) == compiler_flags("")


def test_flags_for_quick_compilation_leave_out_what_takes_long_and_keep_those_of_the_user():
    theirs = "--xla_cpu_parallel_codegen_split_count=3"
    quick = compiler_flags(theirs, quick=True)
    assert quick.startswith(theirs) and quick.count("split_count") == 1
    assert "small_while_loop" in compiler_flags("") and "small_while_loop" not in compiler_flags("", quick=True)
    assert quick_to_compile().keys() == {"XLA_FLAGS"}
