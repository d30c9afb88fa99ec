"""Commented scenarios to start from, one per kind."""

from __future__ import annotations

from importlib import resources

from saltus.scenarios.kinds import KINDS, model_of


def template(kind: str) -> str:
    """A commented scenario of a kind, ready to run.

    Raises:
        ScenarioError: If there is no such kind.
    """
    model_of(kind)
    return resources.files(__name__).joinpath(f"{kind}.toml").read_text("utf-8")


__all__ = ["KINDS", "template"]
