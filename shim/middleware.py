"""What happens around every handler: log line, CORS, Host check, API key, and errors turned into answers.

The order is Ollama's: origins are judged before everything else, unknown paths included. Handlers raise; the
innermost layer words the answer. Knows no endpoint.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from shim import gojson
from shim.errors import (
    ApiError,
    as_api_error,
    bad_request,
    body_too_large,
    go_quoted,
    server_error,
    unauthorized,
)
from shim.origins import Hosts, Origins, Verdict

LOG = logging.getLogger("shim.http")


def request_log(enabled: bool) -> Middleware:
    """One line a request, when it has ended; streams count until their last byte."""

    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.perf_counter()
        status: int | str = "gone"
        try:
            response = await handler(request)
            status = response.status
            return response
        finally:
            if enabled or LOG.isEnabledFor(logging.DEBUG):
                seconds = time.perf_counter() - started
                LOG.info("%s %s %s %.3fs", request.method, go_quoted(request.path), status, seconds)

    return log


def cors(origins: Origins) -> Middleware:
    """Refuse pages of foreign origins, answer preflights, allow the others."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await _carry_out(_judged(origins, request), request, handler)

    return check


def cors_headers(origins: Origins) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """For `on_response_prepare`, since streams send their headers before the handler returns."""

    async def add(request: web.Request, response: web.StreamResponse) -> None:
        for name, value in _judged(origins, request).headers:
            response.headers.add(name, value)

    return add


def _judged(origins: Origins, request: web.Request) -> Verdict:
    headers = request.headers
    return origins.judge(headers.get("Origin", ""), headers.get("Host", ""), request.method)


def host_check(hosts: Hosts) -> Middleware:
    """Refuse names that only DNS rebinding would bring to a loopback address."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        verdict = hosts.judge(request.headers.get("Host", ""), request.method)
        return await _carry_out(verdict, request, handler)

    return check


async def _carry_out(verdict: Verdict, request: web.Request, handler: Handler) -> web.StreamResponse:
    if verdict.end_with is not None:
        return web.Response(status=verdict.end_with)
    return await handler(request)


def api_keys(keys: Iterable[str]) -> Middleware:
    """Ask for one of the keys, as a bearer token or in X-Api-Key, everywhere but at `/`."""
    accepted = [key.encode() for key in keys]

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/" or any(_is_key(given, accepted) for given in _given_keys(request)):
            return await handler(request)
        raise unauthorized("unauthorized: this server asks for an API key (Authorization: Bearer ...)")

    return check


def _given_keys(request: web.Request) -> list[bytes]:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    bearer = [token.strip().encode("utf-8", "replace")] if scheme.lower() == "bearer" else []
    return [*bearer, request.headers.get("X-Api-Key", "").encode("utf-8", "replace")]


def _is_key(given: bytes, accepted: list[bytes]) -> bool:
    """Each comparison takes the same time however much of a key was right."""
    return any(hmac.compare_digest(given, key) for key in accepted)


@web.middleware
async def errors_as_answers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Everything that a handler or the router raises, as the client expects to read it."""
    try:
        return await handler(request)
    except web.HTTPException as answer:
        return await _router_answer(request, answer)
    except web.RequestPayloadError:
        return error_answer(bad_request("unexpected EOF"))  # the body broke off, or its chunks are no chunks
    except (asyncio.CancelledError, ConnectionError):
        raise  # the client is gone; nobody reads an answer
    except Exception as error:  # noqa: BLE001  the last stop: logged in full where it is our mistake
        return error_answer(known_error(error))


def known_error(error: Exception) -> ApiError:
    """The error's own meaning, or a 500 that says no more than where to look; the log gets the rest."""
    found = as_api_error(error)
    if found is None:
        LOG.error("a request failed", exc_info=error)
        return server_error("internal error, see the server's log")
    if found.status >= 500:
        LOG.warning("a request failed: %s", found.message)
    return found


def error_answer(error: ApiError, charset: str | None = "utf-8") -> web.Response:
    """An error object with its status, in the form of the native dialect; streams name no charset."""
    body = gojson.encode({"error": error.message, **error.extra})
    return web.Response(status=error.status, body=body, content_type="application/json", charset=charset)


async def _router_answer(request: web.Request, answer: web.HTTPException) -> web.StreamResponse:
    """Gin's words for what has no handler."""
    if isinstance(answer, web.HTTPMethodNotAllowed):
        allow = {"Allow": ", ".join(sorted(answer.allowed_methods))}
        return _plain(405, "405 method not allowed", allow)
    if isinstance(answer, web.HTTPNotFound):
        return await _redirected(request) or _plain(404, "404 page not found", {})
    if isinstance(answer, web.HTTPRequestEntityTooLarge):
        return error_answer(body_too_large())
    return error_answer(ApiError(answer.status, answer.reason))


def _plain(status: int, text: str, headers: dict[str, str]) -> web.Response:
    return web.Response(status=status, body=text.encode(), content_type="text/plain", headers=headers)


async def _redirected(request: web.Request) -> web.Response | None:
    """To the same path with or without its last slash, where that one exists for this method."""
    path = request.rel_url.raw_path
    other = path.removesuffix("/") if path.endswith("/") else path + "/"
    # Two slashes at the front would name another server.
    if not other or other.startswith("//"):
        return None
    query = request.rel_url.raw_query_string
    target = f"{other}?{query}" if query else other
    found = await request.app.router.resolve(request.clone(rel_url=target))
    if found.http_exception is not None:
        return None
    status = 301 if request.method == "GET" else 307
    return web.Response(status=status, headers={"Location": target})
