"""Pages that are made from the package while the site is built."""

from pathlib import Path

from mkdocs.structure.files import File

RESULTS = Path(__file__).parent / "papers" / "results.json"


def on_files(files, config):
    """Add a page for each paper, from its data and the stored verdicts."""
    from saltus.papers import pages
    from saltus.papers.catalogue import load, names

    found = pages.stored(RESULTS)
    files.append(File.generated(config, "papers/index.md", content=pages.overview(found)))
    for name in names():
        files.append(File.generated(config, f"papers/{name}.md", content=pages.page(load(name), found.get(name, {}))))
    return files
