"""Reading forward through a file that may lie about itself, with a bounded buffer.

The file is read, not mapped: a file that shrinks while it is read is an error here and would be a fatal
signal there. Knows nothing of GGUF beyond its numbers being little-endian and its strings having an 8-byte
length.
"""

import struct
from collections.abc import Callable, Iterator

from modelfiles.errors import BadGGUF

# Gives up to the asked number of bytes from an offset; fewer only at the end of the file.
ReadAt = Callable[[int, int], bytes]

_BUFFER_BYTES = 1 << 20
_LENGTH = struct.Struct("<Q")


class Window:
    """A position in a file of `size` bytes, moved forward by reading and skipping.

    `place` names what is being read; every error mentions it. All methods raise BadGGUF where the file ends
    early.
    """

    def __init__(self, read_at: ReadAt, size: int) -> None:
        self.size = size
        self.place = "the header"
        self._read_at = read_at
        self._buffer = b""
        self._start = 0
        self._at = 0

    @property
    def position(self) -> int:
        """Offset of the next byte from the beginning of the file."""
        return self._start + self._at

    @property
    def remaining(self) -> int:
        """Bytes between the position and the end of the file."""
        return self.size - self.position

    def read(self, count: int) -> bytes:
        """The next `count` bytes. Callers bound `count`: it is what gets allocated."""
        self._fill(count)
        self._at += count
        return self._buffer[self._at - count : self._at]

    def skip(self, count: int) -> None:
        """Move over `count` bytes without reading them."""
        self._move_to(self._at + count)

    def number(self, layout: struct.Struct) -> int:
        """One whole number."""
        self._fill(layout.size)
        value: int = layout.unpack_from(self._buffer, self._at)[0]
        self._at += layout.size
        return value

    def string(self, max_bytes: int) -> bytes:
        """One string: 8 bytes of length, then that many bytes."""
        length = self.number(_LENGTH)
        if length > self.remaining:
            raise BadGGUF(f"{self.place} has a string of {length} bytes, but {self._rest()}")
        if length > max_bytes:
            raise BadGGUF(f"{self.place} has a string of {length} bytes; at most {max_bytes} are accepted")
        return self.read(length)

    def skip_strings(self, count: int) -> None:
        """Move over `count` strings. A vocabulary has 250,000 of them, so the loop is kept bare."""
        while count > 0:
            self._fill(_LENGTH.size)
            buffer, at, last = self._buffer, self._at, len(self._buffer) - _LENGTH.size
            unpack = _LENGTH.unpack_from
            while count > 0 and at <= last:
                at += 8 + unpack(buffer, at)[0]
                count -= 1
            self._move_to(at)

    def strings(self, count: int, max_bytes: int) -> Iterator[bytes]:
        """The next `count` strings."""
        for _ in range(count):
            buffer, at = self._buffer, self._at
            behind = at + 8
            if behind <= len(buffer):
                behind += _LENGTH.unpack_from(buffer, at)[0]
                if behind <= len(buffer) and behind - at - 8 <= max_bytes:
                    self._at = behind
                    yield buffer[at + 8 : behind]
                    continue
            yield self.string(max_bytes)

    def _fill(self, count: int) -> None:
        if len(self._buffer) - self._at >= count:
            return
        position = self.position
        if count > self.size - position:
            raise BadGGUF(f"{self.place} needs {count} more bytes, but {self._rest()}")
        self._buffer = self._read_at(position, min(max(count, _BUFFER_BYTES), self.size - position))
        self._start, self._at = position, 0
        if len(self._buffer) < count:
            raise BadGGUF(f"{self.place} cannot be read: the file became shorter meanwhile")

    def _move_to(self, at: int) -> None:
        position = self._start + at
        if position > self.size:
            raise BadGGUF(f"{self.place} reaches to byte {position}, but {self._rest()}")
        if at <= len(self._buffer):
            self._at = at
        else:
            self._buffer, self._start, self._at = b"", position, 0

    def _rest(self) -> str:
        return f"the file is truncated or damaged: it ends at byte {self.size}"
