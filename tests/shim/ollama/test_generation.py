"""/api/generate and /api/chat over HTTP, with real worker processes of the engine without weights."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError

from runtime.options import LoadOptions
from shim.errors import model_not_found
from tests.modelfiles.gguf.building import MIXTURE, STRING, gguf
from tests.shim.serving import CHATML, Served, serving, until

METRICS = ["total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count",
           "eval_duration"]  # fmt: skip


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        await running.create("small")
        yield running


def asking(text: str, **fields: object) -> dict[str, Any]:
    return {"model": "small", "messages": [{"role": "user", "content": text}], **fields}


async def loaded(served: Served) -> list[dict[str, Any]]:
    _, body = await served.call("GET", "/api/ps")
    models: list[dict[str, Any]] = body["models"]
    return models


async def test_a_stream_is_lines_that_end_in_done(served: Served) -> None:
    async with served.client.post("/api/chat", json=asking("[[fake:say]]Hi &<b>[[fake:end]]")) as answer:
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        data = (await answer.read()).decode()
    assert data.endswith("}\n")
    assert "\n\n" not in data
    lines = data.splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert lines[3].split('"message":')[1] == '{"role":"assistant","content":"\\u0026"},"done":false}'
    assert list(first) == ["model", "created_at", "message", "done"]
    assert list(last) == ["model", "created_at", "message", "done", "done_reason", *METRICS]
    assert last["message"] == {"role": "assistant", "content": ""}
    assert last["done_reason"] == "stop"
    assert "".join(json.loads(line)["message"]["content"] for line in lines) == "Hi &<b>"


async def test_one_answer_says_the_same_as_the_stream(served: Served) -> None:
    asked = {"model": "small", "prompt": "tell me", "options": {"seed": 7}}
    lines = await served.lines("/api/generate", asked)
    async with served.client.post("/api/generate", json={**asked, "stream": False}) as answer:
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        whole = await answer.json()
    assert "".join(line["response"] for line in lines) == whole["response"]
    assert list(whole) == ["model", "created_at", "response", "done", "done_reason", "context", *METRICS]
    assert whole["context"] == lines[-1]["context"]


async def test_loading_and_unloading_are_single_answers_even_when_streamed(served: Served) -> None:
    for path, empty in (
        ("/api/chat", {"message": {"role": "assistant", "content": ""}}),
        ("/api/generate", {"response": ""}),
    ):
        async with served.client.post(path, json={"model": "small", "stream": True}) as answer:
            assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
            told = await answer.json()
        assert {**told, "created_at": ""} == {
            "model": "small", "created_at": "", **empty, "done": True, "done_reason": "load",
        }  # fmt: skip
        assert [model["name"] for model in await loaded(served)] == ["small:latest"]
        _, told = await served.call("POST", path, {"model": "small", "keep_alive": 0})
        assert told["done_reason"] == "unload"
        assert await loaded(served) == []


async def test_what_is_loaded_is_told_in_full(served: Served) -> None:
    await served.call(
        "POST", "/api/generate", {"model": "small", "keep_alive": -1, "options": {"num_ctx": 64}}
    )
    (model,) = await loaded(served)
    assert list(model) == [
        "name",
        "model",
        "size",
        "digest",
        "details",
        "expires_at",
        "size_vram",
        "context_length",
    ]
    assert model["digest"] == await served.digest_of("small:latest")
    assert (model["context_length"], model["size_vram"]) == (64, 0)
    assert model["expires_at"] > "2100"


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/api/generate", {}, 404, "model '' not found"),
        ("/api/chat", {}, 400, "model is required"),
        ("/api/generate", {"model": "a b"}, 400, "invalid model name"),
        ("/api/chat", {"model": "Nobody"}, 404, "model 'Nobody' not found"),
        ("/api/chat", {"model": "small:cloud"}, 403, "ollama cloud is disabled: remote model is unavailable"),
        ("/api/chat", asking("x", top_logprobs=21), 400, "top_logprobs must be between 0 and 20"),
        ("/api/chat", asking("x", think=True), 400, '"small" does not support thinking'),
        ("/api/chat", asking("x", tools=[{"type": "function", "function": {"name": "f"}}]), 400,
         "registry.ollama.ai/library/small:latest does not support tools"),
        ("/api/chat", asking("x", options={"top_k": "a"}), 500, 'option "top_k" must be of type integer'),
        ("/api/chat", asking("x", options={"num_experts_used": 2}), 400,
         "num_experts_used cannot be set: the model is dense, it has no experts to choose from"),
        ("/api/chat", asking("x", keep_alive="5x"), 400, 'time: unknown unit "x" in duration "5x"'),
        ("/api/generate", {"model": "small", "raw": True, "prompt": "x", "system": "s"}, 400,
         "raw mode does not support template, system, or context"),
        ("/api/chat", b"[]", 400, "json: cannot unmarshal array into Go value of type api.ChatRequest"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [True, False])
async def test_refusals_have_their_status(
    served: Served, path: str, body: Any, status: int, text: str, stream: bool
) -> None:
    asked = {**body, "stream": stream} if isinstance(body, dict) else body
    assert await served.call("POST", path, asked) == (status, {"error": text})
    assert await loaded(served) == []


@pytest.mark.parametrize("stream", [True, False])
async def test_a_failure_before_the_first_token_has_its_status(served: Served, stream: bool) -> None:
    status, told = await served.call("POST", "/api/chat", asking("[[fake:fail=too_long]]", stream=stream))
    assert (status, list(told)) == (400, ["error"])
    assert (
        told["error"].startswith("the prompt is longer than the context length") or "context" in told["error"]
    )
    status, told = await served.call("POST", "/api/chat", asking("[[fake:die=SIGKILL@0]]", stream=stream))
    assert (status, list(told)) == (500, ["error"])
    assert "SIGKILL" in told["error"]


async def test_a_worker_that_dies_in_the_middle_is_told_in_the_stream(served: Served) -> None:
    text = "[[fake:log=error: out of luck]][[fake:forever]][[fake:die=SIGSEGV@3]]"
    lines = await served.lines("/api/chat", asking(text))
    assert len(lines) == 4
    assert list(lines[-1]) == ["error"]
    assert "SIGSEGV" in lines[-1]["error"]
    assert "out of luck" in lines[-1]["error"]
    again = await served.lines("/api/chat", asking("hello"))
    assert again[-1]["done"] is True


async def test_a_client_that_goes_away_frees_its_slot(tmp_path: Path) -> None:
    async with serving(tmp_path, OLLAMA_NUM_PARALLEL="1") as served:
        await served.create("small")
        for path, body in (
            ("/api/chat", asking("[[fake:forever]]")),
            ("/api/generate", {"model": "small", "prompt": "[[fake:forever]]", "raw": True}),
        ):
            answer = await served.client.post(path, json=body)
            for _ in range(3):
                await answer.content.readline()
            answer.close()
            _, told = await asyncio.wait_for(
                served.call("POST", "/api/chat", asking("hi", stream=False, options={"num_predict": 1})), 10
            )
            assert told["done"] is True


async def test_a_client_that_goes_away_without_a_stream_frees_its_slot(tmp_path: Path) -> None:
    async with serving(tmp_path, OLLAMA_NUM_PARALLEL="1") as served:
        await served.create("small")
        waiting = asyncio.create_task(
            served.call("POST", "/api/chat", asking("[[fake:forever]]", stream=False))
        )
        await until(lambda: any(model.in_flight for model in served.services.supervisor.loaded()))
        waiting.cancel()
        _, told = await asyncio.wait_for(served.call("POST", "/api/chat", asking("hi", stream=False)), 10)
        assert told["done"] is True


async def test_lists_answer_at_once_while_a_model_loads(served: Served, tmp_path: Path) -> None:
    go_on = tmp_path / "go"
    target = await served.services.resolver.find("small", if_empty=model_not_found(""))
    assert target.spec is not None
    options = LoadOptions(kv_overrides={"fake.load_until": str(go_on)})
    loading = asyncio.create_task(served.services.supervisor.acquire(target.spec, options))
    await until(lambda: any(model.progress for model in served.services.supervisor.loaded()))
    started = time.monotonic()
    for method, path, body in (
        ("GET", "/", None),
        ("GET", "/api/version", None),
        ("GET", "/api/tags", None),
        ("GET", "/api/ps", None),
        ("POST", "/api/show", {"model": "small"}),
    ):
        assert (await served.call(method, path, body))[0] == 200
    assert time.monotonic() - started < 1
    (model,) = await loaded(served)
    assert model["name"] == "small:latest"
    assert not loading.done()
    go_on.touch()
    (await loading).release()


async def test_more_than_the_queue_holds_is_503(tmp_path: Path) -> None:
    async with serving(tmp_path, OLLAMA_MAX_QUEUE="1", OLLAMA_MAX_LOADED_MODELS="1") as served:
        await served.create("small")
        await served.create("other", gguf({**MIXTURE, "tokenizer.chat_template": (STRING, CHATML)}))
        busy = await served.client.post("/api/chat", json=asking("[[fake:forever]]"))
        await busy.content.readline()
        waiting = asyncio.create_task(served.call("POST", "/api/generate", {"model": "other"}))
        await until(lambda: served.services.supervisor._line.first() is not None)
        assert await served.call("POST", "/api/generate", {"model": "other"}) == (
            503,
            {"error": "server busy, please try again.  maximum pending requests exceeded"},
        )
        busy.close()
        assert (await asyncio.wait_for(waiting, 10))[0] == 200


async def test_a_model_that_is_deleted_while_loaded_leaves(served: Served) -> None:
    await served.call("POST", "/api/copy", {"source": "small", "destination": "twin"})
    await served.call("POST", "/api/generate", {"model": "twin", "keep_alive": "15s"})
    assert [model["name"] for model in await loaded(served)] == ["twin:latest"]
    assert await served.call("DELETE", "/api/delete", {"model": "twin"}) == (200, "")
    assert await loaded(served) == []
    assert (await served.call("POST", "/api/chat", asking("hi", stream=False)))[0] == 200


async def test_a_model_that_is_deleted_in_the_middle_of_an_answer_ends_it_first(
    served: Served, tmp_path: Path
) -> None:
    await served.call("POST", "/api/copy", {"source": "small", "destination": "twin"})
    go_on = tmp_path / "go"
    body = {**asking(f"[[fake:until={go_on}]][[fake:words=20]]"), "model": "twin"}
    answer = await served.client.post("/api/chat", json=body)
    await answer.content.readline()
    assert (await served.call("DELETE", "/api/delete", {"model": "twin"}))[0] == 200
    go_on.touch()
    lines = [json.loads(line) for line in (await answer.text()).splitlines()]
    assert lines[-1]["done"] is True
    await until(lambda: not served.services.supervisor.loaded())


async def test_a_name_made_anew_answers_with_the_new_weights(served: Served) -> None:
    await served.call("POST", "/api/copy", {"source": "small", "destination": "twin"})
    await served.call("POST", "/api/generate", {"model": "twin"})
    await served.call("DELETE", "/api/delete", {"model": "twin"})
    await served.create("twin", gguf({**MIXTURE, "tokenizer.chat_template": (STRING, CHATML)}))
    assert (await served.call("POST", "/api/generate", {"model": "twin"}))[0] == 200
    (model,) = await loaded(served)
    assert model["digest"] == await served.digest_of("twin:latest")


async def test_keys_are_asked_for_where_they_are_set(tmp_path: Path) -> None:
    async with serving(tmp_path, SHIM_API_KEYS="secret") as served:
        assert (await served.call("GET", "/api/tags"))[0] == 401
        assert (await served.call("HEAD", "/"))[0] == 200
        async with served.client.get("/api/tags", headers={"Authorization": "Bearer secret"}) as answer:
            assert answer.status == 200


async def test_closing_the_services_ends_streams(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await served.create("small")
        answer = await served.client.post("/api/chat", json=asking("[[fake:forever]]"))
        await answer.content.readline()
        await asyncio.wait_for(served.services.close(), 10)
        try:
            last = (await answer.text()).splitlines()[-1]
        except ClientPayloadError:
            return
        assert list(json.loads(last)) == ["error"]


async def test_many_clients_at_once_get_their_own_answers(served: Served) -> None:
    async def ask(number: int) -> str:
        say = f"[[fake:say]]answer {number}[[fake:end]]"
        lines = await served.lines("/api/chat", asking(say))
        assert lines[-1]["done"] is True
        return "".join(line["message"]["content"] for line in lines)

    answers = await asyncio.gather(*map(ask, range(32)))
    assert answers == [f"answer {number}" for number in range(32)]
