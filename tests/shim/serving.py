"""The whole application over a real store and the engine without weights, on a port of this machine."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from shim.app import HEAD_BYTES, build_app
from shim.services import Services, open_services
from shim.settings import read_settings
from shim.transfer_settings import TransferSettings
from tests.modelfiles.gguf.building import ARRAY, DENSE, STRING, U32, gguf

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATTING: Mapping[str, tuple[int, object]] = {
    **DENSE,
    "llama.context_length": (U32, 8192),
    "tokenizer.chat_template": (STRING, CHATML),
}

# A template that takes tools and thinks, as those of most models do; clients ask for long contexts.
TOOLS_AND_THINKING = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% if m.tool_calls %}<tool_call>{{ m.tool_calls | tojson }}</tool_call>{% endif %}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CAPABLE = gguf(
    {
        **CHATTING,
        "general.basename": (STRING, "Small"),
        "llama.context_length": (U32, 262144),
        "tokenizer.chat_template": (STRING, TOOLS_AND_THINKING),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, ["<s>", "</s>"])),
    }
)

Client = TestClient[web.Request, web.Application]


class Served:
    """A running application and short ways to talk to it."""

    def __init__(self, client: Client, services: Services) -> None:
        self.client = client
        self.services = services

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and decoded answer; text where it is no JSON."""
        async with self.client.request(method, path, data=_encoded(body)) as answer:
            text = (await answer.read()).decode()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    async def lines(self, path: str, body: object) -> list[Any]:
        """The items of a stream."""
        async with self.client.post(path, data=_encoded(body)) as answer:
            assert answer.status == 200, await answer.text()
            return [json.loads(line) for line in (await answer.text()).splitlines()]

    async def create(self, name: str, content: bytes | None = None, **fields: object) -> None:
        """Upload weights (one small model if none are given) and make a model of them."""
        content = gguf(CHATTING) if content is None else content
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        async with self.client.post(f"/api/blobs/{digest}", data=content) as answer:
            assert answer.status in (200, 201), await answer.text()
        items = await self.lines("/api/create", {"model": name, "files": {"m.gguf": digest}, **fields})
        assert items[-1] == {"status": "success"}, items

    async def digest_of(self, name: str) -> str:
        _, listed = await self.call("GET", "/api/tags")
        return next(str(model["digest"]) for model in listed["models"] if model["name"] == name)


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for something that another process or task brings about."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.01)


def _encoded(body: object) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return json.dumps(body).encode()


@asynccontextmanager
async def serving(folder: Path, **variables: str) -> AsyncIterator[Served]:
    """An application with these environment variables; its store is in `folder`."""
    environ = {"OLLAMA_MODELS": str(folder / "models"), "SHIM_ENGINE": "fake", **variables}
    # Nothing goes beyond this machine: what is not here is asked of a proxy that is not there.
    nowhere = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    transfers = TransferSettings(proxies=nowhere, key=folder / "id_ed25519")
    services = await open_services(replace(read_settings(environ, folder), transfers=transfers))
    try:
        server = TestServer(build_app(services))
        await server.start_server(
            auto_decompress=False, max_line_size=HEAD_BYTES, max_field_size=HEAD_BYTES
        )
        async with TestClient(server) as client:
            yield Served(client, services)
    finally:
        await services.close()
