"""The list of tensors in a GGUF header: each read, measured, and held against the size of the file.

Works on a `Window` that stands behind the last key. Raises BadGGUF.
"""

import struct

from modelfiles.errors import BadGGUF
from modelfiles.gguf.header import TensorInfo
from modelfiles.gguf.types import REMOVED_TENSOR_TYPES, TENSOR_TYPES, TensorType
from modelfiles.gguf.window import Window

MAX_DIMENSIONS = 4

# ggml keeps names in 64 bytes, the last one a zero
_MAX_NAME_BYTES = 63
_MAX_TENSORS = 131_072
_MAX_ELEMENTS = (1 << 63) - 1
_SMALLEST_TENSOR_BYTES = 8 + 4 + 4 + 8

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


def read_tensors(window: Window, count: int, alignment: int) -> tuple[tuple[TensorInfo, ...], int]:
    """Read `count` entries; return them and the offset at which the data section starts."""
    if count > _MAX_TENSORS or count * _SMALLEST_TENSOR_BYTES > window.remaining:
        raise BadGGUF(f"the header claims {count} tensors, more than a file of {window.size} bytes may have")
    tensors: dict[str, TensorInfo] = {}
    for index in range(count):
        window.place = f"tensor {index + 1} of {count}"
        tensor = _read_tensor(window)
        if tensor.name in tensors:
            raise BadGGUF(f"tensor {tensor.name!r} is there twice")
        tensors[tensor.name] = tensor
    data_offset = padded(window.position, alignment)
    ordered = tuple(tensors.values())
    _check_ranges(ordered, alignment, data_offset, window.size)
    return ordered, data_offset


def padded(count: int, alignment: int) -> int:
    """`count` rounded up to a multiple of `alignment`."""
    return -(-count // alignment) * alignment


def _read_tensor(window: Window) -> TensorInfo:
    name = window.string(_MAX_NAME_BYTES).decode("utf-8", "replace")
    if not name:
        raise BadGGUF(f"{window.place} has an empty name")
    window.place = f"tensor {name!r}"
    dimensions = window.number(_U32)
    if dimensions > MAX_DIMENSIONS:
        raise BadGGUF(f"{window.place} has {dimensions} dimensions; at most {MAX_DIMENSIONS} exist")
    shape = tuple(window.number(_U64) for _ in range(dimensions))
    kind = _tensor_type(window.number(_U32), window.place)
    return TensorInfo(name, kind.name, shape, window.number(_U64), _measure(shape, kind, window.place))


def _tensor_type(number: int, place: str) -> TensorType:
    if number in TENSOR_TYPES:
        return TENSOR_TYPES[number]
    if number in REMOVED_TENSOR_TYPES:
        raise BadGGUF(f"{place} has type {REMOVED_TENSOR_TYPES[number]}, which engines no longer read")
    raise BadGGUF(f"{place} has the unknown type {number}")


def _measure(shape: tuple[int, ...], kind: TensorType, place: str) -> int:
    """Bytes that a tensor of this shape takes."""
    elements = 1
    for dimension in shape:
        elements *= dimension
        if dimension > _MAX_ELEMENTS or elements > _MAX_ELEMENTS:
            raise BadGGUF(f"{place} has a shape too large to be true: {shape}")
    row = shape[0] if shape else 1
    if row % kind.block_size:
        raise BadGGUF(
            f"{place} of type {kind.name} has rows of {row} elements, no multiple of {kind.block_size}"
        )
    return elements // kind.block_size * kind.block_bytes


def _check_ranges(tensors: tuple[TensorInfo, ...], alignment: int, data_offset: int, size: int) -> None:
    """Each tensor lies inside the file, on the alignment, and on no other tensor."""
    free_from, previous = 0, ""
    for tensor in sorted(tensors, key=lambda tensor: (tensor.offset, tensor.nbytes)):
        end = data_offset + tensor.offset + tensor.nbytes
        if end > size:
            raise BadGGUF(
                f"tensor {tensor.name!r} reaches to byte {end}, but the file is truncated or damaged: "
                f"it ends at byte {size}"
            )
        if tensor.offset % alignment:
            raise BadGGUF(f"tensor {tensor.name!r} starts at {tensor.offset}, not aligned to {alignment}")
        if tensor.offset < free_from:
            raise BadGGUF(f"tensors {previous!r} and {tensor.name!r} overlap")
        free_from, previous = tensor.offset + tensor.nbytes, tensor.name
