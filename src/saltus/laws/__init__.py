"""Laws: from the motion at a contact to a force or an impulse."""

from saltus.laws import friction, impact

__all__ = ["friction", "impact"]
