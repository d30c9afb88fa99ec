"""Settings given to JAX."""

import importlib.metadata

from saltus import _jax_settings


def test_a_compiler_flag_is_given_only_to_versions_that_were_tried(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{_jax_settings.TRIED[0]}9")
    assert _jax_settings.quick_compiler_flag() == _jax_settings.QUICK_COMPILER
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    assert _jax_settings.quick_compiler_flag() is None


def test_the_user_s_own_choice_of_the_flag_stands(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=true")
    assert _jax_settings.quick_compiler_flag() is None
