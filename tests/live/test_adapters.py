"""ADAPTER lines: a LoRA file is linked, applied when the model runs, and refused where it does not fit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGMLQuantizationType, GGUFReader

from demo.writing import Bytes, Tensor, f32, text, write_gguf
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

RANK = 4
WEIGHTS = "blk.{}.ffn_down.weight"


def adapter(path: Path, base: Path, strength: float, architecture: str = "llama") -> Path:
    """Changes one weight of every third layer, by random numbers of this size."""
    random = np.random.default_rng(7)
    shapes = {tensor.name: [int(size) for size in tensor.shape] for tensor in GGUFReader(base).tensors}
    tensors = []
    for layer in range(0, 30, 3):
        name = WEIGHTS.format(layer)
        row, rows = shapes[name]
        first = random.standard_normal((RANK, row)).astype(np.float32)
        second = (random.standard_normal((rows, RANK)) * strength).astype(np.float32)
        tensors.append(Tensor(f"{name}.lora_a", (row, RANK), GGMLQuantizationType.F32, bytes_of(first)))
        tensors.append(Tensor(f"{name}.lora_b", (RANK, rows), GGMLQuantizationType.F32, bytes_of(second)))
    metadata = {
        "general.architecture": text(architecture),
        "general.type": text("adapter"),
        "adapter.type": text("lora"),
        "adapter.lora.alpha": f32(RANK),
    }
    write_gguf(path, metadata, tensors)
    return path


def bytes_of(array: npt.NDArray[Any]) -> Callable[[], Bytes]:
    return lambda: np.ascontiguousarray(array).view(np.uint8)


def answer(server: ShimServer, model: str) -> str:
    options = {"temperature": 0, "num_predict": 12}
    body = {"model": model, "prompt": "The sky is", "raw": True, "stream": False, "options": options}
    status, said = server.call("POST", "/api/generate", body)
    assert status == 200, said
    return str(said["response"])


def test_an_adapter_changes_what_the_model_says(server: ShimServer, dense_gguf: Path, tmp_path: Path) -> None:
    still = adapter(tmp_path / "still.gguf", dense_gguf, 0.0)
    loud = adapter(tmp_path / "loud.gguf", dense_gguf, 1.0)
    server.create("still", dense_gguf, f"ADAPTER {still}")
    server.create("loud", dense_gguf, f"ADAPTER {loud}")
    plain = answer(server, "dense")
    assert answer(server, "still") == plain
    assert answer(server, "loud") != plain
    assert answer(server, "dense") == plain
    assert "\nADAPTER /" in server.call("POST", "/api/show", {"model": "loud"})[1]["modelfile"]


def test_an_adapter_of_another_architecture_is_refused(
    server: ShimServer, dense_gguf: Path, tmp_path: Path
) -> None:
    foreign = adapter(tmp_path / "foreign.gguf", dense_gguf, 1.0, "qwen3")
    (tmp_path / "Modelfile").write_text(f"FROM {dense_gguf}\nADAPTER {foreign}\n")
    refused = server.cli("create", "bad", "-f", str(tmp_path / "Modelfile"), check=False)
    assert refused.returncode == 1
    assert "architecture 'qwen3', but the model is 'llama'" in refused.stderr
