"""Embeddings over HTTP with the engine without weights: words, limits and the shapes of answers."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path

import pytest

from runtime.events import EngineInfo
from runtime.fake_embedding import WIDTH
from shim.embedding import cut
from shim.errors import ApiError
from shim.rerank import pair_tokens
from tests.modelfiles.gguf.building import U32, gguf
from tests.shim.serving import CHATTING, serving

ONE = {"model": "m", "input": "a"}


async def test_one_text_many_texts_and_none(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await served.create("m")
        status, answer = await served.call("POST", "/api/embed", {**ONE, "input": ["a", "", "a"]})
        assert status == 200, answer
        assert list(answer) == ["model", "embeddings", "total_duration", "load_duration", "prompt_eval_count"]
        first, empty, again = answer["embeddings"]
        assert first == again != empty
        assert len(first) == WIDTH
        assert math.hypot(*first) == pytest.approx(1, abs=1e-5)
        _, single = await served.call("POST", "/api/embed", ONE)
        assert single["embeddings"] == [first]
        nothings: tuple[object, ...] = ("", [], None)
        for nothing in nothings:
            status, answer = await served.call("POST", "/api/embed", {**ONE, "input": nothing})
            assert (status, answer) == (200, {"model": "m", "embeddings": []})
        _, running = await served.call("GET", "/api/ps")
        assert len(running["models"]) == 1


async def test_the_older_endpoint(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await served.create("m")
        _, new = await served.call("POST", "/api/embed", ONE)
        status, old = await served.call("POST", "/api/embeddings", {"model": "m", "prompt": "a"})
        length = math.hypot(*old["embedding"])
        assert status == 200
        assert length > 1.1
        unit = [number / length for number in old["embedding"]]
        assert unit == pytest.approx(new["embeddings"][0], abs=1e-6)
        assert await served.call("POST", "/api/embeddings", {"model": "m"}) == (200, {"embedding": []})


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("embed", {"input": "a"}, 404, "model '' not found"),
        ("embeddings", {"prompt": "a"}, 400, "model is required"),
        ("embed", {"model": "gone", "input": "a"}, 404, 'model "gone" not found, try pulling it first'),
        ("embeddings", {"model": "gone", "prompt": "a"}, 404, 'model "gone" not found, try pulling it first'),
        ("embed", {"model": "a:b:c/d", "input": "a"}, 400, "invalid model name"),
        ("embed", {**ONE, "input": 3}, 400, "invalid input type"),
        ("embed", {**ONE, "input": ["a", 3]}, 400, "invalid input type"),
        ("embed", {**ONE, "input": [["a"]]}, 400, "invalid input type"),
        ("embed", {**ONE, "options": {"num_ctx": "x"}}, 500, 'option "num_ctx" must be of type integer'),
    ],
)
async def test_refusals(tmp_path: Path, path: str, body: object, status: int, text: str) -> None:
    async with serving(tmp_path) as served:
        await served.create("m")
        assert await served.call("POST", f"/api/{path}", body) == (status, {"error": text})


async def test_nulls_and_unknown_options_are_not_given(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await served.create("m")
        options = {"num_ctx": None, "mirostat": None, "use_mmap": True, "temperature": None}
        body = {**ONE, "truncate": None, "dimensions": None, "keep_alive": None, "options": options}
        status, answer = await served.call("POST", "/api/embed", body)
        assert status == 200, answer


async def test_a_worker_that_dies_ends_the_request_and_not_the_server(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await served.create("m")
        await served.call("POST", "/api/embed", ONE)
        (model,) = served.services.supervisor.loaded()
        assert model.pid
        os.kill(model.pid, signal.SIGKILL)
        for _ in range(2):
            status, answer = await served.call("POST", "/api/embed", ONE)
        assert status == 200, answer


async def test_reranking_in_the_shape_of_openai(tmp_path: Path) -> None:
    embedding = gguf({**CHATTING, "llama.pooling_type": (U32, 1)})
    async with serving(tmp_path) as served:
        await served.create("e", embedding)
        await served.create("m")
        body = {"model": "e", "query": "aaa", "documents": ["zzz", "aaa", "aaz"], "top_n": 2}
        status, answer = await served.call("POST", "/v1/rerank", body)
        assert status == 200, answer
        assert [result["index"] for result in answer["results"]] == [1, 2]
        assert answer["model"] == "e"
        for wrong, expected, words in (
            ({**body, "model": "gone"}, 404, "not found"),
            ({**body, "model": "m"}, 400, "reranker"),
            ({**body, "model": ""}, 400, "model is required"),
            ({**body, "query": ""}, 400, "query"),
            ({**body, "documents": []}, 400, "documents"),
            ({**body, "documents": [1]}, 400, "document"),
            ({**body, "documents": "a"}, 400, "documents"),
            ({**body, "top_n": -1}, 400, "top_n"),
        ):
            status, answer = await served.call("POST", "/rerank", wrong)
            assert status == expected, (wrong, answer)
            assert words in answer["error"]["message"]


def test_cutting_keeps_what_the_vocabulary_puts_around() -> None:
    assert cut([1, 7, 8, 9, 2], [7, 8, 9], 4) == [1, 7, 8, 2]
    assert cut([7, 8, 9], [7, 8, 9], 2) == [7, 8]
    with pytest.raises(ApiError, match="input after truncation"):
        cut([1, 7, 8, 2], [7, 8], 2)


def info(**fields: object) -> EngineInfo:
    known: dict[str, object] = {
        "num_ctx": 32, "num_parallel": 1, "n_ctx_train": 32, "n_vocab": 100, "n_layer": 1, "is_hybrid": False,
        "is_recurrent": False, "can_shift": True, "bos": 1, "eos": 2, "add_bos": True, "model_bytes": 1,
        "device_bytes": 0, "host_bytes": 1, "extra_buffers": False, "llama_version": "", "load_seconds": 0.0,
    }  # fmt: skip
    return EngineInfo(**(known | fields))  # type: ignore[arg-type]


def test_pairs_for_a_reranker() -> None:
    bert = info(add_eos=True, add_sep=False, sep=2)
    assert pair_tokens(bert, [10], [20, 21], 32) == [1, 10, 2, 20, 21, 2]
    roberta = info(add_eos=True, add_sep=True, sep=3)
    assert pair_tokens(roberta, [10], [20, 21], 32) == [1, 10, 2, 3, 20, 21, 2]
    assert pair_tokens(bert, [10], [20, 21, 22, 23], 6) == [1, 10, 2, 20, 21, 2]
    with pytest.raises(ApiError, match="no room"):
        pair_tokens(bert, [10] * 20, [20], 20)
