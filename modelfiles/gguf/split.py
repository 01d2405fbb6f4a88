"""Models split over several files: the order of the parts, and what they are together.

The parts are named `<anything>-00001-of-00003.gguf`, and each says its place in `split.no` and
`split.count`. The whole has the metadata of the first part and the tensors of all. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from modelfiles.errors import BadGGUF
from modelfiles.gguf.check import split_count
from modelfiles.gguf.header import GGUF, TensorInfo
from modelfiles.gguf.tensors import padded

_PART_NAME = re.compile(r"(?P<stem>.*)-(?P<index>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.DOTALL)
_SPLIT_KEYS = ("split.no", "split.count", "split.tensors.count")


def part_stem(name: str) -> str:
    """What the parts of one model have in common. Raises BadGGUF for a name that is not one of a part."""
    return _part_name(name)["stem"]


def part_count(name: str) -> int:
    """How many parts there are, by the name of one. Raises BadGGUF for a name that is not one of a part."""
    return int(_part_name(name)["count"])


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
        names = ", ".join(part_name(stem, index, count) for index in missing[:5])
        raise BadGGUF(f"part {missing[0]} of {count} is missing; add {names}")
    return [by_index[index] for index in sorted(by_index)]


def part_name(stem: str, index: int, count: int) -> str:
    """The name of part `index`, counted from 1."""
    return f"{stem}-{index:05}-of-{count:05}.gguf"


def is_part_name(name: str) -> bool:
    """Whether a file of this name is a part, by its name."""
    return _PART_NAME.fullmatch(name) is not None


def whole_header(parts: Sequence[GGUF]) -> GGUF:
    """The header that one file with the tensors of all parts would have. `parts` are in order. BadGGUF."""
    first = parts[0]
    tensors, offset = [], 0
    for tensor in (tensor for part in parts for tensor in part.tensors):
        tensors.append(replace(tensor, offset=offset))
        offset += padded(tensor.nbytes, first.alignment)
    _check_entries(first, tensors)
    metadata = {key: value for key, value in first.metadata.items() if key not in _SPLIT_KEYS}
    size = sum(part.size for part in parts)
    return GGUF(first.version, metadata, tuple(tensors), first.alignment, first.data_offset, size, {})


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
