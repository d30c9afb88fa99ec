"""Other processes of this program: a pool of them, and how they end with it."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import subprocess
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

_started: weakref.WeakSet[subprocess.Popen] = weakref.WeakSet()


def register(process: subprocess.Popen) -> None:
    """Have a process ended by `kill_all` as well."""
    _started.add(process)


def kill_all() -> None:
    """End every process of a pool, of a cluster on this machine, and every registered one, at once."""
    for process in [*multiprocessing.active_children(), *_started]:
        with contextlib.suppress(OSError, ValueError):  # it has ended by itself
            process.kill()


@contextlib.contextmanager
def shield_from_interrupt() -> Iterator[None]:
    """Processes started within it do not get the Ctrl-C of the terminal: their parent does, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _ShieldedPool(ProcessPoolExecutor):
    """A pool starts its processes when work is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        with shield_from_interrupt():
            return super().submit(fn, *args, **kwargs)


@contextlib.contextmanager
def pool(number: int, initializer: Callable[..., object], arguments: tuple = ()) -> Iterator[ProcessPoolExecutor]:
    """So many new processes, which `initializer(*arguments)` prepares.

    They are not forked: the libraries under JAX hold threads, which a fork does not carry over. When the block is left
    by an error or an interrupt they are ended at once, not when they have finished.
    """
    spawn = multiprocessing.get_context("spawn")
    with _ShieldedPool(number, mp_context=spawn, initializer=initializer, initargs=arguments) as executor:
        try:
            yield executor
        except BaseException:
            for process in list((executor._processes or {}).values()):
                process.kill()
            raise
