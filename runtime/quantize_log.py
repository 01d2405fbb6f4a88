"""What llama.cpp's quantiser says while it works, as numbers. Pure: lines in, values out.

A line for each tensor: its place, its name, its shape and type, then its size, and where it changed
`size = 10.50 MiB -> 2.95 MiB`. In the end the sums of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TENSOR = re.compile(r"\[ *\d+/ *\d+\] .*?, type = *\S+, .*?size = +(?P<size>[0-9.]+) MiB")
_RESULT = re.compile(r"quant size += +(?P<size>[0-9.]+) MiB")
_FAILURE = re.compile(r"failed to quantize: (?P<reason>.+)")
_MIB = 1 << 20


def tensor_bytes(line: str) -> int:
    """Bytes of the source that are done with this line; 0 for a line that tells of no tensor."""
    found = _TENSOR.search(line)
    return int(float(found["size"]) * _MIB) if found else 0


def result_bytes(lines: Iterable[str]) -> int | None:
    """Bytes that all tensors take in the new file, from the log of a dry run; None if it does not say."""
    found = [match for line in lines if (match := _RESULT.search(line))]
    return int(float(found[-1]["size"]) * _MIB) if found else None


def failure(lines: Iterable[str]) -> str:
    """Why it failed, in llama.cpp's words, or empty."""
    found = [match for line in lines if (match := _FAILURE.search(line))]
    return found[-1]["reason"].strip() if found else ""
