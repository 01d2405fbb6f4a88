"""Cuts the matrices of a dense feed-forward network into experts, on the quantised blocks as they are.

A matrix is an array of shape [rows, bytes of a row]; each row is a chain of blocks of its type. Rows can be
cut anywhere. Columns can be cut between blocks only. Multiplying by a power of two touches nothing but the
exponents of the blocks' half-precision scales, so it is exact. Block layouts: ggml-common.h of llama.cpp.
"""

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from demo.writing import Bytes

F16_SCALES: dict[GGMLQuantizationType, tuple[int, ...]] = {
    # type -> where in a block its half-precision factors stand; they multiply all that the block holds
    GGMLQuantizationType.F16: (0,),
    GGMLQuantizationType.Q4_0: (0,),
    GGMLQuantizationType.Q4_1: (0, 2),
    GGMLQuantizationType.Q5_0: (0,),
    GGMLQuantizationType.Q5_1: (0, 2),
    GGMLQuantizationType.Q8_0: (0,),
    GGMLQuantizationType.Q4_K: (0, 2),
    GGMLQuantizationType.Q5_K: (0, 2),
    GGMLQuantizationType.Q6_K: (208,),
}


def copy_experts(matrix: Bytes, experts: int) -> Bytes:
    """The whole matrix, once for each expert."""
    return np.concatenate([matrix.reshape(-1)] * experts)


def split_rows(matrix: Bytes, experts: int) -> Bytes:
    """The rows dealt out in runs: expert e gets rows e*n to (e+1)*n, the order they are in already."""
    if matrix.shape[0] % experts:
        raise ValueError(f"{matrix.shape[0]} rows cannot be dealt out to {experts} experts")
    return matrix.reshape(-1)


def split_columns(matrix: Bytes, kind: GGMLQuantizationType, experts: int) -> Bytes:
    """The columns dealt out in runs of whole blocks, every value multiplied by the number of experts."""
    block_bytes = GGML_QUANT_SIZES[kind][1]
    blocks = matrix.shape[1] // block_bytes
    if blocks % experts:
        raise ValueError(f"{blocks} blocks a row cannot be dealt out to {experts} experts")
    runs = np.split(scale(matrix, kind, experts), experts, axis=1)
    return np.concatenate([run.reshape(-1) for run in runs])


def scale(matrix: Bytes, kind: GGMLQuantizationType, factor: int) -> Bytes:
    """The matrix times a power of two, exactly; ValueError where that cannot be had."""
    if factor < 1 or factor & (factor - 1):
        raise ValueError(f"{factor} is not a power of two, so scaling by it would round")
    if kind == GGMLQuantizationType.F32:
        return (matrix.view(np.float32) * np.float32(factor)).view(np.uint8)
    if kind not in F16_SCALES:
        raise ValueError(f"cannot scale tensors of type {kind.name}")
    blocks = matrix.reshape(-1, GGML_QUANT_SIZES[kind][1]).copy()
    for offset in F16_SCALES[kind]:
        scales = blocks[:, offset : offset + 2].copy().view(np.float16)
        with np.errstate(over="ignore"):  # the next line looks for it
            scaled = scales * np.float16(factor)
        if not np.isfinite(scaled).all():
            raise ValueError(f"a scale of this {kind.name} tensor is too large to be multiplied by {factor}")
        blocks[:, offset : offset + 2] = scaled.view(np.uint8)
    return blocks.reshape(matrix.shape)
