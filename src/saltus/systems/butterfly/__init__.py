"""The Butterfly robot: a ball on two turning plates, and how to turn them."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.systems.butterfly.plan import ButterflyPlan
    from saltus.systems.butterfly.system import Butterfly
    from saltus.systems.butterfly.track import circle_lift_off
    from saltus.systems.butterfly.turning import AbstractTurning, Turning, TurningFunction, TurningTable

__all__ = [
    "AbstractTurning",
    "Butterfly",
    "ButterflyPlan",
    "Turning",
    "TurningFunction",
    "TurningTable",
    "circle_lift_off",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "plan": ("ButterflyPlan",),
        "system": ("Butterfly",),
        "track": ("circle_lift_off",),
        "turning": ("AbstractTurning", "Turning", "TurningFunction", "TurningTable"),
    },
)
