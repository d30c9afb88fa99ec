"""Many runs of one scenario with values drawn for some of its keys: sampling, running, storing."""

from typing import TYPE_CHECKING

from saltus._late import late
from saltus.ensembles.errors import ChunkError, EnsembleError, Interruption, WriteError

if TYPE_CHECKING:
    from saltus.ensembles.analyse.report import summarize
    from saltus.ensembles.boxes import gas_boxes
    from saltus.ensembles.design import Design
    from saltus.ensembles.execute.runner import ensemble
    from saltus.ensembles.store import Store

__all__ = [
    "ChunkError",
    "Design",
    "EnsembleError",
    "Interruption",
    "Store",
    "WriteError",
    "ensemble",
    "gas_boxes",
    "summarize",
]

# Loaded when first asked for; the worker processes need little.
__getattr__, __dir__ = late(
    __name__,
    {
        "analyse.report": ("summarize",),
        "boxes": ("gas_boxes",),
        "design": ("Design",),
        "execute.runner": ("ensemble",),
        "store": ("Store",),
    },
)

Interrupted = Interruption  # its name before, for code of users
