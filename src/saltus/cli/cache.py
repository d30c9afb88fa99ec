"""saltus cache: the programs kept between runs; look at them, clear them, or make them beforehand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli.console import Progress, note, print_json, print_pairs, progress
from saltus.cli.options import Debug, Json, Quiet
from saltus.errors import ScenarioError

ACTIONS = ("look", "clear", "warm")
COMPILED = re.compile(r".+-[0-9a-f]{64}-(cache|atime)")  # as JAX names its files
LOOKED_AT = 101  # times at which a run that only fills the cache is sampled; other numbers use the same program


def command(
    action: Annotated[
        str, typer.Argument(metavar="[look|clear|warm]", help="Look at the cache, clear it, or fill it.")
    ] = "look",
    kind: Annotated[
        str, typer.Argument(metavar="[KIND|all]", help="For warm: the kind of scenario, such as sliding.")
    ] = "all",
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Look at the programs kept between runs, clear them, or make those of a kind beforehand.

    Warming runs the ready scenarios of a kind, so that the first run of one's own is as quick as later ones.
    """
    from saltus._jax_settings import cache_directory

    check_word("action", action, ACTIONS)
    folder = cache_directory()
    if folder is None:
        raise ScenarioError("The cache is off. Unset SALTUS_CACHE, or let it name a folder.")
    if action == "clear":
        for path in ours(folder):
            path.unlink(missing_ok=True)
    elif action == "warm":
        warm(kind, quiet)
    facts = measure_folder(folder)
    if json:
        print_json(facts)
    elif not quiet:
        print_pairs([("folder", facts["folder"]), *((name, _describe(facts[name])) for name in ("traced", "compiled"))])


def check_word(what: str, word: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not known, as an error of the input."""
    from saltus import checks  # which loads NumPy

    try:
        checks.one_of(what, word, known)
    except ValueError as problem:
        raise ScenarioError(str(problem)) from None


def ours(folder: Path) -> Iterator[Path]:
    """The files that saltus and JAX have put there; a folder named by SALTUS_CACHE may hold others."""
    from saltus.programs import store

    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.is_file() and COMPILED.fullmatch(path.name))
    if (folder / "programs").is_dir():
        yield from (
            path for path in (folder / "programs").iterdir() if path.suffix in (*store.KEPT, store.PART, store.LOCK)
        )


def measure_folder(folder: Path) -> dict:
    """Number and size of the files, traced programs and compiled ones."""
    from saltus.programs import store

    sizes: dict[str, list[int]] = {"traced": [], "compiled": []}
    for path in ours(folder):
        traced = path.parent.name == "programs" and path.suffix != store.CODE
        sizes["traced" if traced else "compiled"].append(path.stat().st_size)
    return {"folder": str(folder)} | {name: {"files": len(one), "bytes": sum(one)} for name, one in sizes.items()}


def _describe(one: dict[str, int]) -> str:
    return f"{one['files']} files, {one['bytes'] / 1e6:.1f} MB"


def warm(kind: str, quiet: bool) -> None:
    """Run the ready scenarios of a kind, or all of them, for the sake of their programs."""
    from saltus.scenarios import load
    from saltus.scenarios.catalogue import entries
    from saltus.scenarios.kinds import KINDS

    check_word("kind", kind, ("all", *KINDS))
    chosen = [name for name, entry in entries().items() if kind in ("all", entry.kind)]
    with progress(quiet) as bar:
        for number, name in enumerate(chosen):
            with bar.stage(f"{name} ({number + 1} of {len(chosen)})"):
                _run(load(name, [], False), bar)
    if not quiet:
        note(f"Ran {len(chosen)} scenario{'' if len(chosen) == 1 else 's'}; their programs are kept.")


def _run(loaded, bar: Progress) -> None:
    from saltus.cli.run import simulate

    simulate(loaded, bar).to_dataset(times=min(LOOKED_AT, loaded.scenario.solve.samples))
