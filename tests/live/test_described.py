"""Requests that the server's own description allows, and some that it does not, at every endpoint.

No fault but those that Ollama's protocol asks for, no hang, no traceback in the log, no worker lost.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from shim.describing import operations
from shim.openapi import describe
from tests.live.server import ShimServer
from tests.shim.serving import CAPABLE

pytestmark = [pytest.mark.live, pytest.mark.slow]

SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(describe(operations(), "0"))))
# Ollama answers these mistakes of a request with 5xx; 501 is what this version lacks.
ASKED_FOR = re.compile(
    r'option "|invalid format: |template: |is not part of this version|unknown renderer |'
    r"unsupported quantization type |quantization is only supported for "
)
BOUNDED = settings(
    max_examples=25, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
SECONDS = 30


@pytest.fixture(scope="module")
def scripted(servers_folder: Path) -> Iterator[ShimServer]:
    """Without weights; what goes wrong in Python shows in its log."""
    server = ShimServer(servers_folder / "described-scripted", {"SHIM_ENGINE": "fake"})
    server.start()
    try:
        weights = server.home / "capable.gguf"
        weights.write_bytes(CAPABLE)
        server.create("capable", weights)
        load(server, "capable")
        first = server.worker()
        yield server
        assert server.call("GET", "/api/version")[0] == 200
        assert server.workers() == [first]
        assert "Traceback" not in server.log
    finally:
        server.stop()


def load(server: ShimServer, model: str) -> None:
    assert server.call("POST", "/api/generate", {"model": model, "keep_alive": "1h"})[0] == 200


def aimed(case: schemathesis.Case[Any], model: str) -> None:
    """Make a case meet a model instead of an unknown name, and bound what it may cost."""
    body = case.body
    if not isinstance(body, dict):
        return
    if case.path in ("/api/generate", "/api/chat", "/api/embed", "/api/embeddings", "/api/show"):
        body["model"] = model
        body.pop("keep_alive", None)  # 0 would end the worker, and rightly so
        options = body.get("options")
        if isinstance(options, dict):
            for name in [name for name in options if name.startswith("num_") or name == "ctx_size"]:
                del options[name]
    if case.path == "/api/create":
        body.update({"model": "made", "from": model, "quantize": "", "quantization": "", "files": None})


def check(answer: schemathesis.Response) -> None:
    """A success, or an error in words; no 5xx but those that are asked for."""
    kind = answer.headers.get("content-type", [""])[0]
    if answer.request.method == "HEAD":
        assert answer.status_code < 500
        return
    if answer.status_code >= 500:
        assert ASKED_FOR.search(answer.json()["error"]), answer.text
    if answer.status_code >= 400 and kind.startswith("application/json"):
        assert answer.json()["error"]
    if kind == "application/x-ndjson":
        items = [json.loads(line) for line in answer.text.splitlines()]
        assert all(isinstance(item, dict) for item in items)
        for item in items:
            assert "internal error" not in str(item.get("error", ""))


@BOUNDED
@SCHEMA.parametrize()
def test_every_endpoint_copes(case: schemathesis.Case[Any], scripted: ShimServer) -> None:
    aimed(case, "capable")
    check(case.call(base_url=f"http://{scripted.host}", timeout=SECONDS, allow_redirects=False))


@pytest.fixture
def real(server: ShimServer) -> Iterator[ShimServer]:
    load(server, "dense")
    first = server.worker()
    yield server
    assert server.workers() == [first]
    assert "Traceback" not in server.log


@settings(BOUNDED, max_examples=6)
@SCHEMA.include(path_regex="^/api/(generate|chat|embed|embeddings|show)$").parametrize()
def test_the_real_engine_copes(case: schemathesis.Case[Any], real: ShimServer) -> None:
    aimed(case, "dense")
    body: Any = case.body
    if isinstance(body, dict) and case.path in ("/api/generate", "/api/chat"):
        options = body.get("options")
        body["options"] = {**(options if isinstance(options, dict) else {}), "num_predict": 4}
    check(case.call(base_url=f"http://{real.host}", timeout=120, allow_redirects=False))
