"""The page of the studio, put together from its parts and the player."""

from __future__ import annotations

import json
from pathlib import Path

from saltus.views import pages

WEB = Path(__file__).parent / "web"
SCRIPTS = ("handles.js", "many.js", "studio.js")


def page(token: str) -> str:
    """The whole page; it loads nothing from elsewhere."""
    parts = {
        "style": pages.style() + (WEB / "studio.css").read_text(encoding="utf-8"),
        "script": "\n".join([pages.script(), *((WEB / name).read_text(encoding="utf-8") for name in SCRIPTS)]),
        "token": json.dumps(token),
    }
    return pages.fill_template(WEB / "studio.html", parts)
