"""The server of the studio: this machine alone, a port of its own, gone when nobody looks any more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator

import uvicorn

from saltus.studio.app import Studio

PATIENCE = 45.0  # seconds without a sign of the page after which the studio ends
FIRST = 600.0  # the same before the page was opened for the first time
LOOPBACK = "127.0.0.1"


class _Server(uvicorn.Server):
    """Ends at once and quietly when it is told to."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # they are listened for already, from the moment the address is told

    def end(self) -> None:
        self.should_exit = self.force_exit = True


@contextlib.contextmanager
def signals(end: Callable[[], None]) -> Iterator[None]:
    """Within it, Ctrl-C and the signal to terminate do this alone."""
    before = {one: signal.signal(one, lambda *_: end()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def serve(
    first: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    tell: Callable[[str], None],
    patience: float = PATIENCE,
    ended_by: Callable[[Callable[[], None]], contextlib.AbstractContextManager[None]] = signals,
) -> None:
    """Run the studio until it is interrupted or its page has been closed for a while.

    Args:
        first: Scenario that is opened first.
        port: Port on this machine; 0 lets the system choose a free one.
        browser: Whether to open the page.
        tell: Called with the address of the page.
        patience: Seconds without a sign of the page after which the studio ends.
        ended_by: Within it, what is to end the studio calls its argument; Ctrl-C if not given.
    """
    studio = Studio(first)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((LOOPBACK, port))
    address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={studio.token}"
    settings = uvicorn.Config(studio.application, log_level="error", access_log=False, lifespan="off")
    server = _Server(settings)
    try:
        with ended_by(server.end):
            tell(address)
            asyncio.run(_run(studio, server, listening, address if browser else None, patience))
    finally:
        listening.close()
        studio.jobs.close()
    if studio.jobs.busy:  # its thread may be compiling, which nothing interrupts
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


async def _run(studio: Studio, server: _Server, listening: socket.socket, address: str | None, patience: float) -> None:
    watching = asyncio.create_task(_watch(studio, server, patience))
    if address is not None:
        await asyncio.to_thread(webbrowser.open, address)
    await server.serve(sockets=[listening])
    watching.cancel()


async def _watch(studio: Studio, server: _Server, patience: float) -> None:
    """End the server when the page has been gone for a while."""
    began = studio.seen
    while not server.should_exit:
        await asyncio.sleep(min(1.0, patience / 4))
        waits = FIRST if studio.seen == began and patience == PATIENCE else patience
        if time.monotonic() - studio.seen > waits and not studio.jobs.busy:
            server.should_exit = True
