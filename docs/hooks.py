"""Pages that are made from the package while the site is built."""

import importlib
import re
from pathlib import Path

from mkdocs.structure.files import File

RESULTS = Path(__file__).parent / "papers" / "results.json"
LAWS = ("laws.friction", "laws.impact", "laws.impact.engagement")
RESULT_SIDE = ("diagnostics", "io", "views")
PACKAGES = ("surfaces", "shapes", "links", "contacts", *LAWS, "systems", "engines", "hybrid", *RESULT_SIDE)


def on_files(files, config):
    """Add a page for each paper and for each package of the library."""
    made = {**_papers(), **_reference()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def _papers():
    """From the papers' data and the stored verdicts."""
    from saltus.papers import pages
    from saltus.papers.catalogue import load, names

    found = pages.stored(RESULTS)
    made = {f"papers/{name}.md": pages.page(load(name), found.get(name, {})) for name in names()}
    return {"papers/index.md": pages.overview(found), **made}


def _reference():
    """What each package exports, from its docstrings."""
    elsewhere = _documented()
    made, rows = {}, ["# Reference", "", "What users import, package by package; `simulate` and `Run` first.", ""]
    rows += ["::: saltus.simulation.simulate", "", "::: saltus.simulation.Run", "", "## Packages", ""]
    for name in PACKAGES:
        package = importlib.import_module(f"saltus.{name}")
        about = (package.__doc__ or "").strip().splitlines()[0]
        lines = [f"# saltus.{name}", "", about, ""]
        for one in package.__all__:
            whole = f"saltus.{name}.{one}"
            if whole in elsewhere:
                lines += [f"### `{one}`", "", f"See [{elsewhere[whole]}](../{elsewhere[whole]}.md).", ""]
            elif callable(getattr(package, one)):
                lines += [f"::: {whole}", ""]
        made[f"reference/{name}.md"] = "\n".join(lines)
        rows.append(f"- [saltus.{name}]({name}.md): {about}")
    return {"reference/index.md": "\n".join([*rows, ""]), **made}


def _documented():
    """What the pages written by hand already show, and where."""
    pages = sorted(Path(__file__).parent.glob("*.md"))
    return {
        name: page.stem for page in pages for name in re.findall(r"^::: (\S+)", page.read_text("utf-8"), flags=re.M)
    }
