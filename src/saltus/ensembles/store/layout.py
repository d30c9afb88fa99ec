"""How the store of an ensemble is laid out: its variables, their chunks, and what it tells about itself."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import MissingExtraError, ScenarioError

if TYPE_CHECKING:
    import zarr

    from saltus.ensembles.compute.task import Column

LAYOUT = 1  # raised when stores of older versions can no longer be continued
DONE, PARAMETER, KEY = "done", "parameter", "key"
BLOCK = 64  # samples are built in multiples of so many: the last bits must not hang on a place in a vector


def lanes_for(samples: int) -> int:
    """Lanes in which so many samples are computed at once: a power of two of blocks, so that little is compiled."""
    return BLOCK << max(-(-samples // BLOCK) - 1, 0).bit_length()


def is_store(path: Path) -> bool:
    """Whether there is an ensemble at this place."""
    try:
        about = json.loads((path / "zarr.json").read_bytes())
        return "scenario_hash" in about.get("attributes", {})
    except (OSError, ValueError, AttributeError):
        return False


def zarr_package() -> Any:
    try:
        import zarr
    except ImportError:
        raise MissingExtraError("Ensembles need zarr. Install it with: pip install 'saltus[zarr]'.") from None
    return zarr


def open_group(path: Path, consolidated: bool | None = None) -> zarr.Group:
    zarr = zarr_package()
    if not path.exists():
        raise ScenarioError(f"There is no ensemble {str(path)!r}.")
    if not is_store(path):
        raise ScenarioError(f"{str(path)!r} is no ensemble of saltus.")
    group = zarr.open_group(str(path), mode="r+", zarr_format=3, use_consolidated=consolidated)
    layout = group.attrs.get("layout")
    if layout != LAYOUT:
        raise ScenarioError(
            f"{str(path)!r} was written by saltus {group.attrs.get('saltus_version', '(unknown)')} in another layout "
            f"({layout}, this version writes {LAYOUT}). Start a new one."
        )
    return group


def lay_out(
    path: Path,
    columns: Mapping[str, Column],
    keys: Mapping[str, list | None],
    samples: int,
    size: int,
    attributes: Mapping[str, Any],
) -> None:
    """Metadata of all variables; chunks appear as they are written."""
    group = zarr_package().create_group(str(path), zarr_format=3, attributes=dict(attributes))
    for name, column in columns.items():
        if name in (DONE, PARAMETER, KEY):
            raise ValueError(f"A column must not be named {name!r}.")
        dtype = np.dtype(column.dtype)
        group.create_array(
            name,
            shape=(samples, *column.shape),
            chunks=(size, *(max(1, n) for n in column.shape)),
            dtype=dtype,
            fill_value={"f": np.nan, "i": -1}.get(dtype.kind, 0),
            dimension_names=("sample", *column.dims),
            attributes={"units": column.units, "long_name": column.long_name, **getattr(column, "attributes", {})},
        )
    choices = {key: [plain(value) for value in values] for key, values in keys.items() if values is not None}
    group.create_array(
        PARAMETER,
        shape=(samples, len(keys)),
        chunks=(size, max(1, len(keys))),
        dtype=np.float64,
        fill_value=np.nan,
        dimension_names=("sample", KEY),
        attributes={
            "units": "",
            "long_name": "drawn values",
            "keys": json.dumps(list(keys)),
            "choices": json.dumps(choices),
        },
    )
    names = group.create_array(
        KEY, shape=(len(keys),), chunks=(max(1, len(keys)),), dtype=str, dimension_names=(KEY,)
    )  # fmt: skip
    names[:] = np.array(list(keys), dtype=object)
    group.create_array(
        DONE,
        shape=(samples,),
        chunks=(size,),
        dtype=np.uint8,
        fill_value=0,
        compressors=None,
        filters=None,
        dimension_names=("sample",),
        attributes={"units": "", "long_name": "1 where the sample is complete"},
    )
    consolidate(path)


def consolidate(path: Path) -> None:
    """All metadata in one file: readers open the store at once, and see old or new, never a mixture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other readers of Zarr 3 may look at each array instead
        zarr_package().consolidate_metadata(str(path))


def plain(value: Any) -> Any:
    """A number or text of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value
