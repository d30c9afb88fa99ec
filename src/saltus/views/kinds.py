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
    "ground_body": "saltus.views.bodies",
    "plane_ball": "saltus.views.ball",
    "rails": "saltus.views.ball",
    "sliding": "saltus.views.sliding",
}


def view_of(dataset: xr.Dataset) -> ModuleType:
    """The module with `figure` and `animation` for this dataset; the generic one for systems of one's own."""
    return importlib.import_module(KINDS.get(str(dataset.attrs.get("kind")), "saltus.views.generic"))
