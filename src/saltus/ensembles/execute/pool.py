"""Worker processes on this machine: chunks handed out one by one, and again when a worker dies."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from typing import IO, Any

from saltus import processes
from saltus.ensembles.compute.task import Work
from saltus.ensembles.errors import ChunkError, Failures, WriteError
from saltus.ensembles.execute.process import environment
from saltus.ensembles.store import Store

ATTEMPTS = 3  # workers that may die over one chunk
Report = Callable[[int, int], None]  # chunk, samples of it that have ended


def run(work: Work, store: Store, chunks: Iterable[int], workers: int, report: Report) -> None:
    """Compute chunks by several processes; returns when all are done.

    Args:
        work: What to compute.
        store: Where to write it.
        chunks: Which chunks.
        workers: Number of processes.
        report: Told the chunk and how many of its samples have ended, whenever that changes.

    Raises:
        ChunkError: A chunk raised an error, or killed several workers.
        WriteError: The store cannot be written.
    """
    with Pool(work, store) as pool:
        pool.run(collections.deque(chunks), workers, report)


@dataclasses.dataclass
class Worker:
    """A process, and the chunk it has in hand."""

    process: subprocess.Popen
    log: IO[bytes]
    chunk: int | None = None

    def give(self, chunk: int) -> None:
        """Hand it a chunk. If it is dead already, its reader tells."""
        self.chunk = chunk
        self.tell(b"%d\n" % chunk)

    def tell(self, message: bytes) -> None:
        """Write to its input. If it is dead already, its reader tells."""
        if self.process.stdin is None:
            raise RuntimeError("A worker was started without an input to write to.")
        with contextlib.suppress(OSError):
            self.process.stdin.write(message)
            self.process.stdin.flush()

    def stop(self) -> None:
        """End it at once; a chunk in hand is not done."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            with contextlib.suppress(OSError):  # what could not be written to a dead worker
                if stream is not None:
                    stream.close()

    def last_words(self) -> str:
        """The last line it printed."""
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Pool:
    """Processes that compute chunks of one store."""

    def __init__(self, work: Work, store: Store):
        self._store = store
        self._assignment = pickle.dumps((str(store.path), pickle.dumps(work), list(sys.path)))
        self._messages: queue.Queue[tuple[Worker, dict[str, Any] | None]] = queue.Queue()
        self._workers: list[Worker] = []
        self._deaths: collections.Counter[int] = collections.Counter()
        self._failures = Failures()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *problem: object) -> None:
        for worker in self._workers:
            worker.stop()

    def run(self, waiting: collections.deque[int], workers: int, report: Report) -> None:
        """Hand out chunks until none is left."""
        for _ in range(min(workers, len(waiting))):
            self._start().give(waiting.popleft())
        while any(worker.chunk is not None for worker in self._workers):
            worker, message = self._messages.get()
            if message is None:
                worker = self._replace(worker, report)
            elif "ended" in message:
                report(message["chunk"], message["ended"])
            elif "failure" in message:
                report(message["chunk"], 0)
                worker.chunk = None
                self._fail(message)
            else:
                first, last = self._store.bounds(message["chunk"])
                report(message["chunk"], last - first)
                worker.chunk = None
            if worker is not None and worker.chunk is None and waiting:
                worker.give(waiting.popleft())
        self._failures.tell()

    def _start(self) -> Worker:
        log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "saltus.ensembles.execute.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(_environment_of_children(dict(os.environ))),
            start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers
        )
        processes.register(process)
        worker = Worker(process, log)
        worker.tell(self._assignment)
        self._workers.append(worker)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: Worker) -> None:
        """Pass on what a worker says; None when it says no more."""
        with contextlib.suppress(ValueError):  # the line was cut as the worker died, or the pool closed the stream
            for line in worker.process.stdout or ():
                self._messages.put((worker, json.loads(line)))
        self._messages.put((worker, None))

    def _replace(self, worker: Worker, report: Report) -> Worker | None:
        """A worker has died: another one in its place, with the chunk that it had in hand unless that is deadly."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(timeout=2)  # its own code, not that of being stopped here
        chunk, words = worker.chunk, worker.last_words()
        worker.stop()
        self._workers.remove(worker)
        if chunk is None:  # nothing was left to do for it
            return None
        report(chunk, 0)
        self._deaths[chunk] += 1
        if self._deaths[chunk] >= ATTEMPTS:
            self._failures.add(ChunkError(self._deadly(chunk, worker.process.returncode, words)))
            return self._start()
        heir = self._start()
        heir.give(chunk)
        return heir

    def _deadly(self, chunk: int, code: int, words: str) -> str:
        first, last = self._store.bounds(chunk)
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        words = f" Its last words: {words}" if words else ""
        return (
            f"Samples {first} to {last - 1} ended {ATTEMPTS} workers, the last one {how} "
            f"(out of memory? fewer --workers or a smaller --chunk may help).{words}"
        )

    def _fail(self, message: dict[str, Any]) -> None:
        if message["failure"] == "write":
            raise WriteError(message["message"])
        first, last = self._store.bounds(message["chunk"])
        self._failures.add(ChunkError(f"Samples {first} to {last - 1} could not be computed: {message['message']}"))


def _environment_of_children(present: dict[str, str]) -> dict[str, str]:
    """The environment in which a child finds the same saltus as this process."""
    import saltus

    source = os.path.dirname(os.path.dirname(os.path.abspath(saltus.__file__)))
    paths = [source, *filter(None, present.get("PYTHONPATH", "").split(os.pathsep))]
    return {**present, "PYTHONPATH": os.pathsep.join(paths)}
