"""Programs that a run will need, loaded by a second thread while the first still imports and builds.

Which they are is known from the last run of the same form: their names are kept beside the programs. A wrong guess
costs a little time and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from saltus._jax_settings import programs_directory
from saltus.programs import store
from saltus.programs.sources import changed_since_start, sources, versions

MAKERS = 2  # threads that make programs: one is enough to keep a core busy, but the first program that a run needs
# takes longest, and the run itself can only wait for it
NAME = re.compile(r"\w+-[0-9a-f]{40}")  # of a program; what a file from elsewhere says becomes no other path

_loading: dict[str, Future] = {}  # what was asked for and not yet taken
_used: list[list[str]] = []  # one list for each run under way
_makers: list[ThreadPoolExecutor] = []  # of the runs under way, who makes programs that are not there yet
_writers: list[ThreadPoolExecutor] = []  # and who writes those that were made
_guesses: list[Callable[[], Any]] = []  # what those who make programs do when nothing is left that is sure to be needed
_guessing = threading.Lock()
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
        _guesses.clear()
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


def submit(make: Callable[[], Any]) -> None:
    """Have another thread do this, after what was submitted before has begun."""
    if _makers:
        _makers[-1].submit(make)


def guess(make: Callable[[], Any]) -> None:
    """Have another thread do this when all that was submitted has begun, one guess after the other.

    For what a run may come to and may not: it costs nothing but the time of a core that has nothing else to do.
    """
    with _guessing:
        if not _makers:
            return
        _guesses.append(make)
        first = len(_guesses) == 1
    if first:
        submit(_make_guess)


def _make_guess() -> None:
    try:
        _guesses[0]()
    finally:
        with _guessing:
            del _guesses[:1]
            more = bool(_guesses)
        if more:
            submit(_make_guess)


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
