"""Reading a GGUF header, trusting nothing in it.

Whatever the file claims, memory stays bounded: counts are held against the bytes that are left before
anything is allocated, long arrays are stepped over, and what is kept is counted. Every fault is a BadGGUF
that names it. Accepts versions 2 and 3, little-endian. Says nothing about whether an engine can use the
model: see `check`.
"""

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modelfiles.errors import BadGGUF
from modelfiles.gguf.header import GGUF, ArrayInfo
from modelfiles.gguf.tensors import read_tensors
from modelfiles.gguf.types import ARRAY_TYPE, BOOL_TYPE, SCALAR_TYPES, STRING_TYPE
from modelfiles.gguf.window import ReadAt, Window

MAGIC = b"GGUF"
DEFAULT_ALIGNMENT = 32

# Several hundred times what real files have; a file beyond it is hostile, not large.
_MAX_KEYS = 65_536
_MAX_KEY_BYTES = 65_535
_MAX_STRING_BYTES = 16 << 20
_MAX_STRINGS_PASSED = 16 << 20
_MAX_HEADER_BYTES = 1 << 30
_MAX_KEPT_BYTES = 64 << 20
_MAX_KEPT_BYTES_WITH_ARRAYS = 256 << 20
# Arrays up to this length hold one value per layer or a few words, and are always kept.
_SHORT_NUMBERS = 4096
_SHORT_STRINGS = 256
# A number or a short string as a Python object, and its place in a tuple.
_OBJECT_BYTES = 64

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_SMALLEST_KEY_BYTES = 8 + 1 + 4 + 1


def read_gguf(path: str | os.PathLike[str], *, arrays: bool = False) -> GGUF:
    """Read the header of a file, never its weights.

    With `arrays`, arrays of any reasonable length are kept as tuples; else only short ones are. Raises
    BadGGUF, and OSError where the file cannot be opened.
    """
    with _opened(Path(path)) as (read_at, size):
        return parse_gguf(read_at, size, arrays=arrays)


def parse_gguf(read_at: ReadAt, size: int, *, arrays: bool = False) -> GGUF:
    """Read the header of anything that gives bytes by their offset."""
    window = Window(read_at, size)
    version = _read_version(window)
    tensor_count, key_count = window.number(_U64), window.number(_U64)
    if key_count > _MAX_KEYS or key_count * _SMALLEST_KEY_BYTES > window.remaining:
        raise BadGGUF(f"the header claims {key_count} keys, more than a file of {size} bytes may have")
    keys = _Keys(window, arrays=arrays)
    for index in range(key_count):
        keys.read(index, key_count)
    alignment = _alignment(keys.metadata)
    tensors, data_offset = read_tensors(window, tensor_count, alignment)
    return GGUF(version, keys.metadata, tensors, alignment, data_offset, size, keys.spans)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[ReadAt, int]]:
    # O_NONBLOCK: opening a pipe must not wait for a writer
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadGGUF("it is not a regular file")
        yield (lambda offset, count: os.pread(descriptor, count, offset)), status.st_size
    finally:
        os.close(descriptor)


def _read_version(window: Window) -> int:
    if window.size < 4:
        raise BadGGUF(f"it is not a GGUF file: it has only {window.size} bytes")
    magic = window.read(4)
    if magic != MAGIC:
        raise BadGGUF(f"it is not a GGUF file: {_guess(magic)}")
    version = window.number(_U32)
    if version & 0xFFFF == 0 and version != 0:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        raise BadGGUF(
            f"it is a big-endian GGUF (version {swapped}), which cannot be run here; "
            "gguf-convert-endian of the gguf package turns it into a little-endian one"
        )
    if version not in (2, 3):
        raise BadGGUF(f"GGUF version {version} is not supported; versions 2 and 3 are")
    return version


def _guess(magic: bytes) -> str:
    if magic == b"vers":
        return "it may be a Git LFS pointer; fetch the file itself with `git lfs pull`"
    if magic[:2] == b"PK":
        return "it is a zip archive or a PyTorch checkpoint"
    if magic == b"FUGG":
        return "its magic is reversed, so it was written on a big-endian machine"
    if magic in (b"lmgg", b"fmgg", b"tjgg"):
        return "it is an older GGML file; convert it to GGUF first"
    return f"it begins with {magic!r}, not with {MAGIC!r}"


def _alignment(metadata: dict[str, object]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadGGUF(f"general.alignment must be a whole number, not {value!r:.80}")
    if value <= 0 or value & (value - 1) or value > 1 << 30:
        raise BadGGUF(f"general.alignment is {value}, which is not a power of two")
    return value


class _Keys:
    """Collects the metadata, and counts what it keeps."""

    def __init__(self, window: Window, *, arrays: bool) -> None:
        self.metadata: dict[str, object] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self._window = window
        self._arrays = arrays
        self._budget = _MAX_KEPT_BYTES_WITH_ARRAYS if arrays else _MAX_KEPT_BYTES
        self._strings_left = _MAX_STRINGS_PASSED

    def read(self, index: int, count: int) -> None:
        window = self._window
        start = window.position
        window.place = f"key {index + 1} of {count}"
        key = window.string(_MAX_KEY_BYTES).decode("utf-8", "replace")
        window.place = f"key {key!r:.100}"
        if not key or key in self.metadata:
            raise BadGGUF(f"{window.place} is there twice" if key else f"key {index + 1} of {count} is empty")
        self._spend(len(key) + 2 * _OBJECT_BYTES)
        self.metadata[key] = self._value(window.number(_U32))
        self.spans[key] = (start, window.position)
        if window.position > _MAX_HEADER_BYTES:
            raise BadGGUF(f"the header is longer than {_MAX_HEADER_BYTES} bytes")

    def _value(self, type_number: int) -> object:
        if type_number == STRING_TYPE:
            return self._text()
        if type_number == ARRAY_TYPE:
            return self._array()
        return self._numbers(type_number, 1)[0]

    def _text(self) -> str:
        return self._kept_text(self._window.string(_MAX_STRING_BYTES))

    def _kept_text(self, raw: bytes) -> str:
        self._spend(len(raw) + _OBJECT_BYTES)
        return raw.decode("utf-8", "replace")

    def _array(self) -> tuple[object, ...] | ArrayInfo:
        type_number, count = self._window.number(_U32), self._window.number(_U64)
        if type_number == STRING_TYPE:
            return self._strings(count)
        if type_number == ARRAY_TYPE:
            raise BadGGUF(f"{self._window.place} is an array of arrays, which no engine accepts")
        short = count <= _SHORT_NUMBERS
        if short or (self._arrays and count * _OBJECT_BYTES <= self._budget):
            return self._numbers(type_number, count)
        scalar = self._scalar(type_number, count)
        self._window.skip(count * scalar.size)
        return ArrayInfo(SCALAR_TYPES[type_number].name, count)

    def _strings(self, count: int) -> tuple[object, ...] | ArrayInfo:
        if count * 8 > self._window.remaining:
            raise BadGGUF(f"{self._window.place} claims {count} strings, more than the file has room for")
        self._strings_left -= count
        if self._strings_left < 0:
            raise BadGGUF(f"{self._window.place} has {count} strings, which is not believable")
        if count <= _SHORT_STRINGS or (self._arrays and count * _OBJECT_BYTES <= self._budget):
            return tuple(map(self._kept_text, self._window.strings(count, _MAX_STRING_BYTES)))
        self._window.skip_strings(count)
        return ArrayInfo("string", count)

    def _numbers(self, type_number: int, count: int) -> tuple[object, ...]:
        scalar = self._scalar(type_number, count)
        self._spend(count * _OBJECT_BYTES)
        raw = self._window.read(count * scalar.size)
        if type_number == BOOL_TYPE:
            return tuple(byte != 0 for byte in raw)
        return struct.unpack(f"<{count}{SCALAR_TYPES[type_number].code}", raw)

    def _scalar(self, type_number: int, count: int) -> struct.Struct:
        if type_number not in SCALAR_TYPES:
            raise BadGGUF(f"{self._window.place} has the unknown value type {type_number}")
        scalar = struct.Struct("<" + SCALAR_TYPES[type_number].code)
        if count * scalar.size > self._window.remaining:
            raise BadGGUF(f"{self._window.place} claims {count} values, more than the file has room for")
        return scalar

    def _spend(self, count: int) -> None:
        self._budget -= count
        if self._budget < 0:
            raise BadGGUF(f"the header holds more than is believable, up to {self._window.place}")
