"""Endpoints whose work Ollama does on servers of its own, and transfers, which this version does not have.

There is no account and no cloud behind this server. Each endpoint says so with the status and the words that
clients know for an account that is signed out and for a cloud that is switched off; none pretends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from modelfiles.errors import InvalidName
from modelfiles.names import parse_name
from shim.bodies import Field, Struct
from shim.bodykinds import BOOL, STRING
from shim.errors import ApiError, bad_request, forbidden, not_built, unauthorized
from shim.framing import json_answer

Body = Mapping[str, object]
ReadBody = Callable[[web.Request, Struct], Awaitable[dict[str, object]]]

_TRANSFER = [
    Field("model", STRING),
    Field("insecure", BOOL),
    Field("username", STRING),
    Field("password", STRING),
    Field("stream", BOOL),
    Field("name", STRING),
]
PULL = Struct("PullRequest", _TRANSFER)
PUSH = Struct("PushRequest", _TRANSFER)

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
        web.post("/api/pull", here.pull),
        web.post("/api/push", here.push),
    ]


def check_pull(body: Body) -> ApiError:
    """What a pull is answered with."""
    return _transfer(body, bad_request("invalid model name"), bad_request("invalid model name"), "pulling")


def check_push(body: Body) -> ApiError:
    """What a push is answered with."""
    return _transfer(body, bad_request("model is required"), bad_request("invalid model name"), "pushing")


def _transfer(body: Body, missing: ApiError, malformed: ApiError, what: str) -> ApiError:
    name = str(body.get("model") or body.get("name") or "").strip()
    if not name:
        return missing
    try:
        parse_name(name)
    except InvalidName:
        return malformed
    return not_built(
        f"{what} is not part of this version: a model comes from a GGUF file, "
        "through /api/create or `shim create NAME -f Modelfile`"
    )


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
        """Only what could be had; nothing can be pulled."""
        return json_answer({"recommendations": []})

    async def pull(self, request: web.Request) -> web.Response:
        raise check_pull(await self._read_body(request, PULL))

    async def push(self, request: web.Request) -> web.Response:
        raise check_push(await self._read_body(request, PUSH))
