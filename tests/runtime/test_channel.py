"""The server's end of the socket, over a real socket pair."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from runtime import events
from runtime.channel import Channel, Control
from runtime.errors import ConnectionGone
from runtime.wire import FrameEncoder, worker_decoder


class Peer:
    """The worker's end, played by the test."""

    def __init__(self, sock: socket.socket, channel: Channel, controls: list[Control]) -> None:
        self.sock = sock
        self.channel = channel
        self.controls = controls

    async def say(self, *messages: events.Message) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self.sock, FrameEncoder().encode(messages))

    async def hear(self) -> list[events.ToWorker]:
        loop = asyncio.get_running_loop()
        return worker_decoder().feed(await loop.sock_recv(self.sock, 65536))


@asynccontextmanager
async def connected() -> AsyncIterator[Peer]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    controls: list[Control] = []
    channel = Channel(controls.append)
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
    yield Peer(theirs, channel, controls)
    channel.close()
    await channel.lost.wait()
    theirs.close()


async def test_answers_go_to_their_requests_in_order() -> None:
    async with connected() as peer:
        (first, one), (second, two) = peer.channel.open_route(), peer.channel.open_route()
        assert first != second
        await peer.say(events.Token(second, "b"), events.Token(first, "a"), events.Token(second, "c"))
        assert await one.take() == [events.Token(first, "a")]
        assert await two.take() == [events.Token(second, "b"), events.Token(second, "c")]


async def test_messages_of_no_request_go_to_control() -> None:
    async with connected() as peer:
        request_id, route = peer.channel.open_route()
        await peer.say(events.Hello(1, "fake"), events.Progress(0.5), events.Text(request_id, "x"))
        await route.take()
        assert peer.controls == [events.Hello(1, "fake"), events.Progress(0.5)]


async def test_late_answers_to_a_closed_request_are_dropped() -> None:
    async with connected() as peer:
        gone, _ = peer.channel.open_route()
        request_id, route = peer.channel.open_route()
        peer.channel.close_route(gone)
        await peer.say(events.Token(gone, "late"), events.Token(request_id, "x"))
        assert await route.take() == [events.Token(request_id, "x")]


async def test_what_arrived_before_the_end_is_still_read() -> None:
    async with connected() as peer:
        request_id, route = peer.channel.open_route()
        waiting, other = peer.channel.open_route()
        reader = asyncio.create_task(other.take())
        await peer.say(events.Token(request_id, "x"))
        peer.sock.shutdown(socket.SHUT_RDWR)
        await peer.channel.lost.wait()
        assert await route.take() == [events.Token(request_id, "x")]
        with pytest.raises(ConnectionGone):
            await route.take()
        with pytest.raises(ConnectionGone):
            await reader
        _, late = peer.channel.open_route()
        with pytest.raises(ConnectionGone):
            await late.take()
        peer.channel.send(events.Cancel(waiting))


async def test_a_reader_that_was_cancelled_can_be_followed_by_another() -> None:
    async with connected() as peer:
        request_id, route = peer.channel.open_route()
        reader = asyncio.create_task(route.take())
        await asyncio.sleep(0)
        reader.cancel()
        await peer.say(events.Token(request_id, "x"))
        assert await route.take() == [events.Token(request_id, "x")]


async def test_a_broken_frame_closes_the_connection() -> None:
    async with connected() as peer:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(peer.sock, b"\xff" * 8)
        await peer.channel.lost.wait()
        assert "exceeds the limit" in peer.channel.fault


async def test_send_writes_one_frame() -> None:
    async with connected() as peer:
        peer.channel.send(events.Tokenize(3, "ü", True))
        assert await peer.hear() == [events.Tokenize(3, "ü", True)]
