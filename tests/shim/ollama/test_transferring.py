"""Pull and push over HTTP: the streams, the words, and who may ask for what."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from shim.ollama.transferring import is_local
from tests.mirrors.registries import CONFIG_DATA, Registry, registry
from tests.modelfiles.gguf.building import DENSE, gguf
from tests.shim.serving import Served, serving

WEIGHTS = gguf(DENSE)
DATA = Path(__file__).parents[2] / "data" / "client_requests.jsonl"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        yield running


@pytest.fixture
async def remote() -> AsyncIterator[Registry]:
    async with registry() as running:
        running.add("library/fox:1b", CONFIG_DATA, ("model", WEIGHTS), ("system", b"Be brief."))
        yield running


def asked(remote: Registry, name: str = "library/fox:1b", **more: object) -> dict[str, object]:
    return {"model": f"{remote.host}/{name}", "insecure": True, **more}


async def test_a_pulled_model_is_listed_and_can_be_pushed(served: Served, remote: Registry) -> None:
    items = await served.lines("/api/pull", asked(remote))
    assert items[0] == {"status": "pulling manifest"}
    assert items[-1] == {"status": "success"}
    assert [item["status"] for item in items[-3:-1]] == ["verifying sha256 digest", "writing manifest"]
    bars = {item["digest"]: item for item in items if "digest" in item}
    assert set(bars) == set(remote.blobs)
    assert all(bar["completed"] == bar["total"] for bar in bars.values())
    _, tags = await served.call("GET", "/api/tags")
    assert [model["name"] for model in tags["models"]] == [f"{remote.host}/library/fox:1b"]
    before = dict(remote.blobs)
    remote.blobs.clear()
    pushed = await served.lines("/api/push", asked(remote))
    assert (pushed[0], pushed[-1]) == ({"status": "retrieving manifest"}, {"status": "success"})
    assert remote.blobs == before


async def test_without_a_stream_there_is_one_object(served: Served, remote: Registry) -> None:
    assert await served.call("POST", "/api/pull", asked(remote, stream=False)) == (200, {"status": "success"})


async def test_what_is_not_there_is_told_in_the_stream(served: Served, remote: Registry) -> None:
    missing = {"error": "pull model manifest: file does not exist"}
    items = await served.lines("/api/pull", asked(remote, "library/none"))
    assert items == [{"status": "pulling manifest"}, missing]
    body = asked(remote, "library/none", stream=False)
    assert await served.call("POST", "/api/pull", body) == (500, missing)


async def test_create_fetches_what_it_starts_from(served: Served, remote: Registry) -> None:
    remote.refuse = {"/v2/": 404}
    items = await served.lines("/api/create", {"model": "brief", "from": f"{remote.host}/library/none"})
    assert items[0] == {"status": "pulling manifest"}
    assert "error" in items[-1]
    await served.create("here")
    items = await served.lines("/api/create", {"model": "brief", "from": "here", "system": "Be brief."})
    assert {"status": "pulling manifest"} not in items
    assert items[-1] == {"status": "success"}


PULLS = [case for case in map(json.loads, DATA.read_text().splitlines()) if case["path"] == "/api/pull"]


@pytest.mark.parametrize("case", PULLS, ids=[case["id"] for case in PULLS])
async def test_recorded_pulls_of_clients(tmp_path: Path, remote: Registry, case: dict[str, Any]) -> None:
    remote.add("library/llama3.2:latest", CONFIG_DATA, ("model", WEIGHTS))
    mirror = {"url": remote.url, "insecure": True, "manifest_from": "mirror"}
    async with serving(tmp_path, SHIM_MIRRORS=json.dumps([mirror])) as served:
        items = await served.lines(case["path"], case["body"])
        assert items[-1] == {"status": "success"}
        assert {key for item in items for key in item} >= {"status", "digest", "total", "completed"}
        assert all(len(item["digest"]) == 71 for item in items if "digest" in item)
        _, tags = await served.call("GET", "/api/tags")
        assert [model["name"] for model in tags["models"]] == ["llama3.2:latest"]
        assert [remote.host in item.get("source", remote.host) for item in items] == [True] * len(items)


async def test_one_machine_pulls_from_another(tmp_path: Path) -> None:
    async with serving(tmp_path / "a", SHIM_SERVE_STORE="1") as first, serving(tmp_path / "b") as second:
        await first.create("fox:1b", WEIGHTS)
        host = f"{first.client.host}:{first.client.port}"
        body = {"model": f"{host}/library/fox:1b", "insecure": True}
        items = await second.lines("/api/pull", body)
        assert items[-1] == {"status": "success"}
        _, there = await first.call("GET", "/api/tags")
        _, here = await second.call("GET", "/api/tags")
        assert there["models"][0]["digest"] == here["models"][0]["digest"]


async def test_a_store_is_not_served_unless_that_is_set(served: Served) -> None:
    await served.create("fox:1b", WEIGHTS)
    assert (await served.call("GET", "/v2/library/fox/manifests/1b"))[0] == 404


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("/api/pull", {}, "invalid model name"),
        ("/api/pull", {"model": "a b"}, "invalid model name"),
        ("/api/pull", b"", "missing request body"),
        ("/api/push", {}, "model is required"),
        ("/api/push", {"name": " "}, "model is required"),
        ("/api/push", {"name": "a b"}, "invalid model name"),
        ("/api/push", {"model": 3},
         "json: cannot unmarshal number into Go struct field PushRequest.model of type string"),
    ],
)  # fmt: skip
async def test_transfers_of_nothing_are_refused_as_such(
    served: Served, path: str, body: object, text: str
) -> None:
    assert await served.call("POST", path, body) == (400, {"error": text})


@pytest.mark.parametrize(
    ("remote", "headers", "local"),
    [("127.0.0.1", {}, True), ("::1", {}, True), ("10.0.0.5", {}, False), (None, {}, False),
     ("127.0.0.1", {"X-Forwarded-For": "10.0.0.5"}, False), ("127.0.0.1", {"Forwarded": "for=x"}, False)],
)  # fmt: skip
def test_who_is_on_this_machine(remote: str | None, headers: dict[str, str], local: bool) -> None:
    request = make_mocked_request("POST", "/api/pull", headers).clone(remote=remote or "")
    assert is_local(request) is local
