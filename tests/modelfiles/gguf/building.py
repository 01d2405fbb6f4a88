"""Builds GGUF files for tests, independently of the reader: bytes in the order of the specification."""

import struct
from collections.abc import Iterable, Mapping

U8, U16, U32, I32, F32, BOOL, STRING, ARRAY, U64 = 0, 2, 4, 5, 6, 7, 8, 9, 10
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

Tensor = tuple[str, tuple[int, ...], int, int, int]  # name, shape, type number, offset, bytes

DENSE: Mapping[str, tuple[int, object]] = {
    "general.architecture": (STRING, "llama"),
    "general.name": (STRING, "a small model"),
    "llama.block_count": (U32, 1),
    "llama.context_length": (U32, 128),
    "llama.embedding_length": (U32, 32),
    "llama.attention.head_count": (U32, 4),
    "llama.attention.head_count_kv": (U32, 2),
    "general.file_type": (U32, 15),
}
MIXTURE = {**DENSE, "llama.expert_count": (U32, 8), "llama.expert_used_count": (U32, 2)}


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def value(kind: int, content: object) -> bytes:
    """One value without its type; an array is a pair of element type and elements."""
    if kind == STRING:
        assert isinstance(content, str | bytes)
        return string(content)
    if kind == ARRAY:
        assert isinstance(content, tuple)
        inner, elements = content
        return struct.pack("<IQ", inner, len(elements)) + b"".join(value(inner, item) for item in elements)
    return struct.pack("<" + _CODES[kind], content)


def key(name: str | bytes, kind: int, content: object) -> bytes:
    return string(name) + struct.pack("<I", kind) + value(kind, content)


def tensor_entry(tensor: Tensor) -> bytes:
    name, shape, kind, offset, _ = tensor
    return string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def weights(count: int = 2, nbytes: int = 128) -> list[Tensor]:
    """`count` F32 tensors one behind the other."""
    return [(f"blk.{index}.weight", (nbytes // 4,), 0, index * nbytes, nbytes) for index in range(count)]


def gguf(
    metadata: Mapping[str, tuple[int, object]] | Iterable[bytes] = DENSE,
    tensors: Iterable[Tensor] | None = None,
    *,
    version: int = 3,
    key_count: int | None = None,
    tensor_count: int | None = None,
    alignment: int = 32,
    data: bytes | None = None,
) -> bytes:
    """A whole file. The counts may be given wrongly on purpose."""
    keys = [key(k, *v) for k, v in metadata.items()] if isinstance(metadata, Mapping) else list(metadata)
    entries = weights() if tensors is None else list(tensors)
    header = struct.pack(
        "<4sIQQ",
        b"GGUF",
        version,
        len(entries) if tensor_count is None else tensor_count,
        len(keys) if key_count is None else key_count,
    )
    header += b"".join(keys) + b"".join(map(tensor_entry, entries))
    header += bytes(-len(header) % alignment)
    end = max((offset + nbytes for *_, offset, nbytes in entries), default=0)
    return header + (bytes(index % 251 for index in range(end)) if data is None else data)
