"""Embeddings and reranking on the real engine, through HTTP and with the official client."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.conftest import StartServer
from tests.encoders import CLS, MEAN, RANK, WIDTH, encoder
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

WORDS = ["the", "a", "cat", "dog", "market", "price", "fell", "rose", "blue", "sky", "river", "house", "sea"]
CUT_TOO_FAR = "input after truncation exceeds maximum context length"
CANNOT_CUT = "input exceeds maximum context length and cannot be truncated further"
Vector = npt.NDArray[np.float64]


def texts(count: int, longest: int) -> list[str]:
    """Different texts of 1 to `longest` words, always the same ones."""
    dice = random.Random(14)
    lengths = np.linspace(1, longest, count).astype(int)
    return [" ".join(dice.choice(WORDS) for _ in range(length)) for length in lengths]


def cosine(one: Vector, other: Vector) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def embed(server: ShimServer, model: str, given: object, **fields: object) -> dict[str, Any]:
    status, answer = server.call("POST", "/api/embed", {"model": model, "input": given, **fields})
    assert status == 200, answer
    assert isinstance(answer, dict)
    return answer


def vectors(answer: dict[str, Any]) -> list[Vector]:
    return [np.array(vector) for vector in answer["embeddings"]]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory, dense_gguf: Path) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("encoders")
    made = {pooling: folder / f"{pooling}.gguf" for pooling in (MEAN, CLS, RANK)}
    for pooling, path in made.items():
        encoder(dense_gguf, path, pooling)
    return made


@pytest.mark.parametrize("kind", ["dense", "moe"])
def test_a_text_has_one_vector_whatever_it_comes_with(
    start_server: StartServer, dense_gguf: Path, tiny_qwen3moe_gguf: Path, kind: str
) -> None:
    server = start_server()
    server.create(kind, dense_gguf if kind == "dense" else tiny_qwen3moe_gguf)
    given = texts(24, 24 if kind == "dense" else 150)
    singles = [embed(server, kind, text) for text in given]
    listed = embed(server, kind, given)
    backwards = vectors(embed(server, kind, given[::-1]))[::-1]
    with ThreadPoolExecutor(24) as pool:
        together = list(pool.map(lambda text: embed(server, kind, text), given))
    repeated = vectors(embed(server, kind, [given[5]] * 5))
    alone = [vectors(answer)[0] for answer in singles]
    for variant in (vectors(listed), backwards, [vectors(answer)[0] for answer in together]):
        assert len(variant) == len(alone)
        assert min(cosine(one, other) for one, other in zip(alone, variant, strict=True)) >= 0.9999
    assert all(abs(np.linalg.norm(vector) - 1) < 1e-4 for vector in alone)
    assert all((vector == repeated[0]).all() for vector in repeated)
    assert len({tuple(vector) for vector in alone}) == 24
    assert listed["prompt_eval_count"] == sum(answer["prompt_eval_count"] for answer in singles)


def test_texts_are_cut_to_the_context(start_server: StartServer, encoders: dict[int, Path]) -> None:
    server = start_server()
    server.create("bert", encoders[MEAN])
    long = "why is the sky blue and what makes it so"
    # [bos] and one word
    first = vectors(embed(server, "bert", "why"))[0]
    for fields in ({}, {"truncate": True}):
        cut = embed(server, "bert", long, options={"num_ctx": 2}, **fields)
        assert cosine(vectors(cut)[0], first) >= 0.999
        assert cut["prompt_eval_count"] == 2
    refused = {"model": "bert", "input": long, "truncate": False, "options": {"num_ctx": 2}}
    status, answer = server.call("POST", "/api/embed", refused)
    assert (status, answer) == (400, {"error": "the input length exceeds the context length"})
    for num_ctx in (0, 1):
        asked = {"model": "bert", "input": long, "options": {"num_ctx": num_ctx}}
        status, answer = server.call("POST", "/api/embed", asked)
        assert status == 400
        assert answer["error"] in (CUT_TOO_FAR, CANNOT_CUT)
    assert len(vectors(embed(server, "bert", long, options={"num_ctx": 16}))) == 1


def test_long_texts_and_small_contexts(start_server: StartServer, encoders: dict[int, Path]) -> None:
    server = start_server()
    server.create("bert", encoders[CLS])
    many = [text * 8 for text in texts(3, 100)]
    answer = embed(server, "bert", many, options={"num_ctx": 30})
    assert len(answer["embeddings"]) == 3
    assert answer["prompt_eval_count"] <= 90
    for words in (256, 512, 800):
        assert len(vectors(embed(server, "bert", "sky " * words))[0]) == WIDTH
    one = embed(server, "bert", "the same text")["prompt_eval_count"]
    assert embed(server, "bert", ["the same text"] * 3)["prompt_eval_count"] == 3 * one


def test_a_text_longer_than_a_batch(start_server: StartServer, dense_gguf: Path) -> None:
    server = start_server()
    server.create("dense", dense_gguf)
    long = " ".join(texts(10, 150))
    answer = embed(server, "dense", [long, "short", long])
    first, _, last = vectors(answer)
    assert answer["prompt_eval_count"] > 2 * 512
    assert (first == last).all()
    assert cosine(first, vectors(embed(server, "dense", long + " not"))[0]) < 0.9999


def test_dimensions_and_the_older_endpoint(start_server: StartServer, dense_gguf: Path) -> None:
    server = start_server()
    server.create("dense", dense_gguf)
    whole = vectors(embed(server, "dense", "a cat"))[0]
    short = vectors(embed(server, "dense", "a cat", dimensions=8))[0]
    assert len(whole) == 576
    assert len(short) == 8
    assert np.allclose(short, whole[:8] / np.linalg.norm(whole[:8]), atol=1e-6)
    assert len(vectors(embed(server, "dense", "a cat", dimensions=5000))[0]) == 576
    status, legacy = server.call("POST", "/api/embeddings", {"model": "dense", "prompt": "a cat"})
    assert status == 200
    assert cosine(np.array(legacy["embedding"]), whole) > 0.999999
    assert np.linalg.norm(legacy["embedding"]) > 2  # not of length 1
    with server.client() as client:
        assert len(client.embed("dense", ["a", "b"]).embeddings) == 2
        assert len(client.embeddings("dense", "a cat").embedding) == 576


def test_embeddings_beside_a_stream(start_server: StartServer, dense_gguf: Path) -> None:
    """Neither waits for the end of the other, and what is said does not change."""
    server = start_server()
    server.create("dense", dense_gguf)
    asked = {"model": "dense", "prompt": "Count:", "raw": True}
    options = {"options": {"temperature": 0, "num_predict": 60}}
    _, alone = server.call("POST", "/api/generate", {**asked, **options, "stream": False})
    quiet = vectors(embed(server, "dense", texts(6, 40)))
    stream = server.stream("/api/generate", {**asked, **options})
    said = [next(stream)]
    beside = vectors(embed(server, "dense", texts(6, 40)))
    said += list(stream)
    assert "".join(item["response"] for item in said) == alone["response"]
    assert min(cosine(one, other) for one, other in zip(quiet, beside, strict=True)) > 0.999


def test_a_reranker_orders_documents(start_server: StartServer, encoders: dict[int, Path]) -> None:
    server = start_server()
    server.create("ranker", encoders[RANK])
    documents = texts(5, 30)
    body = {"model": "ranker", "query": "the blue sea", "documents": documents}
    status, answer = server.call("POST", "/v1/rerank", body)
    assert status == 200, answer
    scores = [result["relevance_score"] for result in answer["results"]]
    assert sorted(result["index"] for result in answer["results"]) == [0, 1, 2, 3, 4]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5
    assert answer["usage"]["total_tokens"] > 5
    for result in answer["results"]:  # alone, a document gets the same score
        single = {**body, "documents": [documents[result["index"]]]}
        _, again = server.call("POST", "/rerank", single)
        assert again["results"][0]["relevance_score"] == pytest.approx(result["relevance_score"], abs=1e-6)
    _, best = server.call("POST", "/v1/rerank", {**body, "top_n": 2, "return_documents": True})
    assert [result["index"] for result in best["results"]] == [
        result["index"] for result in answer["results"][:2]
    ]
    assert best["results"][0]["document"] == {"text": documents[best["results"][0]["index"]]}
    status, refused = server.call("POST", "/api/embed", {"model": "ranker", "input": "a"})
    assert status == 400
    assert "/v1/rerank" in refused["error"]


def test_an_embedding_model_ranks_by_likeness_and_cannot_chat(
    start_server: StartServer, encoders: dict[int, Path], dense_gguf: Path
) -> None:
    server = start_server()
    server.create("bert", encoders[MEAN])
    server.create("dense", dense_gguf)
    body = {"model": "bert", "query": "a cat", "documents": [{"text": "sky sky sky"}, "a cat"]}
    status, answer = server.call("POST", "/v1/rerank", body)
    assert status == 200, answer
    assert answer["results"][0] == {"index": 1, "relevance_score": pytest.approx(1.0, abs=1e-5)}
    status, refused = server.call("POST", "/v1/rerank", {**body, "model": "dense"})
    assert status == 400
    assert "reranker" in refused["error"]["message"]
    status, refused = server.call("POST", "/api/generate", {"model": "bert", "prompt": "hi"})
    assert (status, refused["error"]) == (400, '"bert" does not support generate')
    assert server.call("POST", "/api/show", {"model": "bert"})[1]["capabilities"] == ["embedding"]

