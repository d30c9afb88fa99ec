"""Ctrl-C: one line, exit code 130, at once, and nothing half-written.

Python raises KeyboardInterrupt in the main thread, and not before that thread runs Python code. While XLA compiles it
does not, for seconds or minutes; and where it does, within a callback of XLA, the exception ends in a segmentation
fault. So a thread of its own listens for the signal, cleans up, and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

PATIENCE = 5.0  # seconds that cleaning up may take
ENDING = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated."}
NOTHING_LOST = "No file was left half-written."

_remark: list[Callable[[], str]] = []
_actions: list[Callable[[], None]] = []
_ends: list[Callable[[], None]] = []
_pipe: list[socket.socket] = []  # kept open as long as the process lives


def install() -> None:
    """Listen for Ctrl-C (and for SIGTERM) from now on.

    Also where a script that runs in the background made it ignored: whoever sends it then means this process.
    """
    if _pipe or threading.current_thread() is not threading.main_thread():
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    _pipe.extend((receiver, sender))
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    for number in ENDING:
        signal.signal(number, lambda *_: None)  # nothing is raised in the main thread
    threading.Thread(target=_listen, args=(receiver,), name="interrupt", daemon=True).start()


@contextlib.contextmanager
def remark_on_interrupt(remark: Callable[[], str]) -> Iterator[None]:
    """Within it, this is said after "Interrupted."."""
    with _register(_remark, remark):
        yield


@contextlib.contextmanager
def doing(action: Callable[[], None]) -> Iterator[None]:
    """Within it, an interrupt does this first."""
    with _register(_actions, action):
        yield


@contextlib.contextmanager
def as_end(action: Callable[[], None]) -> Iterator[None]:
    """Within it, an interrupt is how the command ends: it does this alone, and the command goes on to its end."""
    with _register(_ends, action):
        yield


@contextlib.contextmanager
def _register(where: list, what: Callable) -> Iterator[None]:
    where.append(what)
    try:
        yield
    finally:
        where.remove(what)


def _listen(receiver: socket.socket) -> None:
    while True:
        number = receiver.recv(1)[0]
        if number not in tuple(ENDING):
            continue
        if _ends:
            _ends[-1]()
        else:
            _end(signal.Signals(number))


def _end(number: signal.Signals) -> None:
    """Clean up and end the process, whatever becomes of the cleaning."""
    code = 128 + number
    watchdog = threading.Timer(PATIENCE, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()
    try:
        for action in [*reversed(_actions), _end_processes, _remove_files]:
            with contextlib.suppress(Exception):  # the others are to be done all the same
                action()
        print(f"saltus: {ENDING[number]} {_say()}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _say() -> str:
    with contextlib.suppress(Exception):
        return " ".join(_remark[-1]().split())
    return NOTHING_LOST


def _end_processes() -> None:
    if "saltus.processes" not in sys.modules and "multiprocessing" not in sys.modules:
        return
    import multiprocessing.util

    from saltus import processes

    processes.kill_all()
    # Semaphores of pools have names; without this a helper of Python removes them, and complains.
    multiprocessing.util._run_finalizers(0)  # type: ignore[attr-defined]


def _remove_files() -> None:
    files = sys.modules.get("saltus.io.files")
    if files is not None:
        files.discard_unfinished()
