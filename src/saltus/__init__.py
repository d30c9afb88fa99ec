"""saltus: mechanics that jumps. Bodies that slide, stick, roll, tug at each other and collide.

Importing it switches JAX to double precision, and changes nothing else; `saltus.configure()` makes it fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltus import _jax_settings
from saltus._jax_settings import configure
from saltus._late import late

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
_NAMES = {
    "saltus.simulation": ("simulate", "Run"),
    "saltus.ensembles.execute.runner": ("ensemble",),
    "saltus.calibration": ("calibrate",),
    "saltus.errors": ("ScenarioError",),
}

_jax_settings.enable_double_precision()

__all__ = [
    "Run", "ScenarioError", "__version__", "calibrate", "calibration", "configure", "contacts", "diagnostics",
    "dynamics", "engines", "ensemble", "ensembles", "gas", "hybrid", "io", "laws", "links", "numerics", "papers",
    "scenarios", "shapes", "simulate", "surfaces", "systems", "validation", "views",
]  # fmt: skip

__getattr__ = late(__name__, {**dict.fromkeys(_MODULES, ()), **_NAMES})[0]


def __dir__() -> list[str]:
    return sorted(__all__)
