"""The endpoints of models and blobs over HTTP, with a real store."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientTimeout

from tests.modelfiles.gguf.building import ARRAY, DENSE, F32, MIXTURE, STRING, gguf
from tests.shim.serving import Served, serving

BLOB = b"content" * 1000
DIGEST = "sha256:" + hashlib.sha256(BLOB).hexdigest()
ZEROS = "sha256:" + "0" * 64


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        yield running


async def test_the_root_and_its_head(served: Served) -> None:
    async with served.client.get("/") as answer:
        assert (answer.status, await answer.read()) == (200, b"Ollama is running")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    async with served.client.head("/") as answer:
        assert (answer.status, await answer.read()) == (200, b"")
        assert answer.headers["Content-Length"] == "17"
        assert answer.headers["Server"].startswith("shim/")


async def test_the_version_is_digits_and_dots(served: Served) -> None:
    async with served.client.get("/api/version?x=1") as answer:
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        body = await answer.read()
    assert body.startswith(b'{"version":"')
    assert not body.endswith(b"\n")
    _, told = await served.call("GET", "/api/version")
    assert [int(part) for part in told["version"].split(".")] >= [0, 13, 4]


async def test_no_models_is_an_empty_list(served: Served) -> None:
    for path in ("/api/tags", "/api/ps"):
        async with served.client.get(path) as answer:
            assert await answer.read() == b'{"models":[]}'


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/audio/transcriptions"), ("GET", "/v1/batches"), ("GET", "/favicon.ico"),
    ],
)  # fmt: skip
async def test_what_is_not_there_yet_is_not_faked(served: Served, method: str, path: str) -> None:
    assert await served.call(method, path, {}) == (404, "404 page not found")


async def test_blobs_come_and_are_found(served: Served) -> None:
    path = f"/api/blobs/{DIGEST}"
    assert (await served.call("HEAD", path))[0] == 404
    assert await served.call("POST", path, BLOB) == (201, "")
    assert await served.call("POST", path, BLOB) == (200, "")
    assert await served.call("POST", path, b"not read") == (200, "")
    assert (await served.call("HEAD", path))[0] == 200


async def test_blobs_come_in_chunks_of_unknown_length(served: Served) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(BLOB), 999):
            yield BLOB[start : start + 999]

    async with served.client.post(f"/api/blobs/{DIGEST}", data=pieces()) as answer:
        assert answer.status == 201


async def test_refused_blobs(served: Served) -> None:
    assert await served.call("POST", f"/api/blobs/{ZEROS}", BLOB) == (
        400,
        {"error": f'digest mismatch, expected "{ZEROS}", got "{DIGEST}"'},
    )
    assert (await served.call("HEAD", f"/api/blobs/{DIGEST}"))[0] == 200
    assert await served.call("POST", "/api/blobs/sha256:1", BLOB) == (400, {"error": "invalid digest format"})
    assert (await served.call("HEAD", "/api/blobs/sha256:1"))[0] == 400
    dashed = DIGEST.replace(":", "-")
    assert (await served.call("HEAD", f"/api/blobs/{dashed}"))[0] == 200


async def test_an_upload_may_be_larger_than_a_body(tmp_path: Path) -> None:
    async with serving(tmp_path, SHIM_MAX_BODY_BYTES="1000") as served:
        assert await served.call("POST", f"/api/blobs/{DIGEST}", BLOB) == (201, "")
        too_large = {"model": "m" * 2000}
        assert await served.call("POST", "/api/show", too_large) == (
            413,
            {"error": "http: request body too large"},
        )


async def test_create_reports_and_lists(served: Served) -> None:
    await served.create("Small:Q4", parameters={"num_ctx": 64, "stop": ["a"]}, system="Say hi!")
    status, listed = await served.call("GET", "/api/tags")
    (model,) = listed["models"]
    assert status == 200
    assert model["name"] == model["model"] == "Small:Q4"
    assert len(model["digest"]) == 64
    assert model["size"] > 100
    assert model["modified_at"][:2] == "20"
    assert model["details"] == {
        "parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"],
        "parameter_size": "64", "quantization_level": "Q4_K_M", "context_length": 8192,
        "embedding_length": 32,
    }  # fmt: skip
    assert model["capabilities"] == ["completion"]


async def test_create_without_a_stream_answers_once(served: Served) -> None:
    await served.create("small")
    async with served.client.post(
        "/api/create", json={"model": "b", "from": "small", "stream": False}
    ) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        assert await answer.read() == b'{"status":"success"}'
    status, answer = await served.call("POST", "/api/create", {"model": "c", "from": "x", "stream": False})
    assert (status, "cannot be reached" in answer["error"]) == (500, True)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"", 400, "missing request body"),
        (b"{", 400, "unexpected EOF"),
        ({}, 400, "invalid model name"),
        ({"model": "a b"}, 400, "invalid model name"),
        ({"model": "m"}, 400, "neither 'from' or 'files' was specified"),
        ({"model": "m", "files": {}}, 400, "unknown type"),
        ({"model": "m", "files": {"../x": ZEROS}}, 400, "file path must be relative"),
        ({"model": "m", "files": {"x": ""}}, 400, "invalid digest format"),
        ({"model": "m", "files": 3}, 400,
         "json: cannot unmarshal number into Go struct field CreateRequest.files of type map[string]string"),
    ],
)  # fmt: skip
async def test_refused_creates(served: Served, body: object, status: int, text: str) -> None:
    assert await served.call("POST", "/api/create", body) == (status, {"error": text})
    assert await served.call("GET", "/api/tags") == (200, {"models": []})


async def test_show_tells_everything(served: Served) -> None:
    await served.create("small", parameters={"num_ctx": 131072}, system="Be brief.", license="MIT")
    status, shown = await served.call("POST", "/api/show", {"name": "SMALL"})
    assert status == 200
    assert list(shown) == [
        "license", "modelfile", "parameters", "template", "system", "details", "model_info", "tensors",
        "capabilities", "modified_at",
    ]  # fmt: skip
    assert shown["system"] == "Be brief."
    assert shown["template"].startswith("{{ range ")  # the Go template of that family
    assert "<|im_start|>assistant" in shown["template"]
    assert shown["parameters"].splitlines() == [
        "num_ctx                        131072",
        'stop                           "<|im_start|>"',
        'stop                           "<|im_end|>"',
    ]
    assert shown["model_info"]["general.architecture"] == "llama"
    assert shown["model_info"]["llama.context_length"] == 8192
    assert "general.name" not in shown["model_info"]
    assert list(shown["model_info"]) == sorted(shown["model_info"])
    assert shown["tensors"][0] == {"name": "blk.0.weight", "type": "F32", "shape": [32]}


async def test_show_may_be_asked_for_another_system_and_options(served: Served) -> None:
    await served.create("small", system="Be brief.")
    body = {"model": "small", "system": "Be long.", "options": {"top_k": 7}, "verbose": True}
    _, shown = await served.call("POST", "/api/show", body)
    assert shown["system"] == "Be long."
    assert "PARAMETER top_k 7\n" in shown["modelfile"]
    assert "top_k" not in shown["parameters"]


async def test_the_editors_extension_sees_the_name_that_it_asked_for(served: Served) -> None:
    await served.create("small")
    async with served.client.post(
        "/api/show", json={"model": "small"}, headers={"User-Agent": "GitHubCopilotChat/0.3"}
    ) as answer:
        assert (await answer.json())["model_info"]["general.basename"] == "small"


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"", 400, "missing request body"),
        ({}, 400, "model is required"),
        ({"model": "//"}, 400, "invalid model name"),
        ({"name": "Nobody"}, 404, "model 'Nobody:latest' not found"),
    ],
)
async def test_refused_shows(served: Served, body: object, status: int, text: str) -> None:
    assert await served.call("POST", "/api/show", body) == (status, {"error": text})


async def test_copy_and_delete(served: Served) -> None:
    await served.create("small")
    assert await served.call("POST", "/api/copy", {"source": "small", "destination": "u/other:x"}) == (
        200,
        "",
    )
    assert await served.call("POST", "/api/copy", {"source": "small", "destination": "small"}) == (200, "")
    assert await served.digest_of("u/other:x") == await served.digest_of("small:latest")
    assert await served.call("DELETE", "/api/delete", {"name": "SMALL"}) == (200, "")
    _, listed = await served.call("GET", "/api/tags")
    assert [model["name"] for model in listed["models"]] == ["u/other:x"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("POST", "/api/copy", {"source": "", "destination": "b"}, 400, 'source "" is invalid'),
        ("POST", "/api/copy", {"source": "a", "destination": "b"}, 404, 'model "a" not found'),
        ("DELETE", "/api/delete", {}, 400, "model is required"),
        ("DELETE", "/api/delete", {"model": "a b"}, 400, 'name "a b" is invalid'),
        ("DELETE", "/api/delete", {"model": "Some"}, 404, "model 'Some' not found"),
        ("DELETE", "/api/delete", b"", 400, "missing request body"),
    ],
)
async def test_refused_copies_and_deletes(
    served: Served, method: str, path: str, body: object, status: int, text: str
) -> None:
    assert await served.call(method, path, body) == (status, {"error": text})


async def test_the_last_changed_model_comes_first_and_broken_ones_are_left_out(
    served: Served, tmp_path: Path
) -> None:
    await served.create("first")
    await served.create("second", gguf(MIXTURE))
    manifests = tmp_path / "models" / "manifests" / "registry.ollama.ai" / "library"
    os.utime(manifests / "second" / "latest", ns=(1, 1))
    (manifests / "broken").mkdir()
    (manifests / "broken" / "latest").write_text("{")
    _, listed = await served.call("GET", "/api/tags")
    assert [model["name"] for model in listed["models"]] == ["first:latest", "second:latest"]


async def test_many_creates_of_one_name_leave_one_sound_model(served: Served) -> None:
    contents = [gguf({**DENSE, "llama.context_length": (4, 128 + number)}) for number in range(8)]
    await asyncio.gather(*(served.create("one", content) for content in contents))
    status, shown = await served.call("POST", "/api/show", {"model": "one"})
    assert status == 200
    assert 128 <= shown["model_info"]["llama.context_length"] < 136


async def test_offers_of_http2_are_ignored_and_bodies_read(served: Served) -> None:
    await served.create("small")
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"mod'
        yield b'el":"small"}'

    for data in (b'{"model":"small"}', pieces()):
        async with served.client.post(
            "/api/show", data=data, headers=offer, timeout=ClientTimeout(total=10)
        ) as answer:
            assert (answer.status, answer.version) == (200, (1, 1))


async def test_any_content_type_and_authorization_will_do(served: Served) -> None:
    await served.create("small")
    for headers in (
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/octet-stream", "Authorization": "Bearer "},
        {"Content-Type": "", "X-Api-Key": "x", "User-Agent": ""},
    ):
        async with served.client.post("/api/show?x=1", data=b'{"model":"small"}', headers=headers) as answer:
            assert answer.status == 200


async def test_a_body_is_what_was_sent_whatever_its_encoding_is_said_to_be(served: Served) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with served.client.post("/api/show", data=b"{}", headers=headers) as answer:
        assert (answer.status, await answer.json()) == (400, {"error": "model is required"})


async def test_chunks_that_are_none_are_a_bad_request(served: Served) -> None:
    url = served.client.make_url("/")
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(b"POST /api/show HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    await writer.drain()
    writer.write(b"2\r\n{}\r\nZZ\r\n")
    status = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    await writer.wait_closed()
    assert status.split()[1] == b"400"


async def test_a_body_that_is_announced_as_too_large_is_refused_unread(tmp_path: Path) -> None:
    async with serving(tmp_path, SHIM_MAX_BODY_BYTES="1000") as served:
        url = served.client.make_url("/")
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(b"POST /api/show HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n")
        status = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        await writer.wait_closed()
        assert status.split()[1] == b"413"


async def test_weights_whose_metadata_json_cannot_say_are_described_all_the_same(served: Served) -> None:
    odd = {**DENSE, "llama.scale": (F32, float("nan")), "llama.name": (STRING, b"\xff\xed\xa0\x80"),
           "llama.range": (ARRAY, (F32, [1.5, float("inf")]))}  # fmt: skip
    await served.create("odd", gguf(odd))
    status, shown = await served.call("POST", "/api/show", {"model": "odd", "verbose": True})
    assert status == 200
    assert shown["model_info"]["llama.scale"] is None
    assert shown["model_info"]["llama.range"] == [1.5, None]
