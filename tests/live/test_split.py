"""A model in several files: linked part by part, run, and quantised."""

import re
from pathlib import Path

import pytest
from gguf import GGUFReader, GGUFValueType

from demo.writing import Value, copied, read_metadata, text, write_gguf
from modelfiles.names import parse_name
from modelfiles.store import Store
from tests import models
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

QUESTION = "What is the capital of France?"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """`dense_f16` in three files, as llama-gguf-split writes them."""
    folder = tmp_path_factory.mktemp("parts")
    reader = GGUFReader(models.dense_f16())
    tensors = [copied(tensor) for tensor in reader.tensors]
    metadata = read_metadata(reader)
    names = [folder / f"smol-{index:05}-of-00003.gguf" for index in (1, 2, 3)]
    for index, path in enumerate(names):
        keys = {
            "split.no": Value(index, GGUFValueType.UINT16),
            "split.count": Value(3, GGUFValueType.UINT16),
            "split.tensors.count": Value(len(tensors), GGUFValueType.INT32),
        }
        first = metadata if index == 0 else {"general.architecture": text("llama")}
        write_gguf(path, {**first, **keys}, tensors[index * 100 : None if index == 2 else (index + 1) * 100])
    return names


def answer(server: ShimServer, model: str) -> str:
    options = {"temperature": 0, "num_predict": 40}
    status, body = server.call(
        "POST", "/api/generate", {"model": model, "prompt": QUESTION, "stream": False, "options": options}
    )
    assert status == 200, body
    return str(body["response"])


def test_parts_run_as_one_model(server: ShimServer, parts: list[Path]) -> None:
    server.create("parts", parts[0])
    server.create("whole", models.dense_f16())
    package = Store(server.store).load(parse_name("parts"))
    for path, blob in zip(parts, package.model_paths, strict=True):
        assert blob.stat().st_size == path.stat().st_size
        assert blob.samefile(path) or blob.stat().st_nlink == 1  # cloned, where the file system can
    assert answer(server, "parts") == answer(server, "whole")
    told = [server.call("POST", "/api/show", {"model": name})[1] for name in ("parts", "whole")]
    for key in ("details", "model_info", "tensors", "capabilities", "template"):
        assert told[0][key] == told[1][key]


def test_what_show_prints_makes_the_model_again(
    server: ShimServer, parts: list[Path], tmp_path: Path
) -> None:
    server.create("parts", parts[2])
    printed = server.cli("show", "parts", "--modelfile").stdout
    assert len(re.findall("^FROM ", printed, re.MULTILINE)) == 3
    (tmp_path / "Modelfile").write_text(printed)
    server.cli("create", "again", "-f", str(tmp_path / "Modelfile"))
    store = Store(server.store)
    assert store.load(parse_name("again")).model_digests == store.load(parse_name("parts")).model_digests


def test_parts_are_quantised_into_the_file_that_the_whole_gives(
    server: ShimServer, parts: list[Path]
) -> None:
    server.create("parts", parts[0])
    server.create("whole", models.dense_f16())
    for base in ("parts", "whole"):
        request = {"model": f"{base}-q8", "from": base, "quantize": "Q8_0", "stream": False}
        assert server.call("POST", "/api/create", request) == (200, {"status": "success"})
    store = Store(server.store)
    [digest] = store.load(parse_name("parts-q8")).model_digests
    assert digest == store.load(parse_name("whole-q8")).model_digest
    assert answer(server, "parts-q8") == answer(server, "whole-q8")
