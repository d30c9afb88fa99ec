"""Which module draws which kind of dataset; loaded when first used."""

from __future__ import annotations

import importlib
from types import ModuleType

import xarray as xr

KINDS = {
    "bodies": "saltus.views.bodies",
    "butterfly": "saltus.views.butterfly",
    "butterfly_plan": "saltus.views.butterfly",
    "chain": "saltus.views.chain",
    "ground_body": "saltus.views.ground_body",
    "plane_ball": "saltus.views.ball",
    "raft": "saltus.views.raft",
    "rails": "saltus.views.ball",
    "sliding": "saltus.views.sliding",
}
OTHERS = "saltus.views.generic"  # draws a system of the user's own


def view_of(dataset: xr.Dataset) -> ModuleType:
    """The module with `figure` and `animation` for this dataset."""
    if "kind" not in dataset.attrs or "jump_side" not in dataset:
        raise ValueError("This is not the dataset of a run: it has no attribute 'kind' or no variable 'jump_side'.")
    if "pair_correlation" in dataset:
        return importlib.import_module("saltus.views.gas")
    return importlib.import_module(KINDS.get(str(dataset.attrs["kind"]), OTHERS))
