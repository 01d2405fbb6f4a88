"""What Ollama does on servers of its own: the words for "not here", over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.shim.serving import Served, serving


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as running:
        yield running


@pytest.mark.parametrize(("variable", "source"), [("", "config"), ("1", "both"), ("0", "config")])
async def test_the_cloud_is_switched_off_whatever_is_set(tmp_path: Path, variable: str, source: str) -> None:
    async with serving(tmp_path, OLLAMA_NO_CLOUD=variable) as served:
        told = await served.call("GET", "/api/status")
        assert told == (200, {"cloud": {"disabled": True, "source": source}})


@pytest.mark.parametrize(
    ("method", "path", "status", "answer"),
    [
        ("POST", "/api/me", 401, {"error": "unauthorized", "signin_url": ""}),
        ("POST", "/api/signout", 401, {"error": "you are not currently signed in"}),
        ("DELETE", "/api/user/keys/AAAA", 401, {"error": "you are not currently signed in"}),
        ("POST", "/api/experimental/web_search", 403,
         {"error": "ollama cloud is disabled: web search is unavailable"}),
        ("POST", "/api/experimental/web_fetch", 403,
         {"error": "ollama cloud is disabled: web fetch is unavailable"}),
        ("GET", "/api/experimental/model-recommendations", 200, {"recommendations": []}),
    ],
)  # fmt: skip
async def test_there_is_no_account_and_no_cloud(
    served: Served, method: str, path: str, status: int, answer: object
) -> None:
    assert await served.call(method, path) == (status, answer)
