"""The studio: scenarios to pick, change, run and compare in the browser, on this machine alone."""

from saltus.studio.app import Studio
from saltus.studio.server import serve

__all__ = ["Studio", "serve"]
