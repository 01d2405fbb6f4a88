"""Models split over several files: the order of the parts, and how one file is made of them.

The parts are named `<anything>-00001-of-00003.gguf`, and each says its place in `split.no` and
`split.count`. The joined file has the metadata of the first part and the tensors of all. Plans only: what
to write and which bytes to copy from where; another module does it.
"""

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modelfiles.errors import BadGGUF
from modelfiles.gguf.check import split_count
from modelfiles.gguf.header import GGUF, TensorInfo
from modelfiles.gguf.tensors import padded
from modelfiles.gguf.types import TENSOR_TYPES
from modelfiles.gguf.window import ReadAt

_PART_NAME = re.compile(r"(?P<stem>.*)-(?P<index>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.DOTALL)
_SPLIT_KEYS = ("split.no", "split.count", "split.tensors.count")
_TYPE_NUMBERS: Mapping[str, int] = {kind.name: number for number, kind in TENSOR_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes to copy: `nbytes` from `offset` of the part `part`, then `padding` zeros."""

    part: int
    offset: int
    nbytes: int
    padding: int


@dataclass(frozen=True, slots=True)
class Joined:
    """The file to make: its header, then the pieces in order. `size` is that of the whole file."""

    header: bytes
    pieces: tuple[Piece, ...]
    size: int


def part_stem(name: str) -> str:
    """What the parts of one model have in common. Raises BadGGUF for a name that is not one of a part."""
    return _part_name(name)["stem"]


def order_parts(parts: Mapping[str, GGUF]) -> list[str]:
    """The names of one model's parts in their order, after checking that all are there.

    `parts` maps file names, all with the same stem, to headers. Raises BadGGUF naming what is missing or
    wrong.
    """
    count = max(split_count(header) for header in parts.values())
    by_index: dict[int, str] = {}
    for name, header in parts.items():
        match = _part_name(name)
        index = int(match["index"])
        own_count, place = split_count(header), header.metadata.get("split.no")
        if int(match["count"]) != own_count or own_count != count:
            raise BadGGUF(f"{name} is a part of a model in {own_count} files, which its name denies")
        if place != index - 1:
            raise BadGGUF(f"{name} does not hold part {index}: its split.no is {place!r:.20}")
        by_index[index] = name
    missing = [index for index in range(1, count + 1) if index not in by_index]
    if missing:
        stem = part_stem(next(iter(parts)))
        names = ", ".join(f"{stem}-{index:05}-of-{count:05}.gguf" for index in missing[:5])
        raise BadGGUF(f"part {missing[0]} of {count} is missing; add {names}")
    return [by_index[index] for index in sorted(by_index)]


def join_parts(parts: Sequence[GGUF], read_first: ReadAt) -> Joined:
    """Plan the whole file. `parts` are in order; `read_first` reads the first one. Raises BadGGUF."""
    first = parts[0]
    entries = [(index, tensor) for index, part in enumerate(parts) for tensor in part.tensors]
    _check_entries(first, [tensor for _, tensor in entries])
    kept = [span for key, span in first.spans.items() if key not in _SPLIT_KEYS]
    header = bytearray(struct.pack("<4sIQQ", b"GGUF", 3, len(entries), len(kept)))
    for start, end in kept:
        header += read_first(start, end - start)
    pieces, offset = [], 0
    for index, tensor in entries:
        header += _tensor_entry(tensor, offset)
        padding = padded(tensor.nbytes, first.alignment) - tensor.nbytes
        pieces.append(Piece(index, parts[index].data_offset + tensor.offset, tensor.nbytes, padding))
        offset += tensor.nbytes + padding
    header += bytes(padded(len(header), first.alignment) - len(header))
    return Joined(bytes(header), tuple(pieces), len(header) + offset)


def _part_name(name: str) -> re.Match[str]:
    match = _PART_NAME.fullmatch(name)
    if match is None:
        raise BadGGUF(
            f"{name} is one part of a split model; its parts must be named NAME-00001-of-0000N.gguf, "
            "NAME-00002-of-0000N.gguf and so on"
        )
    return match


def _check_entries(first: GGUF, tensors: Sequence[TensorInfo]) -> None:
    names = {tensor.name for tensor in tensors}
    if len(names) < len(tensors):
        raise BadGGUF("the parts hold the same tensor more than once, so they are not of one model")
    promised = first.metadata.get("split.tensors.count", len(tensors))
    if promised != len(tensors):
        raise BadGGUF(f"the parts hold {len(tensors)} tensors, but split.tensors.count promises {promised}")


def _tensor_entry(tensor: TensorInfo, offset: int) -> bytes:
    name, dimensions = tensor.name.encode(), len(tensor.shape)
    place = (_TYPE_NUMBERS[tensor.type], offset)
    numbers = struct.pack(f"<I{dimensions}QIQ", dimensions, *tensor.shape, *place)
    return struct.pack("<Q", len(name)) + name + numbers
