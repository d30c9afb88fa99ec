"""One quiet line for who waits while programs are made: on a terminal only, after a second, once."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

PATIENCE = 1.0  # seconds of making programs before anything is said
LINE = "saltus: compiling, once; the next start is quick"

_spent, _worked = [0.0], [0.0]  # wall time and processor time, while any program was being made
_begun: list[tuple[float, float]] = []  # one for each that is being made: both times when the first of them began
_counting = threading.Lock()
_said: list[bool] = []
_tell: list[Callable[[str], None]] = []


@contextlib.contextmanager
def making() -> Iterator[None]:
    """While a program is traced and compiled, which counts towards the patience."""
    timer = None if _said else threading.Timer(max(PATIENCE - _spent[0], 0.0), say)
    with _counting:
        _begun.append(_begun[0] if _begun else (time.perf_counter(), time.process_time()))
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        with _counting:
            began, worked = _begun.pop()
            if not _begun:  # those made side by side count once
                _spent[0] += time.perf_counter() - began
                _worked[0] += time.process_time() - worked


def time_spent() -> float:
    """Processor time that has gone into programs in this process [s]."""
    with _counting:
        return _worked[0] + (time.process_time() - _begun[0][1] if _begun else 0.0)


def say() -> None:
    """Say the line, if nobody has yet."""
    if _said:
        return
    _said.append(True)
    if _tell:
        _tell[-1](LINE)
    elif sys.stderr is not None and sys.stderr.isatty():
        print(LINE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def tell_by(tell: Callable[[str], None]) -> Iterator[None]:
    """Within it the line goes to `tell`: what draws on the terminal has to print it itself."""
    _tell.append(tell)
    try:
        yield
    finally:
        _tell.remove(tell)
