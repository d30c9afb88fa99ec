"""The result of an ensemble on disk: a Zarr store that a killed run leaves valid.

All variables are cut along `sample` into chunks of one size. A chunk is written by one worker, its flags in
`done` last of all, so what is flagged is complete and what is not is computed again. Writing a chunk twice gives
the same files.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.ensembles.errors import WriteError
from saltus.errors import MissingExtraError, ScenarioError
from saltus.io.files import atomic_write, check_writable

if TYPE_CHECKING:
    import zarr

    from saltus.ensembles.work import Column

LAYOUT = 1  # raised when stores of older versions can no longer be continued
CHUNK_BYTES = 64 * 2**20  # at most this much of all columns in a chunk
SLAB = 2**24  # flags read at a time
DONE, PARAMETER, KEY = "done", "parameter", "key"


def chunk_size(samples: int, columns: Mapping[str, Column], smallest: int = 64, largest: int = 4096) -> int:
    """Samples in a chunk: few enough to be shared by workers and to lose little, not more than fit in memory."""
    per_sample = sum(np.dtype(column.dtype).itemsize * math.prod(column.shape) for column in columns.values())
    shared = max(smallest, math.ceil(samples / 32))
    return max(1, min(largest, samples, shared, CHUNK_BYTES // max(1, per_sample)))


class Store:
    """An ensemble on disk, of which some chunks are done.

    Args:
        path: Folder of the Zarr store.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path).resolve()
        self._group = _open_group(self.path)
        self.attributes: dict[str, Any] = dict(self._group.attrs)
        self.samples = int(self.attributes["samples"])
        self.size = int(self.attributes["chunk"])
        self._arrays: dict[str, zarr.Array] = {
            name: array for name, array in self._group.arrays() if array.shape[:1] == (self.samples,)
        }
        self._columns = [name for name in self._arrays if name not in (DONE, KEY)]

    @classmethod
    def create(
        cls,
        path: str | os.PathLike,
        columns: Mapping[str, Column],
        keys: Mapping[str, list | None],
        samples: int,
        *,
        size: int | None = None,
        attributes: Mapping[str, Any],
    ) -> Store:
        """A store with nothing done yet, in its place whole or not at all.

        Args:
            path: Folder, which must not exist.
            columns: What is kept of every sample.
            keys: The drawn keys, with the list of their values where these are not numbers.
            samples: Number of samples.
            size: Samples in a chunk; chosen by `chunk_size` if not given.
            attributes: What is told about the ensemble; texts and numbers.
        """
        path = Path(path)
        check_new(path)
        size = chunk_size(samples, columns) if size is None else max(1, min(size, samples))
        about = {**attributes, "samples": samples, "chunk": size, "layout": LAYOUT}
        try:
            with atomic_write(path) as temporary:
                _lay_out(temporary, columns, keys, samples, size, about)
        except OSError as error:
            raise WriteError(_told(path, error)) from error
        return cls(path)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-self.samples // self.size)

    def bounds(self, chunk: int) -> tuple[int, int]:
        """First sample of a chunk, and the one after its last."""
        return chunk * self.size, min((chunk + 1) * self.size, self.samples)

    def finished(self) -> np.ndarray:
        """Which chunks are complete."""
        flags = self._arrays[DONE]
        slab = max(1, SLAB // self.size) * self.size
        found = np.zeros(self.n_chunks, dtype=bool)
        for first in range(0, self.samples, slab):
            part = np.asarray(flags[first : first + slab]) == 1
            begins = np.arange(0, len(part), self.size)
            chunks = first // self.size + np.arange(len(begins))
            found[chunks] = np.logical_and.reduceat(part, begins)
        return found

    def pending(self) -> list[int]:
        """Chunks that are not complete, in order."""
        return np.flatnonzero(~self.finished()).tolist()

    def samples_in(self, chunks: np.ndarray) -> int:
        """Number of samples in the flagged ones of all chunks."""
        last = len(chunks) > 0 and bool(chunks[-1])
        short = self.n_chunks * self.size - self.samples
        return int(chunks.sum()) * self.size - (short if last else 0)

    def write(self, chunk: int, values: Mapping[str, np.ndarray], columns: Mapping[str, np.ndarray]) -> None:
        """Write a chunk: what was drawn, what came out, and at last that it is done.

        Args:
            chunk: Its number.
            values: Drawn values by key.
            columns: Columns by name, the leading axis being the samples of the chunk.

        Raises:
            WriteError: The disk is full or the like; the chunk does not count as done.
        """
        first, last = self.bounds(chunk)
        everything = {**columns, PARAMETER: self._parameters(values, last - first)}
        if set(everything) != set(self._columns):
            odd = sorted(set(everything) ^ set(self._columns))
            raise ValueError(f"The chunk does not have the columns of the store: {', '.join(odd)} are in one of them.")
        try:
            for name, array in everything.items():
                self._put(name, chunk, np.asarray(array))
            _persist([self._file(name, chunk) for name in everything])
            self._flag(chunk, last - first)
        except OSError as error:
            raise WriteError(_told(self.path, error)) from error

    def read(self, name: str, chunk: int) -> np.ndarray:
        """A variable over the samples of a chunk."""
        first, last = self.bounds(chunk)
        return np.asarray(self._arrays[name][first:last])

    def flags(self, name: str) -> dict[int, str]:
        """What the numbers of a variable mean; empty where they mean themselves, or there is no such variable."""
        about = self._arrays[name].attrs if name in self._arrays else {}
        return dict(zip(about.get("flag_values", []), str(about.get("flag_meanings", "")).split(), strict=True))

    def extend(self, samples: int) -> Store:
        """The same store with room for more samples; what is done stays done."""
        if samples < self.samples:
            raise ValueError(f"A store cannot lose samples: it has {self.samples}, asked for {samples}.")
        try:
            for name, array in self._group.arrays():
                if name != KEY and array.shape[0] != samples:
                    array.resize((samples, *array.shape[1:]))
            group = _open_group(self.path, consolidated=False)
            group.attrs.update(samples=samples)
            _consolidate(self.path)
        except OSError as error:
            raise WriteError(_told(self.path, error)) from error
        return Store(self.path)

    def sweep(self) -> None:
        """Remove half-written files of workers that were killed."""
        for name in self._arrays:
            for path in (self.path / name).rglob("*.partial"):
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second run out of the store; the lock ends with the process, however that ends."""
        handle = _lock(self.path)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def _parameters(self, values: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """Drawn values as one table; what is not a number as its place in the list of choices."""
        names = json.loads(self._arrays[PARAMETER].attrs["keys"])
        choices = json.loads(self._arrays[PARAMETER].attrs["choices"])
        table = np.empty((count, len(names)))
        for column, name in enumerate(names):
            if name in choices:
                table[:, column] = [choices[name].index(_plain(value)) for value in values[name]]
            else:
                table[:, column] = values[name]
        return table

    def _put(self, name: str, chunk: int, values: np.ndarray) -> None:
        array = self._arrays[name]
        first, last = self.bounds(chunk)
        wanted = (last - first, *array.shape[1:])
        if values.shape != wanted or not np.can_cast(values.dtype, array.dtype, "same_kind"):
            raise ValueError(
                f"Column {name!r} must be {array.dtype} of shape {wanted}, got {values.dtype} of {values.shape}."
            )
        if values.size > 0:
            array[first:last] = values

    def _flag(self, chunk: int, count: int) -> None:
        """Write the flags of a chunk: all at once, and on the disk before anything says so."""
        target = self._file(DONE, chunk)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}.partial")
        flags = np.zeros(self.size, dtype=np.uint8)  # chunks at the end are stored in full length
        flags[:count] = 1
        try:
            with temporary.open("wb") as file:
                file.write(flags.tobytes())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)

    def _file(self, name: str, chunk: int) -> Path:
        array = self._arrays[name]
        key = array.metadata.encode_chunk_key((chunk, *(0 for _ in array.shape[1:])))
        return self.path / name / key


def check_new(path: Path) -> None:
    """Refuse a place where no new store can be made."""
    if path.suffix != ".zarr":
        raise ScenarioError(f"The result of an ensemble is a Zarr store; end its name in .zarr, got {str(path)!r}.")
    check_writable(path)
    if is_store(path):
        raise ScenarioError(
            f"{str(path)!r} exists already. Give --resume to go on with it, or another name for a new one."
        )
    if path.exists():
        raise ScenarioError(f"{str(path)!r} exists and is no ensemble. Give another name.")


def is_store(path: Path) -> bool:
    """Whether there is an ensemble at this place."""
    try:
        about = json.loads((path / "zarr.json").read_bytes())
        return "scenario_hash" in about.get("attributes", {})
    except (OSError, ValueError, AttributeError):
        return False


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise MissingExtraError("Ensembles need zarr. Install it with: pip install 'saltus[zarr]'.") from None
    return zarr


def _open_group(path: Path, consolidated: bool | None = None) -> zarr.Group:
    zarr = _zarr()
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


def _lay_out(
    path: Path,
    columns: Mapping[str, Column],
    keys: Mapping[str, list | None],
    samples: int,
    size: int,
    attributes: Mapping[str, Any],
) -> None:
    """Metadata of all variables; chunks appear as they are written."""
    group = _zarr().create_group(str(path), zarr_format=3, attributes=dict(attributes))
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
    choices = {key: [_plain(value) for value in values] for key, values in keys.items() if values is not None}
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
    _consolidate(path)


def _consolidate(path: Path) -> None:
    """All metadata in one file: readers open the store at once, and see old or new, never a mixture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other readers of Zarr 3 may look at each array instead
        _zarr().consolidate_metadata(str(path))


def _plain(value: Any) -> Any:
    """A number or text of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _persist(paths: Sequence[Path]) -> None:
    """Have files on the disk, with their names; those that would hold the fill value alone are not there at all."""
    with ThreadPoolExecutor(16) as threads:  # side by side: the disk then takes them in one go
        list(threads.map(_flush, paths))
        list(threads.map(_flush_folder, {path.parent for path in paths}))


def _flush(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _flush_folder(path: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _flush(path)


def _lock(path: Path) -> int | None:
    """A lock on the folder itself; None where the file system has none."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ScenarioError(f"Another run is writing to {str(path)!r}. Wait for it, or stop it.") from None
    except OSError:
        os.close(handle)
        return None
    return handle


def _told(path: Path, error: OSError) -> str:
    return f"Cannot write to {str(path)!r}: {error.strerror or error}."
