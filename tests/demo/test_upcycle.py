"""The files that `demo` makes, looked at with the gguf library."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader, ReaderTensor

from demo.upcycle import Recipe, upcycle


@cache
def read(path: Path) -> GGUFReader:
    return GGUFReader(path)


def tensors(path: Path) -> dict[str, ReaderTensor]:
    return {tensor.name: tensor for tensor in read(path).tensors}


def number(path: Path, key: str) -> int:
    return int(read(path).fields[key].contents())


def test_copies_hold_the_dense_network_in_every_expert(dense_gguf: Path, moe_copies_gguf: Path) -> None:
    before, after = tensors(dense_gguf), tensors(moe_copies_gguf)
    for part in ("gate", "up", "down"):
        whole = before[f"blk.7.ffn_{part}.weight"]
        experts = after[f"blk.7.ffn_{part}_exps.weight"]
        assert list(experts.shape) == [*whole.shape, 4]
        assert experts.tensor_type == whole.tensor_type
        assert all((expert == whole.data).all() for expert in experts.data)


def test_copies_leave_everything_else_as_it_was(dense_gguf: Path, moe_copies_gguf: Path) -> None:
    before, after = tensors(dense_gguf), tensors(moe_copies_gguf)
    others = [name for name in before if ".ffn_" not in name or "norm" in name]
    assert len(others) == 272 - 90
    assert all((before[name].data == after[name].data).all() for name in others)
    assert number(moe_copies_gguf, "llama.expert_count") == 4
    assert number(moe_copies_gguf, "llama.expert_used_count") == 2
    old, new = read(dense_gguf).fields, read(moe_copies_gguf).fields
    for key in ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.chat_template"):
        assert new[key].contents() == old[key].contents()


def test_the_router_of_copies_is_random_and_of_split_is_zero(
    moe_copies_gguf: Path, moe_split_gguf: Path
) -> None:
    random = tensors(moe_copies_gguf)
    assert np.std(random["blk.0.ffn_gate_inp.weight"].data) > 1
    assert (random["blk.0.ffn_gate_inp.weight"].data != random["blk.1.ffn_gate_inp.weight"].data).any()
    assert not tensors(moe_split_gguf)["blk.0.ffn_gate_inp.weight"].data.any()


def test_split_makes_the_network_narrower(dense_gguf: Path, moe_split_gguf: Path) -> None:
    assert number(moe_split_gguf, "llama.feed_forward_length") == 1536 // 4
    assert list(tensors(moe_split_gguf)["blk.3.ffn_down_exps.weight"].shape) == [384, 576, 4]


def test_a_mixture_is_not_made_twice(moe_copies_gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mixture of experts already"):
        upcycle(moe_copies_gguf, tmp_path / "out.gguf", Recipe(4, 2, "copies"))
    assert list(tmp_path.iterdir()) == []


def test_other_architectures_are_refused(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only architecture llama"):
        upcycle(tiny_qwen3moe_gguf, tmp_path / "out.gguf", Recipe(4, 2, "copies"))


@pytest.mark.parametrize(("experts", "used"), [(4, 5), (4, 0), (2000, 2)])
def test_impossible_recipes_are_refused(experts: int, used: int) -> None:
    with pytest.raises(ValueError, match="--used"):
        Recipe(experts, used, "copies")


def test_hybrid_layers_alternate(tiny_qwen35moe_gguf: Path) -> None:
    found = tensors(tiny_qwen35moe_gguf)
    attention = [layer for layer in range(8) if f"blk.{layer}.attn_q.weight" in found]
    assert attention == [3, 7]
    assert "tokenizer.chat_template" not in read(tiny_qwen35moe_gguf).fields
