"""Several streamed HTTP requests read at once by one thread, with the time of every line.

The client shares the machine with what it measures, so it does as little as it can: plain sockets, no parsing
before the end.
"""

import selectors
import socket
import time
from collections.abc import Sequence

from msgspec import Struct


class Timed(Struct, frozen=True):
    """The lines of one answer's body that are not empty, with the seconds from the request to each."""

    lines: list[tuple[float, bytes]]


def read_streams(port: int, path: str, bodies: Sequence[bytes], timeout_seconds: float = 600) -> list[Timed]:
    """Sends all requests, then reads until every answer has ended."""
    selector = selectors.DefaultSelector()
    received: list[list[tuple[float, bytes]]] = []
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in bodies]
    began = time.perf_counter()
    for number, (connection, body) in enumerate(zip(connections, bodies, strict=True)):
        connection.sendall(_head(port, path, len(body)) + body)
        selector.register(connection, selectors.EVENT_READ, number)
        received.append([])
    while selector.get_map():
        ready = selector.select(timeout_seconds)
        if not ready:
            raise TimeoutError(f"nothing arrived for {timeout_seconds} s")
        for key, _ in ready:
            data = connections[key.data].recv(1 << 16)
            if data:
                received[key.data].append((time.perf_counter() - began, data))
            else:
                selector.unregister(key.fileobj)
                connections[key.data].close()
    return [Timed(list(_lines(chunks))) for chunks in received]


def _head(port: int, path: str, length: int) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"Content-Length: {length}", "Content-Type: application/json", "", ""]
    return "\r\n".join(lines).encode()


def _lines(chunks: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
    """Splits what arrived into lines of JSON, each with the time of its last byte."""
    found: list[tuple[float, bytes]] = []
    rest = b""
    for seconds, data in chunks:
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            text = line.removesuffix(b"\r").removeprefix(b"data: ")
            if text.startswith(b"{"):
                found.append((seconds, text))
    return found
