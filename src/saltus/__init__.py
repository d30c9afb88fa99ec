"""saltus: mechanics that jumps. Bodies that slide, stick, roll, tug at each other and collide.

Importing it switches JAX to double precision, and changes nothing else; `saltus.configure()` makes it fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from saltus import _jax_settings
from saltus._jax_settings import configure

if TYPE_CHECKING:
    from saltus import (
        calibration,
        contacts,
        diagnostics,
        dynamics,
        engines,
        ensembles,
        gas,
        hybrid,
        io,
        laws,
        links,
        numerics,
        papers,
        scenarios,
        shapes,
        surfaces,
        systems,
        validation,
        views,
    )
    from saltus.calibration import calibrate
    from saltus.ensembles.execute.runner import ensemble
    from saltus.errors import ScenarioError
    from saltus.simulation import Run, simulate

__version__ = "0.1.0"

_MODULES = ("calibration", "contacts", "diagnostics", "dynamics", "engines", "ensembles", "gas", "hybrid",
            "io", "laws", "links", "numerics", "papers", "scenarios", "shapes", "surfaces", "systems",
            "validation", "views")  # fmt: skip
_NAMES = {"simulate": "saltus.simulation", "Run": "saltus.simulation", "ensemble": "saltus.ensembles.execute.runner",
          "calibrate": "saltus.calibration", "ScenarioError": "saltus.errors"}  # fmt: skip

_jax_settings.enable_double_precision()

__all__ = [
    "Run", "ScenarioError", "__version__", "calibrate", "calibration", "configure", "contacts", "diagnostics",
    "dynamics", "engines", "ensemble", "ensembles", "gas", "hybrid", "io", "laws", "links", "numerics", "papers",
    "scenarios", "shapes", "simulate", "surfaces", "systems", "validation", "views",
]  # fmt: skip


def __getattr__(name: str):
    """Load what is asked for, so that `import saltus` alone stays quick."""
    if name in _MODULES:
        return importlib.import_module(f"saltus.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'saltus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
