"""The server's end of the socket to a worker: messages out, answers sorted by request.

Lives in the event loop and does as little as it can for each token. Knows no process: what it means that the
connection is lost is said by `runtime.process`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from runtime.backlog import Answer, Backlog
from runtime.errors import ConnectionGone, WireError
from runtime.events import (
    FromWorker,
    Hello,
    LoadFailed,
    Message,
    Progress,
    Ready,
    Stats,
)
from runtime.wire import FrameEncoder, server_decoder

Control: TypeAlias = Hello | Progress | Ready | LoadFailed | Stats

READ_BYTES = 64 * 1024


class Route:
    """Where the answers to one request go; one task reads it."""

    __slots__ = ("_backlog", "_gone", "_waiter")

    def __init__(self) -> None:
        self._backlog = Backlog()
        self._waiter: asyncio.Future[None] | None = None
        self._gone = False

    async def take(self) -> list[Answer]:
        """Everything that has arrived, at least one answer; ConnectionGone when none will come any more."""
        while not self._backlog:
            if self._gone:
                raise ConnectionGone
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._backlog.take()

    def put(self, answer: Answer) -> None:
        """An answer has arrived."""
        self._backlog.put(answer)
        self._wake()

    def lose(self) -> None:
        """Nothing will arrive any more."""
        self._gone = True
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():  # a cancelled reader leaves a finished future behind
                waiter.set_result(None)


class Channel(asyncio.BufferedProtocol):
    """One connection. ``on_control`` gets what belongs to no request, in order.

    Buffered, because the plain protocol allocates a quarter of a megabyte for every read.
    """

    def __init__(self, on_control: Callable[[Control], None]) -> None:
        self._on_control = on_control
        self._decoder = server_decoder()
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._encoder = FrameEncoder()
        self._transport: asyncio.Transport | None = None
        self._routes: dict[int, Route] = {}
        self._next_id = 0
        self.fault = ""
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Called by the event loop: where to put what is read next."""
        return self._buffer

    def buffer_updated(self, size: int) -> None:
        """Called by the event loop when ``size`` bytes have arrived in the buffer."""
        try:
            messages = self._decoder.feed(bytes(self._buffer[:size]))
        except WireError as error:
            self.fault = str(error)
            self.close()
            return
        for message in messages:
            self._deliver(message)

    def connection_lost(self, error: Exception | None) -> None:
        """Called by the event loop, once."""
        self.lost.set()
        for route in self._routes.values():
            route.lose()

    def open_route(self) -> tuple[int, Route]:
        """A new request id and the place where its answers will arrive."""
        self._next_id += 1
        route = self._routes[self._next_id] = Route()
        if self.lost.is_set():
            route.lose()
        return self._next_id, route

    def close_route(self, request_id: int) -> None:
        """Nobody reads these answers any more; late ones are dropped."""
        self._routes.pop(request_id, None)

    def send(self, message: Message) -> None:
        """Write one message; WireError if it is too large. Into a lost connection it goes nowhere."""
        frame = self._encoder.encode([message])
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    def close(self) -> None:
        """Close the connection, which ends the worker."""
        if self._transport is not None:
            self._transport.abort()
        else:
            self.lost.set()  # it was never made

    def _deliver(self, message: FromWorker) -> None:
        if isinstance(message, Control):
            self._on_control(message)
            return
        route = self._routes.get(message.id)
        if route is not None:
            route.put(message)
