"""Bodies of any kind at every endpoint: an answer in the right form, never a fault of ours."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shim.serving import Served, serving

PATHS = ["/api/show", "/api/create", "/api/copy", "/api/generate", "/api/chat", "/api/delete"]
KEYS = [
    "model", "name", "messages", "prompt", "role", "content", "images", "tools", "function", "arguments",
    "tool_calls", "options", "num_ctx", "stop", "seed", "num_predict", "keep_alive", "think", "format",
    "files", "from", "parameters", "license", "info", "adapters", "source", "destination", "stream", "raw",
    "context", "suffix", "system", "template", "truncate", "logprobs", "top_logprobs", "verbose",
    "_debug_render_only",
]  # fmt: skip
WORDS = [
    "small",
    "user",
    "system",
    "assistant",
    "",
    "5m",
    "-1",
    "json",
    "sha256:" + "0" * 64,
    "a/../b",
    "x:cloud",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
# Mostly close to sense, so that the checks behind the decoding are reached too.
BODIES = st.fixed_dictionaries(
    {"model": st.just("small") | VALUES},
    optional={
        "messages": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(WORDS)},
                optional={"content": st.text(max_size=6) | VALUES, "images": VALUES},
            ),
            max_size=3,
        ),
        "prompt": st.text(max_size=6) | VALUES,
        "options": st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)
        | st.just({"num_predict": 2, "temperature": 0}),
        **{key: VALUES for key in KEYS if key not in ("model", "messages", "prompt", "options")},
    },
)


class Server:
    """An application on a loop of its own, since Hypothesis calls plain functions."""

    def __init__(self, folder: Path) -> None:
        self.runner = asyncio.Runner()
        self._context = serving(folder)
        self.served: Served = self.runner.run(self._context.__aenter__())
        self.runner.run(self.served.create("small"))

    def send(self, path: str, body: bytes) -> tuple[int, bytes]:
        return self.runner.run(self._send(path, body))

    async def _send(self, path: str, body: bytes) -> tuple[int, bytes]:
        method = "DELETE" if path == "/api/delete" else "POST"
        async with self.served.client.request(method, path, data=body) as answer:
            return answer.status, await answer.read()

    def close(self) -> None:
        self.runner.run(self._context.__aexit__(None, None, None))
        self.runner.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("hostile"))
    yield running
    running.close()


@pytest.fixture
def faults(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails the test when the log holds a traceback of ours."""
    yield
    assert not [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR]


def check(status: int, data: bytes) -> None:
    """An empty success, an object, or lines of objects; a failure says what it is."""
    if status == 200 and not data:
        return
    items: list[dict[str, Any]] = [json.loads(line) for line in data.splitlines()]
    assert all(isinstance(item, dict) for item in items)
    if status >= 400:
        assert list(items[0]) == ["error"]
        assert items[0]["error"]
    if status >= 500:
        assert items[0]["error"].startswith('option "')


ENOUGH = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.slow
@ENOUGH
@given(st.sampled_from(PATHS[:-1]), BODIES)  # nothing is deleted here: `small` is needed
def test_bodies_that_nearly_make_sense(server: Server, faults: None, path: str, body: dict[str, Any]) -> None:
    check(*server.send(path, json.dumps(body).encode()))


@pytest.mark.slow
@ENOUGH
@given(st.sampled_from(PATHS), st.binary(max_size=40) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_bodies_that_make_none(server: Server, faults: None, path: str, body: bytes) -> None:
    check(*server.send(path, body))


@pytest.mark.slow
@settings(ENOUGH, max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_paths_that_lead_nowhere(server: Server, faults: None, tail: str) -> None:
    status, _ = server.send(
        "/api/blobs/" + tail.replace("/", "").replace("\\", "").replace("?", "").replace("#", ""), b"x"
    )
    assert status in (307, 400, 404, 405)
