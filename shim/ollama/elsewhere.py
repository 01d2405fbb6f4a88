"""Endpoints whose work Ollama does on servers of its own.

There is no account and no cloud behind this server. Each endpoint says so with the status and the words that
clients know for an account that is signed out and for a cloud that is switched off; none pretends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from shim.bodies import Struct
from shim.errors import forbidden, unauthorized
from shim.framing import json_answer

ReadBody = Callable[[web.Request, Struct], Awaitable[dict[str, object]]]

# No cloud exists here, whatever is set; Ollama calls what is not from the environment "config".
STATUS = {"cloud": {"disabled": True, "source": "config"}}
STATUS_WHEN_SET = {"cloud": {"disabled": True, "source": "both"}}


def routes(read_body: ReadBody, *, no_cloud_is_set: bool) -> list[web.RouteDef]:
    """The routes as data; `read_body` decodes a request's body."""
    here = _Elsewhere(read_body, STATUS_WHEN_SET if no_cloud_is_set else STATUS)
    return [
        web.get("/api/status", here.status, allow_head=False),
        web.post("/api/me", here.account),
        web.post("/api/signout", here.sign_out),
        web.delete("/api/user/keys/{key}", here.sign_out),
        web.post("/api/experimental/web_search", here.web_search),
        web.post("/api/experimental/web_fetch", here.web_fetch),
        web.get("/api/experimental/model-recommendations", here.recommendations, allow_head=False),
    ]


class _Elsewhere:
    """The handlers."""

    def __init__(self, read_body: ReadBody, status: Mapping[str, object]) -> None:
        self._read_body = read_body
        self._status = status

    async def status(self, request: web.Request) -> web.Response:
        return json_answer(self._status)

    async def account(self, request: web.Request) -> web.Response:
        # Clients print the address when there is one, and nothing at that address would sign anybody in here.
        raise unauthorized("unauthorized", {"signin_url": ""})

    async def sign_out(self, request: web.Request) -> web.Response:
        raise unauthorized("you are not currently signed in")

    async def web_search(self, request: web.Request) -> web.Response:
        raise forbidden("ollama cloud is disabled: web search is unavailable")

    async def web_fetch(self, request: web.Request) -> web.Response:
        raise forbidden("ollama cloud is disabled: web fetch is unavailable")

    async def recommendations(self, request: web.Request) -> web.Response:
        """None: which models are good is not for this server to say."""
        return json_answer({"recommendations": []})
