"""Writes GGUF files tensor by tensor, so that memory holds one tensor at a time.

Knows the gguf library; knows nothing of what the tensors mean.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, ReaderTensor

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Value:
    """One metadata value with its GGUF type; `element` is the type of an array's items."""

    content: Any
    type: GGUFValueType
    element: GGUFValueType | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor to write: `shape` is innermost first, as in ggml; `make` returns its bytes when due."""

    name: str
    shape: tuple[int, ...]
    type: GGMLQuantizationType
    make: Callable[[], Bytes]


def u32(number: int) -> Value:
    return Value(number, GGUFValueType.UINT32)


def f32(number: float) -> Value:
    return Value(number, GGUFValueType.FLOAT32)


def text(content: str) -> Value:
    return Value(content, GGUFValueType.STRING)


def i32_array(numbers: list[int]) -> Value:
    return Value(numbers, GGUFValueType.ARRAY, GGUFValueType.INT32)


def read_metadata(reader: GGUFReader) -> dict[str, Value]:
    """All metadata of a file in its order, without the three counts in the file's head."""
    found: dict[str, Value] = {}
    for name, field in reader.fields.items():
        if not name.startswith("GGUF."):
            element = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            found[name] = Value(field.contents(), field.types[0], element)
    return found


def copied(tensor: ReaderTensor) -> Tensor:
    """A tensor of another file as it is."""
    shape = tuple(int(size) for size in tensor.shape)
    return Tensor(tensor.name, shape, tensor.tensor_type, lambda: as_bytes(tensor.data))


def as_bytes(array: npt.NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def write_gguf(path: Path, metadata: Mapping[str, Value], tensors: Iterable[Tensor]) -> None:
    """Writes a whole file; under its own name it is either complete or not there."""
    planned = list(tensors)
    partial = path.with_name(path.name + ".partial")
    writer = GGUFWriter(partial, str(metadata["general.architecture"].content))
    for name, value in metadata.items():
        if name != "general.architecture":  # the writer has put it first already
            writer.add_key_value(name, value.content, value.type, value.element)
    for tensor in planned:
        _announce(writer, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in planned:
        writer.write_tensor_data(tensor.make())
    writer.close()
    os.replace(partial, path)


def size_in_bytes(shape: tuple[int, ...], kind: GGMLQuantizationType) -> int:
    """Bytes of a tensor; its innermost dimension must be whole blocks of its type."""
    block, block_bytes = GGML_QUANT_SIZES[kind]
    if shape[0] % block:
        raise ValueError(f"{kind.name} has blocks of {block}; {shape[0]} is not a multiple of that")
    return int(np.prod(shape)) // block * block_bytes


def _announce(writer: GGUFWriter, tensor: Tensor) -> None:
    # The writer wants the outermost dimension first, and for a raw type the innermost one in bytes.
    row_bytes = size_in_bytes((tensor.shape[0],), tensor.type)
    shape = (*reversed(tensor.shape[1:]), row_bytes)
    total = size_in_bytes(tensor.shape, tensor.type)
    writer.add_tensor_info(tensor.name, shape, np.dtype(np.uint8), total, raw_dtype=tensor.type)
