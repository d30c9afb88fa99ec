"""A process that computes chunks for the pool: `python -m saltus.ensembles.execute.process`.

Not a fork (JAX holds threads), and not started by `multiprocessing` (which would run the user's script again).
On stdin: the pickled assignment, then the number of a chunk per line. On stdout: one JSON object per line. When
stdin ends the parent is gone, and so is the worker, at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import sys
import threading
import time
from typing import IO, Any

REPORTS = 0.2  # seconds between two reports of progress


def environment(present: dict[str, str]) -> dict[str, str]:
    """The environment of a worker: one thread each, since there is a worker for every core; and no GPU."""
    single = {name: "1" for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return {**present, **single, "JAX_PLATFORMS": "cpu"}


def main() -> None:
    """Read chunks, compute them, tell how it went."""
    channel = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what libraries print does not mix with the reports
    path, work, search = pickle.load(sys.stdin.buffer)
    sys.path[:] = search
    chunks: queue.Queue[int] = queue.Queue()
    # Before the long imports: where the parent dies meanwhile, this process ends with it.
    threading.Thread(target=_listen, args=(sys.stdin.buffer, chunks), daemon=True).start()
    import saltus
    from saltus.ensembles.store import Store

    saltus.configure()
    store, work = Store(path), pickle.loads(work)
    while True:
        _compute(work, store, chunks.get(), channel)


def _listen(stream: IO[bytes], chunks: queue.Queue[int]) -> None:
    for line in stream:
        chunks.put(int(line))
    os._exit(0)


def _compute(work: Any, store: Any, chunk: int, channel: IO[str]) -> None:
    from saltus.ensembles.compute.task import compute
    from saltus.ensembles.errors import WriteError

    report = Reporter(chunk, channel)
    try:
        compute(work, store, chunk, report)
    except WriteError as error:
        report.tell(failure="write", message=str(error))
    except Exception as error:
        import traceback

        traceback.print_exc()
        report.tell(failure="compute", message=f"{type(error).__name__}: {' '.join(str(error).split())}")
    else:
        report.tell(done=True)


class Reporter:
    """Tells the parent how many samples of a chunk have ended, a few times per second."""

    def __init__(self, chunk: int, channel: IO[str]):
        self.chunk, self.channel, self.ended = chunk, channel, 0
        self._last = time.monotonic()

    def __call__(self, count: int) -> None:
        """So many more samples have ended."""
        self.ended += count
        if time.monotonic() - self._last >= REPORTS:
            self._last = time.monotonic()
            self.tell(ended=self.ended)

    def tell(self, **facts: Any) -> None:
        """A report about the chunk."""
        with contextlib.suppress(BrokenPipeError):  # the parent has gone; `_listen` ends the worker
            self.channel.write(json.dumps({"chunk": self.chunk, **facts}) + "\n")


if __name__ == "__main__":
    main()
