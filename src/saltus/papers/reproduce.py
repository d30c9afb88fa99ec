"""All papers, side by side in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import queue as queues
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from saltus import configure
from saltus.papers import catalogue
from saltus.papers.paper import Reproduction, reproduce
from saltus.processes import pool as start_pool

POLL = 0.2  # seconds between looks at the progress
# The one that takes longest begins first, so that two processes end at about the same time.
LONGEST_FIRST = ("palffy-muhoray-2017", "tinti-2019", "vrbik", "kireenkov-2021")

Report = Callable[[str, float, str], None]

_messages: Any = None


def reproduce_all(
    names: Sequence[str], quick: bool = False, processes: int | None = None, progress: Report | None = None
) -> list[Reproduction]:
    """Reproduce papers, in the order of `names`.

    Args:
        names: Names of the papers.
        quick: Whether to leave out what is slow.
        processes: How many at a time; as many as there are cores (up to one per paper) if None. One paper, or one
            process, runs in this process.
        progress: Called with a paper's name, the share of it that is done, and what is done now.
    """
    for name in names:
        catalogue.check(name)
    number = min(len(names), processes or os.cpu_count() or 1)
    if number == 1:
        return [_alone(name, quick, progress) for name in names]
    messages = multiprocessing.get_context("spawn").Queue()
    order = sorted(names, key=lambda name: LONGEST_FIRST.index(name) if name in LONGEST_FIRST else -1)
    with start_pool(number, _listen, (messages,)) as pool:
        running = {name: pool.submit(_in_process, name, quick) for name in order}
        _wait(running, messages, progress)
        return [running[name].result() for name in names]


def _alone(name: str, quick: bool, progress: Report | None) -> Reproduction:
    told = None if progress is None else (lambda share, what: progress(name, share, what))
    found = reproduce(catalogue.load(name), quick, vector=not quick, progress=told)
    if progress is not None:
        progress(name, 1.0, "")
    return found


def _listen(messages: Any) -> None:
    global _messages
    configure()
    _messages = messages


def _in_process(name: str, quick: bool) -> Reproduction:
    return _alone(name, quick, lambda *told: _messages.put(told))


def _wait(running: dict[str, Future], messages: Any, progress: Report | None) -> None:
    """Pass on the progress until all are done; the first failure ends the waiting."""
    while not all(one.done() for one in running.values()):
        for one in running.values():
            if one.done():
                one.result()
        try:
            told = messages.get(timeout=POLL)
        except queues.Empty:
            continue
        if progress is not None:
            progress(*told)
