"""How messages travel between server and worker: frames of a 4-byte big-endian length and msgpack.

A frame holds a list of messages, so that one decode step costs one write. Pure: bytes in, messages out; who
reads and writes the socket is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from runtime.errors import WireError
from runtime.events import FromWorker, Message, ToWorker

HEADER_BYTES = 4
MAX_FRAME_BYTES = 64 * 1024 * 1024  # a prompt of a million tokens is about 8 MiB

T = TypeVar("T")


class FrameEncoder:
    """Messages to bytes."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._max = max_frame_bytes

    def encode(self, messages: Sequence[Message]) -> bytes:
        """One frame with all of ``messages``; WireError when it would exceed the limit."""
        body = self._encode(messages)
        if len(body) > self._max:
            raise WireError(f"a message of {len(body)} bytes exceeds the limit of {self._max}")
        return len(body).to_bytes(HEADER_BYTES, "big") + body


class FrameDecoder(Generic[T]):
    """Bytes in any pieces to messages; keeps what is incomplete. After a WireError it must not be used."""

    def __init__(
        self, decoder: msgspec.msgpack.Decoder[list[T]], max_frame_bytes: int = MAX_FRAME_BYTES
    ) -> None:
        self._decode = decoder.decode
        self._max = max_frame_bytes
        self._rest = bytearray()
        self._wanted = 0  # bytes that must have arrived before another look at _rest is worth it

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that has not fully arrived."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[T]:
        """All messages that are complete with ``data``, in order."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []
            data = bytes(self._rest)
        messages: list[T] = []
        start = self._take(data, messages)
        self._rest = bytearray(data[start:])
        return messages

    def _take(self, data: bytes, messages: list[T]) -> int:
        """Decode every whole frame in ``data``; returns where the first incomplete one starts."""
        start, end = 0, len(data)
        view = memoryview(data)
        self._wanted = HEADER_BYTES
        while end - start >= HEADER_BYTES:
            size = int.from_bytes(view[start : start + HEADER_BYTES], "big")
            if size > self._max:
                raise WireError(f"a frame of {size} bytes exceeds the limit of {self._max}")
            body = start + HEADER_BYTES
            if body + size > end:
                self._wanted = HEADER_BYTES + size
                break
            messages += self._decode_body(view[body : body + size])
            start = body + size
        return start

    def _decode_body(self, body: memoryview) -> list[T]:
        try:
            return self._decode(body)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise WireError(f"a frame of {len(body)} bytes cannot be read: {error}") from error


def worker_decoder(max_frame_bytes: int = MAX_FRAME_BYTES) -> FrameDecoder[ToWorker]:
    """Decoder for the worker's end."""
    kind: Any = list[ToWorker]
    return FrameDecoder(msgspec.msgpack.Decoder(kind), max_frame_bytes)


def server_decoder(max_frame_bytes: int = MAX_FRAME_BYTES) -> FrameDecoder[FromWorker]:
    """Decoder for the server's end."""
    kind: Any = list[FromWorker]
    return FrameDecoder(msgspec.msgpack.Decoder(kind), max_frame_bytes)
