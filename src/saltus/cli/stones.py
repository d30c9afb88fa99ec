"""What `saltus hazard` does with runs of stones: maps of passages, deposits, energy and height, and a barrier."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True)
class Files:
    """What to write: the maps, a picture of them, and what arrives at a barrier."""

    maps: Path
    plot: Path | None
    profile: Path | None


NEEDED = ("position", "velocity", "kinetic_energy", "jump_height", "mode")


def write_maps(
    datasets: Iterable[tuple[Path, xr.Dataset]], surface: dict, files: Files, barrier: str | None
) -> dict[str, Any]:
    """Write the maps of runs over one terrain, and the profile of a barrier; what there is to say of them."""
    import numpy as np

    from saltus.io.hazard import write_hazard
    from saltus.io.rockfall import Barrier, RockfallMaps, read_lines, write_profile
    from saltus.surfaces.named import named_terrain

    terrain = named_terrain(surface)
    maps = RockfallMaps(terrain.grid)
    line = None if barrier is None else Barrier(read_lines(barrier, terrain.grid))
    for path, dataset in datasets:
        missing = [name for name in NEEDED if name not in dataset]
        if missing:
            raise ScenarioError(f"{str(path)!r} does not hold {missing[0]!r}, which maps of stones need.")
        maps.add_run(dataset)
        if line is not None:
            line.add_run(dataset)
    if maps.runs == 0:
        raise ScenarioError("None of the samples could be built, so there is nothing to map.")
    layers = maps.maps()
    write_hazard(files.maps, maps)
    if files.plot is not None:
        from saltus.views.rockfall import figure
        from saltus.views.style import save

        save(figure(maps, terrain, () if line is None else line.lines), files.plot)
    if files.profile is not None and line is not None:
        write_profile(files.profile, line)
    facts = {
        **maps.facts(),
        **{
            f"largest_{name}": float(np.nanmax(layers[f"{name}_largest"])) for name in ("kinetic_energy", "jump_height")
        },
        "largest_speed": float(np.nanmax(layers["speed_largest"])),
        "files": [str(path) for path in (files.maps, files.plot, files.profile) if path is not None],
    }
    return facts if line is None else facts | {"barrier": line.facts()}


def rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts as lines for people."""
    lines = [
        ("runs", str(facts["runs"])),
        ("passed", f"{facts['pixels_passed']} pixels"),
        ("stopped", f"{facts['stones_stopped']:.0f} stones"),
        *lacking(facts, "stones"),
        ("largest energy", f"{facts['largest_kinetic_energy']:.4g} J"),
        ("largest height", f"{facts['largest_jump_height']:.3g} m"),
        ("largest speed", f"{facts['largest_speed']:.4g} m/s"),
    ]
    lines += _barrier_rows(facts["barrier"]) if "barrier" in facts else []
    return [*lines, *(("written", name) for name in facts["files"])]


def lacking(facts: dict[str, Any], bodies: str) -> list[tuple[str, str]]:
    """What maps of such bodies lack as lines for people, none where there is nothing."""
    cut_off = facts["runs_cut_off"]
    why = ", ".join(f"{count} {name}" for name, count in cut_off.items())
    lines = [
        ("failed", facts["samples_failed"], "samples that could not be built"),
        ("cut off", sum(cut_off.values()), f"runs ({why})"),
        ("left the map", facts[f"{bodies}_left"], bodies),
        ("still moving", facts[f"{bodies}_moving"], bodies),
    ]
    return [(label, f"{count} {words}") for label, count, words in lines if count]


def _barrier_rows(net: dict[str, Any]) -> list[tuple[str, str]]:
    if not net["reached"]:
        return [("at the barrier", f"no stone arrives, of {net['runs']}")]
    lines = [("at the barrier", f"{net['reached']} of {net['runs']} stones")]
    for name, words, units in (("kinetic_energy", "energy", "J"), ("jump_height", "height", "m")):
        told = f"{net[f'{name}_largest']:.4g} {units}, 95 per cent below {net[f'{name}_p95']:.4g} {units}"
        lines.append((f"{words} there", told))
    return lines
