"""What came out of an ensemble as one web page, with single samples to play and maps where there is a terrain."""

from __future__ import annotations

import io
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.ensembles.analyse.report import Summary, summarize
from saltus.ensembles.analyse.samples import Samples
from saltus.ensembles.analyse.series import series_runs
from saltus.errors import ScenarioError
from saltus.io.files import atomic_write

if TYPE_CHECKING:
    from saltus.surfaces import Terrain

DPI = 110  # of maps


def save_page(summary: Summary, path: str | os.PathLike) -> None:
    """Write the page (.html), whole or not at all."""
    text = page(summary.facts["store"], summary)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(store: str | os.PathLike, summary: Summary | None = None) -> str:
    """The page of a stored ensemble as HTML text.

    Samples are run again for it, a few alone: extremes, the median, and one for each rarer outcome.
    """
    from saltus.views.pages import ensemble

    summary = summarize(store) if summary is None else summary
    return ensemble.page(summary, ensemble.Pictures(_playable_samples(store), _maps(store)))


def _playable_samples(store: str | os.PathLike) -> list[tuple[str, dict[str, Any]]]:
    from saltus.views.pages import document

    try:
        samples = Samples(store)
        telling = samples.telling_samples()
    except ScenarioError:  # an ensemble of something else than a scenario
        return []
    return [(what, document(samples.run(number), 1.0 / len(telling))) for number, what in telling.items()]


def _maps(store: str | os.PathLike) -> list[tuple[str, bytes]]:
    """Hazard maps of the samples that are kept over time; of the others the places where they ended."""
    import xarray as xr

    dataset = xr.open_zarr(os.fspath(store), chunks=None, consolidated=False)
    surface = tomllib.loads(str(dataset.attrs.get("scenario", ""))).get("surface", {})
    if surface.get("type") != "terrain":
        return []
    from saltus.surfaces.named import named_terrain

    terrain = named_terrain(surface)
    ends = _ends(dataset, terrain)
    if not (Path(store) / "series").is_dir():
        return [(f"{ends[0]} Hazard maps need runs over time: `saltus ensemble ... --series K`.", ends[1])]
    return [ends, _hazard(Path(store), terrain, str(dataset.attrs.get("kind")))]


def _ends(dataset: Any, terrain: Terrain) -> tuple[str, bytes]:
    """Where all samples ended."""
    import matplotlib as mpl

    from saltus.views.hazard import relief
    from saltus.views.style import COLOURS, SETTINGS, new_figure

    place = dataset["final_position"].values[dataset["done"].values == 1]
    place = place.reshape(-1, place.shape[-1])
    with mpl.rc_context(SETTINGS):
        drawn = new_figure(7.0, 5.0)
        axes = drawn.subplots()
        relief(axes, terrain)
        east, north = terrain.grid.origin
        axes.scatter(place[:, 0] + east, place[:, 1] + north, s=9, color=COLOURS[1], alpha=0.5, linewidths=0, zorder=3)
        return f"Where all {len(place)} ended.", _png(drawn)


def _hazard(store: Path, terrain: Terrain, kind: str) -> tuple[str, bytes]:
    """The maps of `saltus hazard`."""
    if kind == "ground_body":
        from saltus.io.rockfall import RockfallMaps
        from saltus.views.rockfall import figure as stones

        gathered = RockfallMaps(terrain.grid)
        for run in series_runs(store):
            gathered.add_run(run)
        return f"Hazard maps of {gathered.runs} samples.", _png(stones(gathered, terrain))
    from saltus.io.hazard import Hazard
    from saltus.views.hazard import figure

    hazard = Hazard(terrain.grid)
    for run in series_runs(store):
        hazard.add_run(run)
    return f"Hazard maps of {hazard.runs} samples.", _png(figure(hazard, terrain))


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()
