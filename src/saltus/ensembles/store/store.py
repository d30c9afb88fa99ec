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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.ensembles.errors import WriteError
from saltus.ensembles.store.durable import flush_folder, lock, persist
from saltus.ensembles.store.layout import (
    BLOCK,
    DONE,
    KEY,
    LAYOUT,
    PARAMETER,
    consolidate,
    is_store,
    lanes_for,
    lay_out,
    open_group,
    plain,
)
from saltus.errors import ScenarioError
from saltus.io.files import atomic_write, check_writable

if TYPE_CHECKING:
    import zarr

    from saltus.ensembles.compute.task import Column

CHUNK_BYTES = 64 * 2**20  # at most this much of all columns in a chunk
SLAB = 2**24  # flags read at a time
IDLE = 1.1  # by which the lanes may be more than the samples in them


def chunk_size(
    samples: int, columns: Mapping[str, Column], smallest: int = 64, largest: int = 4096, workers: int = 1
) -> int:
    """Samples in a chunk: few enough to be shared by workers and to lose little, not more than fit in memory."""
    per_sample = sum(np.dtype(column.dtype).itemsize * math.prod(column.shape) for column in columns.values())
    shared = max(smallest, math.ceil(samples / max(32, 8 * workers)))
    size = max(1, min(largest, samples, shared, CHUNK_BYTES // max(1, per_sample)))
    # Chunks of one size without a shorter one at the end, unless they would leave many of the lanes idle in which
    # samples are computed.
    even = next((even for even in range(size, size // 2, -1) if samples % even == 0), size)
    full = max((lanes for lanes in (lanes_for(size), lanes_for(size) // 2) if BLOCK <= lanes <= size), default=even)
    idle = _all_lanes(samples, even) > IDLE * _all_lanes(samples, full)
    return full if idle else even


def _all_lanes(samples: int, size: int) -> int:
    return -(-samples // size) * lanes_for(size)


class Store:
    """An ensemble on disk, of which some chunks are done.

    Args:
        path: Folder of the Zarr store.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path).resolve()
        self._group = open_group(self.path)
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
                lay_out(temporary, columns, keys, samples, size, about)
                check_new(path)  # nobody else has made one meanwhile
        except OSError as error:
            raise WriteError(_explain(path, error)) from error
        return cls(path)

    @property
    def columns(self) -> list[str]:
        """Names of what is kept of every sample."""
        return list(self._columns)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-self.samples // self.size)

    def bounds(self, chunk: int) -> tuple[int, int]:
        """First sample of a chunk, and the one after its last."""
        return chunk * self.size, min((chunk + 1) * self.size, self.samples)

    def finished_chunks(self) -> np.ndarray:
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
        return np.flatnonzero(~self.finished_chunks()).tolist()

    def describe_kept(self) -> str:
        """What remains of an ensemble that was stopped, in words."""
        done = self.samples_in(self.finished_chunks())
        return (
            f"{done} of {self.samples} samples are done and kept in {str(self.path)!r}; "
            "the same command with --resume goes on."
        )

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
            persist([self._file(name, chunk) for name in everything])
            self._flag(chunk, last - first)
        except OSError as error:
            raise WriteError(_explain(self.path, error)) from error

    def read(self, name: str, chunk: int) -> np.ndarray:
        """A variable over the samples of a chunk."""
        first, last = self.bounds(chunk)
        return np.asarray(self._arrays[name][first:last])

    def flags(self, name: str) -> dict[int, str]:
        """What the numbers of a variable mean; empty where they mean themselves, or there is no such variable."""
        about = self._arrays[name].attrs if name in self._arrays else {}
        values: Any = about.get("flag_values", [])
        return dict(zip(values, str(about.get("flag_meanings", "")).split(), strict=True))

    def extend(self, samples: int) -> Store:
        """The same store with room for more samples; what is done stays done."""
        if samples < self.samples:
            raise ValueError(f"A store cannot lose samples: it has {self.samples}, asked for {samples}.")
        try:
            for name, array in self._group.arrays():
                if name != KEY and array.shape[0] != samples:
                    array.resize((samples, *array.shape[1:]))
            group = open_group(self.path, consolidated=False)
            group.attrs.update(samples=samples)
            consolidate(self.path)
        except OSError as error:
            raise WriteError(_explain(self.path, error)) from error
        return Store(self.path)

    def sweep(self) -> None:
        """Remove half-written files of workers that were killed."""
        for name in self._arrays:
            for path in (self.path / name).rglob("*.partial"):
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second run out of the store; the lock ends with the process, however that ends."""
        handle = lock(self.path)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def _parameters(self, values: Mapping[str, np.ndarray], count: int) -> np.ndarray:
        """Drawn values as one table; what is not a number as its place in the list of choices."""
        about = self._arrays[PARAMETER].attrs
        names, choices = json.loads(str(about["keys"])), json.loads(str(about["choices"]))
        table = np.empty((count, len(names)))
        for column, name in enumerate(names):
            if name in choices:
                table[:, column] = [choices[name].index(plain(value)) for value in values[name]]
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
        flush_folder(target.parent)

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


def _explain(path: Path, error: OSError) -> str:
    return f"Cannot write to {str(path)!r}: {error.strerror or error}."
