"""Laws: from the motion at a contact to a force or an impulse."""

from typing import TYPE_CHECKING

from saltus._late import late

if TYPE_CHECKING:
    from saltus.laws import friction, impact

__all__ = ["friction", "impact"]

__getattr__, __dir__ = late(
    __name__,
    {
        "friction": (),
        "impact": (),
    },
)
