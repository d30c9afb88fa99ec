"""Which module draws which kind of dataset; loaded when first used."""

from __future__ import annotations

import importlib
from types import ModuleType

import xarray as xr

from saltus import checks

KINDS = {
    "bodies": "saltus.views.bodies",
    "butterfly": "saltus.views.butterfly",
    "butterfly_plan": "saltus.views.butterfly",
    "chain": "saltus.views.chain",
    "ground_body": "saltus.views.ground_body",
    "plane_ball": "saltus.views.ball",
    "rails": "saltus.views.ball",
    "sliding": "saltus.views.sliding",
}


def view_of(dataset: xr.Dataset) -> ModuleType:
    """The module with `figure` and `animation` for this dataset."""
    kind = str(dataset.attrs.get("kind"))
    checks.one_of("kind of dataset", kind, KINDS)
    return importlib.import_module(KINDS[kind])
