"""Settings given to JAX."""

import importlib.metadata

from saltus._jax_settings import QUICK_EMITTERS, compiler_flags


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
