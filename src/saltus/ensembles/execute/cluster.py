"""Ensembles on a Dask cluster: workers write their chunks into the store, which all of them see.

The store is the truth: whatever happens to the cluster, what is not done in it is handed out again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import pickle
import socket
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from saltus import configure
from saltus.ensembles.compute.task import Work, compute
from saltus.ensembles.errors import ChunkError, EnsembleError, Failures, WriteError
from saltus.ensembles.execute.process import environment
from saltus.ensembles.store import Store
from saltus.errors import MissingExtraError, ScenarioError

if TYPE_CHECKING:
    from distributed import Client, Future

    from saltus.ensembles.execute.pool import Report

CONNECT = 8.0  # seconds in which a scheduler must answer at the start
PATIENCE = 300.0  # seconds in which a scheduler that was lost must be back
LOOK = 0.1  # seconds between two looks at the futures
RETRIES = 2  # of a chunk that raised an error; file systems of clusters have hiccups
LOCAL = "local"
PROTOCOLS = ("tcp", "tls", "ws", "wss")


class SchedulerLostError(Exception):
    """The scheduler has gone, and what it knew with it."""


class Cluster:
    """A Dask cluster: one that runs somewhere, or one of this machine for the time of the ensemble.

    Args:
        address: Such as "tcp://host:8786", or "local".
        workers: Number of processes of a local one; one per core if None.
    """

    def __init__(self, address: str, workers: int | None = None):
        self.address, self._workers = address, workers
        self._client: Client | None = None
        self._own = None

    def __enter__(self) -> Cluster:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("A cluster needs Dask. Install it with: pip install 'saltus[cluster]'.") from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is told in our words
        if self.address == LOCAL:
            silent: Any = None  # no dashboard, which the hints of Dask do not allow for
            self._own = distributed.LocalCluster(
                n_workers=self._workers or os.cpu_count(),
                threads_per_worker=1,
                processes=True,
                dashboard_address=silent,
                env={name: value for name, value in environment({}).items()},
            )
        try:
            if self._own is None:
                knock(self.address, CONNECT)
            self._connect(CONNECT)
        except (OSError, ValueError) as error:
            raise ScenarioError(
                f"The scheduler {self.address!r} does not answer ({_short(error)}). "
                "Start one with `dask scheduler`, or give the address it prints, such as tcp://host:8786."
            ) from None
        return self

    def __exit__(self, *problem: object) -> None:
        self._disconnect()
        if self._own is not None:
            self._own.close()

    @property
    def n_workers(self) -> int:
        """How many chunks it computes at once."""
        threads: Any = self._connected_client().nthreads()
        return max(1, sum(threads.values()))

    def _connected_client(self) -> Client:
        if self._client is None:
            raise EnsembleError(f"There is no connection to the scheduler {self.address!r}. Use it within `with`.")
        return self._client

    def run(self, work: Work, store: Store, chunks: Sequence[int], report: Report) -> None:
        """Compute chunks; returns when all are done in the store.

        Raises:
            ChunkError: A chunk raised an error again and again, or killed several workers.
            WriteError: A worker cannot write the store.
            EnsembleError: The scheduler is gone and does not come back.
        """
        payload, failures = pickle.dumps(work), Failures()
        chunks = list(chunks)
        while chunks:
            try:
                self._hand_out(payload, store, chunks, report, failures)
            except SchedulerLostError:
                warnings.warn(f"Lost the scheduler {self.address!r}; waiting for it to come back.", stacklevel=2)
                self._reconnect()
            done = store.finished_chunks()
            for chunk in chunks:
                if done[chunk]:
                    first, last = store.bounds(chunk)
                    report(chunk, last - first)
            chunks = [chunk for chunk in chunks if not done[chunk]]
        failures.tell()

    def _hand_out(self, payload: bytes, store: Store, chunks: list[int], report: Report, failures: Failures) -> None:
        """Submit chunks and wait for them; those that are done, or have failed, leave the list."""
        from distributed.comm import CommClosedError

        client = self._connected_client()
        try:
            if not client.nthreads():
                warnings.warn(f"The cluster {self.address!r} has no workers yet; waiting for one.", stacklevel=2)
            waiting = {
                chunk: client.submit(_task, str(store.path), payload, chunk, pure=False, retries=RETRIES)
                for chunk in chunks
            }
            while waiting:
                time.sleep(LOOK)
                for chunk, future in list(waiting.items()):
                    if self._has_ended(future, chunk, store, report, failures):
                        chunks.remove(chunk)
                        del waiting[chunk]
                if client.status != "running":
                    raise SchedulerLostError
        except (CommClosedError, asyncio.CancelledError, OSError, RuntimeError) as error:
            if client.status == "running" and isinstance(error, RuntimeError):
                raise
            raise SchedulerLostError from error

    @staticmethod
    def _has_ended(future: Future, chunk: int, store: Store, report: Report, failures: Failures) -> bool:
        status, (first, last) = future.status, store.bounds(chunk)
        if status == "cancelled":
            raise SchedulerLostError
        if status == "error":
            error: Any = future.exception()  # at once, since the client is not asynchronous
            problem = _explain(error, first, last)
            if not isinstance(problem, ChunkError):
                raise problem
            failures.add(problem)
        elif status == "finished":
            report(chunk, last - first)
        return status in ("error", "finished")  # "lost" is what a dead worker had; Dask has it computed again

    def _connect(self, timeout: float) -> None:
        from distributed import Client

        self._client = Client(self._own or self.address, timeout=timeout, set_as_default=False)

    def _disconnect(self) -> None:
        if self._client is not None:
            with contextlib.suppress(OSError, RuntimeError, asyncio.CancelledError, TimeoutError):
                self._client.close(timeout=2)  # of a scheduler that is gone, nothing can be said goodbye to
            self._client = None

    def _reconnect(self) -> None:
        self._disconnect()
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self._own is None:
                    knock(self.address, until - time.monotonic())
                return self._connect(timeout=10)
            except OSError:
                if time.monotonic() > until - 1:
                    raise EnsembleError(f"The scheduler {self.address!r} has been gone for {PATIENCE:g} s.") from None


def knock(address: str, seconds: float) -> None:
    """Wait until something listens at an address; `OSError` if nothing does, `ValueError` if it is no address.

    A client of Dask that finds nobody is left in a state that may hang later; so it is not even made.
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme not in PROTOCOLS or not parts.hostname or not parts.port:
        raise ValueError(f"an address is PROTOCOL://HOST:PORT, with one of {', '.join(PROTOCOLS)}")
    until = time.monotonic() + seconds
    while True:
        left = until - time.monotonic()
        try:
            with socket.create_connection((parts.hostname, parts.port), timeout=max(left, 0.1)):
                return
        except OSError:
            if left <= 0.5:
                raise
        time.sleep(0.5)


def _task(path: str, payload: bytes, chunk: int) -> int:
    """What a worker of the cluster does: one chunk."""
    try:
        store = Store(path)
    except ScenarioError as error:
        raise WriteError(
            f"A worker of the cluster does not see the store: {error} The folder must be shared by all."
        ) from None
    compute(_build(payload), store, chunk)
    return chunk


@functools.lru_cache(maxsize=4)
def _build(payload: bytes) -> Work:
    """The work, built once in a worker."""
    configure()
    return pickle.loads(payload)


def _explain(error: BaseException | None, first: int, last: int) -> Exception:
    """What went wrong on a worker, as an error of ours."""
    from distributed import KilledWorker

    if isinstance(error, WriteError):
        return error
    if isinstance(error, KilledWorker):
        return ChunkError(
            f"Samples {first} to {last - 1} ended several workers of the cluster (out of memory? a smaller --chunk "
            "may help)."
        )
    if isinstance(error, ImportError):
        return ChunkError(f"The workers of the cluster cannot load saltus ({_short(error)}). Install it there as well.")
    return ChunkError(f"Samples {first} to {last - 1} could not be computed: {type(error).__name__}: {_short(error)}")


def _short(error: BaseException | None) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")
