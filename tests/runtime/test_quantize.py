"""Quantizing with the real engine, in its own process: what comes out, what is refused, how it ends."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, dequantize
from msgspec.json import encode

from runtime.errors import QuantizeFailed
from runtime.quantize import COMMAND, quantize
from runtime.quantize_order import ABANDONED, Order

pytestmark = pytest.mark.slow

Q8_0, Q4_K_M, IQ2_XXS = 7, 15, 19  # general.file_type
EXPERTS, TYPE_Q4_K = r"\.ffn_(up|down|gate)_exps", 12


def make(source: Path, folder: Path, file_type: int, **more: object) -> Path:
    target = folder / "new.gguf"
    target.touch()
    quantize(Order(str(source), str(target), file_type, **more), lambda done: None)  # type: ignore[arg-type]
    return target


def types(path: Path) -> dict[str, str]:
    return {tensor.name: tensor.tensor_type.name for tensor in GGUFReader(path).tensors}


def test_weights_are_what_they_were_nearly(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    target = tmp_path / "new.gguf"
    target.touch()
    quantize(Order(str(tiny_qwen3moe_gguf), str(target), Q8_0), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] > 0.99 * sum(int(tensor.n_bytes) for tensor in GGUFReader(tiny_qwen3moe_gguf).tensors)
    old = {tensor.name: tensor for tensor in GGUFReader(tiny_qwen3moe_gguf).tensors}
    for tensor in GGUFReader(target).tensors:
        if tensor.tensor_type == GGMLQuantizationType.Q8_0:
            before = np.asarray(old[tensor.name].data, np.float32)
            after = dequantize(tensor.data, tensor.tensor_type)
            assert np.abs(after - before).max() <= np.abs(before).max() / 127


def test_experts_get_a_type_of_their_own(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    found = types(make(tiny_qwen3moe_gguf, tmp_path, Q8_0, types=((EXPERTS, TYPE_Q4_K),)))
    assert found["blk.0.ffn_up_exps.weight"] == "Q4_K"
    assert found["blk.0.ffn_down_exps.weight"] == "Q5_0"  # rows of 128 are no blocks of 256
    assert found["blk.0.attn_q.weight"] == "Q8_0"


def test_what_is_quantized_needs_leave(dense_gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(QuantizeFailed, match="requantizing from type q4_1 is disabled"):
        make(dense_gguf, tmp_path, Q8_0)
    assert set(types(make(dense_gguf, tmp_path, Q8_0, allow_requantize=True)).values()) == {"F32", "Q8_0"}


def test_a_matrix_of_importance_is_needed_and_enough(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(QuantizeFailed, match="requires an imatrix"):
        make(tiny_qwen3moe_gguf, tmp_path, IQ2_XXS)
    matrix = tmp_path / "imatrix.gguf"
    write_importance(tiny_qwen3moe_gguf, matrix)
    found = types(make(tiny_qwen3moe_gguf, tmp_path, IQ2_XXS, importance=str(matrix)))
    assert found["blk.1.ffn_up_exps.weight"] == "IQ2_XXS"


def write_importance(model: Path, path: Path) -> None:
    """Every input of every weight counts the same, but one expert saw nothing."""
    writer = GGUFWriter(path, "")
    writer.add_type("imatrix")
    for tensor in GGUFReader(model).tensors:
        row, *others = (int(size) for size in tensor.shape)
        if len(others) and tensor.name.endswith(".weight"):
            experts = others[1] if len(others) > 1 else 1
            counts = np.full((experts, 1), 4.0, np.float32)
            counts[-1] = 0.0 if experts > 1 else 4.0
            writer.add_tensor(f"{tensor.name}.in_sum2", np.ones((experts, row), np.float32))
            writer.add_tensor(f"{tensor.name}.counts", counts)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_matrix_that_is_none(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    for name, data in (("a", b"hello"), ("b", struct.pack("<4sIQQ", b"GGUF", 3, 0, 0))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(QuantizeFailed, match="the importance matrix cannot be read"):
            make(tiny_qwen3moe_gguf, tmp_path, IQ2_XXS, importance=str(tmp_path / name))


def test_a_full_disk_is_noticed_before_anything_is_written(
    tiny_qwen3moe_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1 << 20}))
    with pytest.raises(QuantizeFailed, match="no space left on device: the quantized file needs"):
        make(tiny_qwen3moe_gguf, tmp_path, Q8_0)
    assert (tmp_path / "new.gguf").stat().st_size == 0


def test_a_process_that_dies_is_explained(tmp_path: Path) -> None:
    order = Order(str(tmp_path), str(tmp_path), Q8_0)
    dies = (sys.executable, "-c", "import os; os.abort()")
    with pytest.raises(QuantizeFailed, match="signal SIGABRT"):
        quantize(order, lambda done: None, command=dies)
    with pytest.raises(QuantizeFailed, match="cannot be started"):
        quantize(order, lambda done: None, command=("/nowhere",))


def test_who_gives_up_leaves_no_process(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.gguf"
    target.touch()
    others = set(psutil.Process().children())  # servers that other tests share
    ours: list[psutil.Process] = []

    def give_up(done: int) -> None:
        if done:
            ours.extend(set(psutil.Process().children()) - others)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantize(Order(str(tiny_qwen3moe_gguf), str(target), Q4_K_M), give_up)
    assert ours
    assert not any(process.is_running() for process in ours)


def test_the_process_ends_with_its_stdin(tiny_qwen3moe_gguf: Path, tmp_path: Path) -> None:
    """A pipe that is never written keeps the engine waiting to open it, as a slow disk would."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    order = encode(Order(str(pipe), str(tmp_path / "new.gguf"), Q8_0)).decode()
    with subprocess.Popen([*COMMAND, order], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == ABANDONED
