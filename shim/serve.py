"""Runs the server: a socket, signals, and an end that leaves nothing behind.

The first SIGINT or SIGTERM stops it in order: no new connections, streams end, workers go, exit code 0, all
within ten seconds. A second one ends the process at once, with 128 plus the signal; its workers see their
sockets close and end by themselves. So they do when the server is killed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable

from aiohttp import http_exceptions, web

from shim.app import HEAD_BYTES, build_app
from shim.listening import bound_url, open_socket
from shim.services import open_services
from shim.settings import Settings
from shim.versions import API_VERSION, own_version

LOG = logging.getLogger("shim.serve")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SERVICES_SECONDS = 6.0  # for streams to end and workers to go
_HANDLERS_SECONDS = 1.0  # for what still runs afterwards
_EXIT_SECONDS = 1.0  # for threads that read or write files
_BACKLOG = 1024


def run(settings: Settings) -> int:
    """Serve until told to stop; the exit code. SettingsError when the address cannot be had."""
    _log_to_stderr(settings.debug)
    with open_socket(settings.host) as listener:
        asyncio.run(_serve(settings, listener))
    _bound_the_exit()
    return 0


def _log_to_stderr(debug: bool) -> None:
    level = logging.DEBUG if debug else logging.INFO
    logging.basicConfig(
        level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("aiohttp.server").addFilter(_without_strangers_traces)


def _without_strangers_traces(record: logging.LogRecord) -> bool:
    """What others send that is no HTTP, and connections that break, are worth a line but no traceback."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, http_exceptions.HttpProcessingError | web.RequestPayloadError | ConnectionError):
        record.msg, record.args = "%s: %s", (record.getMessage(), " ".join(str(error).split())[:200])
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


async def _serve(settings: Settings, listener: socket.socket) -> None:
    stop = _stop_signal()
    for warning in settings.warnings:
        LOG.warning("%s", warning)
    services = await open_services(settings)
    runner = web.AppRunner(
        build_app(services),
        handler_cancellation=True,  # a client that goes away ends what was done for it
        auto_decompress=False,  # as in Ollama, a body is what was sent
        access_log=None,
        shutdown_timeout=_HANDLERS_SECONDS,
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
    )
    try:
        await runner.setup()
        site = web.SockSite(runner, listener, backlog=_BACKLOG)
        await site.start()
        LOG.info("listening on %s (shim %s, API %s)", bound_url(listener), own_version(), API_VERSION)
        name = await stop
        LOG.info("stopping on %s; a second signal ends at once", name)
        await site.stop()
    finally:
        await _close(services.close, runner)


async def _close(close_services: Callable[[], Awaitable[None]], runner: web.AppRunner) -> None:
    try:
        async with asyncio.timeout(_SERVICES_SECONDS):
            await close_services()
    except TimeoutError:
        LOG.warning(
            "models did not unload within %.0f s; their workers end with this process", _SERVICES_SECONDS
        )
    await runner.cleanup()


def _stop_signal() -> asyncio.Future[str]:
    """Resolves to the name of the first signal; the second one ends the process."""
    loop = asyncio.get_running_loop()
    first: asyncio.Future[str] = loop.create_future()

    def handle(number: signal.Signals) -> None:
        if first.done():
            os._exit(128 + number)
        first.set_result(number.name)

    for number in _SIGNALS:
        loop.add_signal_handler(number, handle, number)
    return first


def _bound_the_exit() -> None:
    """The interpreter waits for threads, and one of them may be deep in a large file."""
    timer = threading.Timer(_EXIT_SECONDS, os._exit, [0])
    timer.daemon = True
    timer.start()
