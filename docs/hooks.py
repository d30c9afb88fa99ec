"""Pages that are made from the package while the site is built."""

import importlib
import json
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
VALIDATED = Path(__file__).parent / "validation.json"
PICTURES = Path(__file__).parent / "pictures"
SHIM = "https://unpkg.com/iframe-worker/shim"
THUMBNAILS = ROOT / "src" / "saltus" / "studio" / "pictures"
RESULTS = Path(__file__).parent / "papers" / "results.json"
VALIDATION = """# Validation

What `saltus validate` found for the reference cases shipped with the package: closed forms, quadratures and runs
with more digits, computed apart from saltus. The worst check is the one that comes nearest to its tolerance.
`saltus validate FILE.json` checks further cases of the same groups."""
LAWS = ("laws.friction", "laws.impact", "laws.impact.engagement")
RESULT_SIDE = ("diagnostics", "io", "views")
USE = ("scenarios", "ensembles", "calibration", "gas", "validation")
MODELS = ("surfaces", "shapes", "links", "contacts", *LAWS, "systems", "engines", "hybrid", "dynamics")
PACKAGES = (*MODELS, *RESULT_SIDE, *USE)


def on_files(files, config):
    """Add the pages of the papers, the packages, the benchmarks and the examples."""
    from mkdocs.structure.files import File  # not needed by the tests that look at the pages

    made = {**_papers(), **_reference(), "performance.md": _performance(), "gallery.md": _gallery()}
    made["validation.md"] = _validation()
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for picture in sorted(THUMBNAILS.glob("*.webp")):
        files.append(File.generated(config, f"pictures/catalogue/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Put measured numbers where a page has {{name}}."""
    made = {"laws.md": _measured, "verify.md": _benchmarks}.get(page.file.src_uri)
    if made is None:
        return markdown
    measured = made()
    return re.sub(r"\{\{(\w+)\}\}", lambda found: measured[found.group(1)], markdown)


def on_post_page(output, page, config):
    """Search from disk needs a small shim, which lies beside the pages instead of on another server."""
    return output.replace(SHIM, "../" * page.url.count("/") + "offline/iframe-worker.js")


def on_post_template(output, template_name, config):
    """The same for pages that are no documents."""
    return output.replace(SHIM, "offline/iframe-worker.js")


def _benchmarks():
    """The cases of `saltus verify`, and what the engines made of them."""
    from saltus.validation import nonsmooth

    results = ROOT / "benchmarks" / "results" / "nonsmooth.txt"
    engines = _table(results.read_text("utf-8")) if results.exists() else "Run `make bench`."
    rows = ["| case | what | source | proved by | wrong in the source |", "|---|---|---|---|---|"]
    for case in nonsmooth.cases():
        told = [case["id"], f"{case['title']}. {case['statement']}", case["source"], case["second"]["by"]]
        rows.append(
            "| " + " | ".join(one.replace("|", "\\|") for one in [*told, case.get("wrong_in_source", "")]) + " |"
        )
    return {"engines": engines, "cases": "\n".join(rows)}


def _table(text):
    """A results file whose columns are parted by bars, as a table; its first line tells the machine."""
    machine, header, *rows = text.strip().splitlines()
    cells = [[" ".join(cell.split()) for cell in line.split("|")] for line in (header, *rows)]
    cells = [[re.sub(r"^(\S+) (\d+ of \d+) (.*)$", r"\1, \2, \3", cell) for cell in row] for row in cells]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([f"Measured with {machine.lstrip('# ')}.", "", lines[0], "|---" * len(cells[0]) + "|", *lines[1:]])


def _measured():
    """Errors of all laws, by name."""
    measured = runpy.run_path(str(Path(__file__).parent / "measure_laws.py"))["measured"]
    return measured(json.loads(VALIDATED.read_text("utf-8")))


def _papers():
    """From the papers' data and the stored verdicts."""
    from saltus.papers import pages
    from saltus.papers.catalogue import load, names

    found = pages.read_findings(RESULTS)
    made = {f"papers/{name}.md": pages.page(load(name), found.get(name, {})) for name in names()}
    return {"papers/index.md": pages.overview(found), **made}


def _reference():
    """What each package exports, from its docstrings."""
    elsewhere = _documented()
    saltus = importlib.import_module("saltus")
    made, rows = {}, ["# Reference", "", "What users import: what `saltus` itself offers, then its packages.", ""]
    for one in sorted(saltus.__all__, key=lambda name: (name != "simulate", name != "Run", name)):
        found = getattr(saltus, one)
        if not callable(found):
            continue
        where = next((page for name, page in elsewhere.items() if name.split(".")[-1] == one), None)
        told = (
            f"### `{one}`\n\nSee [{where}](../{where}.md)." if where else f"::: {found.__module__}.{found.__qualname__}"
        )
        rows += [told, ""]
    rows += ["### `__version__`", "", "The version, as a text.", "", "## Packages", ""]
    for name in PACKAGES:
        package = importlib.import_module(f"saltus.{name}")
        about = (package.__doc__ or "").strip().splitlines()[0]
        lines = [f"# saltus.{name}", "", about, ""]
        static = set(vars(package))
        for one in package.__all__:
            whole = f"saltus.{name}.{one}"
            if whole in elsewhere:
                lines += [f"### `{one}`", "", f"See [{elsewhere[whole]}](../{elsewhere[whole]}.md).", ""]
            elif callable(found := getattr(package, one)):
                # A name that is loaded when first asked for is documented where it stands.
                where = whole if one in static else f"{found.__module__}.{found.__qualname__}"
                lines += [f"::: {where}", ""]
            else:
                lines += [f"### `{one}`", "", f"A {type(found).__name__}: {_listed(found)}.", ""]
        made[f"reference/{name}.md"] = "\n".join(lines)
        rows.append(f"- [saltus.{name}]({name}.md): {about}")
    return {"reference/index.md": "\n".join([*rows, ""]), **made}


def _listed(found):
    """What a constant holds, in words: its names, or itself."""
    return ", ".join(f"`{name}`" for name in found) if isinstance(found, dict | tuple | list) else f"`{found!r}`"


def _documented():
    """What the pages written by hand already show, and where."""
    pages = sorted(Path(__file__).parent.glob("*.md"))
    return {
        name: page.stem for page in pages for name in re.findall(r"^::: (\S+)", page.read_text("utf-8"), flags=re.M)
    }


def _performance():
    """The results of the benchmarks as they were written."""
    lines = ["# Performance", "", (ROOT / "benchmarks" / "README.md").read_text("utf-8").split("\n", 2)[2].strip(), ""]
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.txt")):
        source = (ROOT / "benchmarks" / f"bench_{path.stem}.py").read_text("utf-8")
        about = source.split('"""')[1].strip()
        lines += [f"## {path.stem.capitalize()}", "", about, "", "```text", path.read_text("utf-8").strip(), "```", ""]
    return "\n".join(lines)


def _gallery():
    """The examples: what each shows, its picture where one is kept, and its code."""
    lines = [
        "# Gallery",
        "",
        "A picture opens the run as a page: turn it, play it, go from event to event.",
        "",
        *_catalogue(),
        "# Examples",
        "",
        "The folder `examples/` of the repository; each runs by itself and checks its numbers.",
        "",
    ]
    for path in sorted((ROOT / "examples").glob("*.py")):
        _, about, code = path.read_text("utf-8").split('"""', 2)
        title, _, text = about.strip().partition("\n")
        lines += [f"## {title}", "", text.strip(), ""]
        if (PICTURES / f"{path.stem}.png").exists():
            lines += [f"![{title}](pictures/{path.stem}.png)", ""]
        lines += [f'??? example "{path.name}"', "    ```python", *(f"    {line}" for line in code.strip().splitlines())]
        lines += ["    ```", ""]
    return "\n".join(lines)


def _catalogue():
    """Cards of the ready scenarios by kind: a moving picture, a sentence, and the page where it was made."""
    from saltus.scenarios import entries

    lines = []
    for kind in dict.fromkeys(one.kind for one in entries().values()):
        lines += [f"## {kind.replace('_', ' ').capitalize()}", "", '<div class="cards" markdown>', ""]
        for one in entries().values():
            if one.kind != kind:
                continue
            page = f"gallery/{one.name}.html"
            picture = f"pictures/catalogue/{one.name}.webp"
            shown = f"![]({picture})" if (THUMBNAILS / f"{one.name}.webp").exists() else ""
            linked = f'<a href="{page}">{one.name}</a>' if (Path(__file__).parent / page).exists() else one.name
            image = f'<a href="{page}"><img src="{picture}" alt=""></a>' if "<a" in linked and shown else shown
            lines += ["<div>", image, f"<p><b>{linked}</b><br>{one.description}</p>", "</div>", ""]
        lines += ["</div>", ""]
    return lines


def _validation():
    """The table of `saltus validate --json`, as kept in validation.json."""
    lines = [VALIDATION, "", "| topic | group | cases | checks | worst error | tolerance | where |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in json.loads(VALIDATED.read_text("utf-8")):
        lines.append(
            f"| {row['topic']} | {row['group']} | {row['cases']} | {row['checks']} | {row['worst_error']:.1e} "
            f"| {row['tolerance']:.1e} | {row['worst_case']}: {row['worst_check']} |"
        )
    return "\n".join([*lines, ""])
