"""Cutting quantised matrices into experts keeps every number: the parts are parts of the whole."""

import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize

from demo.experts import copy_experts, scale, split_columns, split_rows
from demo.writing import Bytes

KINDS = [
    GGMLQuantizationType.F32,
    GGMLQuantizationType.F16,
    GGMLQuantizationType.Q4_0,
    GGMLQuantizationType.Q4_1,
    GGMLQuantizationType.Q5_0,
    GGMLQuantizationType.Q5_1,
    GGMLQuantizationType.Q8_0,
]
# type -> bytes of a block
K_QUANTS = {GGMLQuantizationType.Q4_K: 144, GGMLQuantizationType.Q5_K: 176, GGMLQuantizationType.Q6_K: 210}


def matrix(kind: GGMLQuantizationType, rows: int = 8, columns: int = 128) -> Bytes:
    numbers = np.random.default_rng(7).standard_normal((rows, columns), np.float32)
    return quantize(numbers, kind).view(np.uint8)


def values(data: Bytes, kind: GGMLQuantizationType, rows: int) -> npt.NDArray[np.float32]:
    stored = data.reshape(rows, -1)
    if kind == GGMLQuantizationType.F32:
        return stored.view(np.float32)
    return dequantize(stored.view(np.float16) if kind == GGMLQuantizationType.F16 else stored, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_repeat_the_matrix(kind: GGMLQuantizationType) -> None:
    whole = matrix(kind)
    copies = copy_experts(whole, 3).reshape(3, *whole.shape)
    assert all((copy == whole).all() for copy in copies)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_dealt_out_in_runs(kind: GGMLQuantizationType) -> None:
    whole = matrix(kind)
    experts = split_rows(whole, 4).reshape(4, 2, -1)
    for number, expert in enumerate(experts):
        assert (expert == whole[number * 2 : number * 2 + 2]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_dealt_out_and_scaled_exactly(kind: GGMLQuantizationType) -> None:
    whole = matrix(kind)
    experts = split_columns(whole, kind, 4).reshape(4, -1)
    expected = values(whole, kind, 8)
    for number, expert in enumerate(experts):
        part = expected[:, number * 32 : number * 32 + 32]
        assert (values(expert, kind, 8) == part * 4).all()


@pytest.mark.parametrize("kind", K_QUANTS)
def test_k_quants_scale_exactly(kind: GGMLQuantizationType) -> None:
    random = np.random.default_rng(3).bytes(4 * K_QUANTS[kind])
    blocks = np.frombuffer(random, np.uint8).reshape(4, -1).copy()
    one = np.array([0.01, 0.02], np.float16).view(np.uint8)
    if kind == GGMLQuantizationType.Q6_K:
        blocks[:, 208:210] = one[:2]
    else:
        blocks[:, 0:4] = one
    assert (dequantize(scale(blocks, kind, 8), kind) == dequantize(blocks, kind) * 8).all()


def test_scaling_that_would_round_is_refused() -> None:
    with pytest.raises(ValueError, match="power of two"):
        scale(matrix(GGMLQuantizationType.Q8_0), GGMLQuantizationType.Q8_0, 6)


def test_scaling_past_half_precision_is_refused() -> None:
    large = quantize(np.full((1, 32), 4e6, np.float32), GGMLQuantizationType.Q8_0)
    with pytest.raises(ValueError, match="too large"):
        scale(large, GGMLQuantizationType.Q8_0, 8)


def test_uneven_cuts_are_refused() -> None:
    whole = matrix(GGMLQuantizationType.Q4_1)
    with pytest.raises(ValueError, match="cannot be dealt out"):
        split_rows(whole, 3)
    with pytest.raises(ValueError, match="cannot be dealt out"):
        split_columns(whole, GGMLQuantizationType.Q4_1, 8)
