"""Errors in the shape that each dialect's clients read, whoever raises them.

Anthropic's clients read `error.type`, OpenAI's `error.message`; all other paths speak the native dialect.
Sources: Ollama's compatible endpoints, and the error pages of both public API references.
"""

from __future__ import annotations

import asyncio
import secrets

from aiohttp import web
from aiohttp.typedefs import Handler

from shim.errors import ApiError, ContextExceeded
from shim.framing import json_answer
from shim.middleware import known_error

Json = dict[str, object]

_ANTHROPIC = "/v1/messages"
_OPENAI = "/v1/"
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
          404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
          503: "overloaded_error", 529: "overloaded_error"}  # fmt: skip


@web.middleware
async def in_their_dialect(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers what handlers and checks of `/v1` raise; what the router says stays as it is."""
    if not request.path.startswith(_OPENAI):
        return await handler(request)
    try:
        return await handler(request)
    except (web.HTTPException, web.RequestPayloadError, asyncio.CancelledError, ConnectionError):
        raise
    except Exception as error:  # noqa: BLE001  logged in full where it is our mistake
        known = known_error(error)
        body = anthropic_error(known) if _is_anthropic(request.path) else openai_error(known)
        return json_answer(body, known.status)


def _is_anthropic(path: str) -> bool:
    return path == _ANTHROPIC or path.startswith(_ANTHROPIC + "/")


def openai_error(error: ApiError) -> Json:
    """An object under `error`, with every key that the API reference names."""
    if error.status == 404:
        kind = "not_found_error"
    elif error.status == 401:
        kind = "authentication_error"
    else:
        kind = "invalid_request_error" if error.status < 500 else "api_error"
    code = "context_length_exceeded" if isinstance(error, ContextExceeded) else None
    return {"error": {"message": error.message, "type": kind, "param": None, "code": code}}


def anthropic_error(error: ApiError) -> Json:
    """The kind of error by its status. That a prompt is too long has a text by which clients know it."""
    message = error.message
    if isinstance(error, ContextExceeded):
        message = f"prompt is too long: {error.tokens} tokens > {error.limit} maximum"
    kind = _TYPES.get(error.status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": f"req_{secrets.token_hex(12)}",
    }
