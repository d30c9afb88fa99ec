"""Programs that a run will need, loaded by a second thread while the first still imports and builds.

Which they are is known from the last run of the same form: their names are kept beside the programs. A wrong guess
costs a little time and nothing else. In the first run of a form there are none yet; two threads make those that are
prepared (`submit`), in the order in which the run will come to them.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import heapq
import itertools
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from saltus._jax_settings import programs_directory
from saltus.programs import store
from saltus.programs.sources import changed_since_start, sources, versions

MAKERS = 2  # threads that make programs: while a run waits for one of them, the other goes on with what comes next
NAME = re.compile(r"\w+-[0-9a-f]{40}")  # of a program; what a file from elsewhere says becomes no other path


class Rank(enum.IntEnum):
    """When a run comes to a program: soon, at its end, or perhaps never."""

    soon, at_end, perhaps = range(3)


_loading: dict[str, Future] = {}  # what was asked for and not yet taken
_used: list[list[str]] = []  # one list for each run under way
_makers: list[ThreadPoolExecutor] = []  # of the runs under way, who makes programs that are not there yet
_writers: list[ThreadPoolExecutor] = []  # and who writes those that were made
_plans: list[tuple[Rank, int, Callable[[], Any]]] = []  # what they will do, as a heap
_guesses: list[Callable[[], Any]] = []  # of rank `perhaps`, what they do now: one at a time
_numbers, _planning = itertools.count(), threading.Lock()
_first: list[int] = []  # the number of the plan that a run comes to first
_python_is_free = threading.Event()  # its program has gone to the compiler, or there is none
_python_is_free.set()
_wanted: list[int | None] = []  # how many samples each of them will be asked for


@contextlib.contextmanager
def load_ahead(form: str, samples: int | None = None) -> Iterator[None]:
    """Within it the programs that the last run of this form used are loaded ahead; those used are noted for the next.

    In the first run of a form, programs that it is sure to need are made by another thread (`submit`).

    Args:
        form: What decides which programs are needed: the text of a scenario without its numbers, say.
        samples: How many samples of the run will be asked for, if any.
    """
    folder = programs_directory()
    if folder is None or changed_since_start():
        yield
        return
    told = chr(0).join((sources(), *versions(), form))
    file = f"used-{hashlib.sha256(told.encode()).hexdigest()[:40]}"
    known = store.read(folder, file, store.FACTS)
    names = [name for name in known[0] if _is_name(name)] if known and isinstance(known[0], list) else []
    pool = _begin(folder, names) if names else None
    used: list[str] = []
    makers = [] if names else [ThreadPoolExecutor(MAKERS, thread_name_prefix="saltus making")]
    writer = ThreadPoolExecutor(1, thread_name_prefix="saltus writing")
    _used.append(used)
    _makers.extend(makers)
    _writers.append(writer)
    _wanted.append(samples)
    try:
        yield
        if used and used != names:
            store.write(folder, file, used, b"", suffix=store.FACTS)
    finally:
        _used.remove(used)
        _writers.remove(writer)
        _wanted.pop()
        with _planning:
            _plans.clear()
            _first.clear()
        let_python_go()
        for maker in makers:
            _makers.remove(maker)
            maker.shutdown(wait=False, cancel_futures=True)
        writer.shutdown()
        for name in names:
            _loading.pop(name, None)
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def form_of(text: str) -> str:
    """The text of a scenario without its numbers, on which the programs of its run hardly depend; counts stay."""
    return re.sub(r"\d+(\.\d*(e[-+]?\d+)?|e[-+]?\d+)", "x", text)


def under_way() -> bool:
    """Whether there is a run, the first of its form, that programs can be made for."""
    return bool(_makers)


def samples() -> int | None:
    """How many samples the run that programs are made for will be asked for; None if that is not known."""
    return _wanted[-1] if _makers and _wanted else None


def submit(make: Callable[[], Any], rank: Rank = Rank.soon) -> None:
    """Have another thread do this when nothing of a lower rank, and nothing submitted before, waits any more."""
    with _planning:
        if not _makers:
            return
        number = next(_numbers)
        if rank is Rank.soon and not _first:
            _first.append(number)
            _python_is_free.clear()
        heapq.heappush(_plans, (rank, number, make))
        _makers[-1].submit(_do_next)


def let_python_go() -> None:
    """A program has been traced, and goes to the compiler: other threads may use Python."""
    _python_is_free.set()


def wait_for_python() -> None:
    """Wait until the first program of a run has gone to the compiler: what runs in Python meanwhile would delay it.

    Python runs one thread at a time, so two cores are busy only while one of them compiles.
    """
    _python_is_free.wait()


def _do_next() -> None:
    """Do what comes next by rank; there is something for each time that something was submitted."""
    while (plan := _take_next()) is not None:
        rank, number, make = plan
        if number not in _first:
            wait_for_python()
        try:
            with contextlib.suppress(Exception):  # the run comes to it by itself, and tells
                make()
        finally:
            let_python_go()
        if rank is not Rank.perhaps:
            return
        with _planning:
            _guesses.remove(make)


def _take_next() -> tuple[Rank, int, Callable[[], Any]] | None:
    """The plan that comes next; None if there is nothing: the run is over, or a guess is left to who is at another."""
    with _planning:
        if not _plans or (_plans[0][0] is Rank.perhaps and _guesses):
            return None
        rank, number, make = heapq.heappop(_plans)
        if rank is Rank.perhaps:
            _guesses.append(make)
        return rank, number, make


def write(keep: Callable[[], None]) -> None:
    """Keep a program that was made: by a thread of its own while a run is under way, which goes on meanwhile."""
    if not _writers:
        keep()
        return
    try:
        _writers[-1].submit(keep)
    except RuntimeError:  # the run has just ended, and a program was still being made for it
        keep()


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def _begin(folder: Path, names: list[str]) -> ThreadPoolExecutor:
    """Start to load these programs, one after the other, in the order in which they will be asked for."""
    # Imported here, not in the thread: two threads must not import parts of one package.
    from saltus.programs import code

    pool = ThreadPoolExecutor(1, thread_name_prefix="saltus programs")
    for name in names:
        _loading[name] = pool.submit(code.read, folder, name)
    return pool


def note(name: str) -> None:
    """Note for the next run of the same form that the one under way has come to this program."""
    for used in _used:
        if name not in used:
            used.append(name)


def load_code(name: str, load: Callable[[], Any]) -> Any:
    """The code of a program: as it was loaded ahead, or loaded now."""
    begun = _loading.pop(name, None)
    if begun is None or begun.cancel():  # not begun, and so quicker done here
        return load()
    return begun.result()
