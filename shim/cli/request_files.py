"""A request in a file: a body of /api/chat or of /api/generate, read as the server reads it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from shim.bodies import Struct, decode
from shim.cli.errors import CommandError
from shim.errors import ApiError
from shim.ollama.chat import chat_request
from shim.ollama.fields import CHAT, GENERATE
from shim.ollama.generate import generate_request
from shim.requests import ChatRequest, GenerateRequest


@dataclass(frozen=True, slots=True)
class RequestFile:
    """`given`: the keys that the body has. `response`: the answer so far, which only a template can use."""

    request: ChatRequest | GenerateRequest
    given: frozenset[str]
    response: str = ""


def read_request(body: bytes) -> RequestFile:
    """A body with `messages` is a chat. CommandError with the server's text for one that is wrong."""
    raw = _object(body)
    try:
        if "messages" in raw:
            return RequestFile(chat_request(_decoded(body, CHAT)), frozenset(raw))
        response = raw.get("response")
        request = generate_request(_decoded(body, GENERATE))
        return RequestFile(request, frozenset(raw), response if isinstance(response, str) else "")
    except ApiError as error:
        raise CommandError(f"the request is wrong: {error}") from error


def _decoded(body: bytes, shape: Struct) -> dict[str, object]:
    return decode(body.removeprefix(b"\xef\xbb\xbf"), shape)


def _object(body: bytes) -> dict[str, object]:
    try:
        raw = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise CommandError(f"the request is no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise CommandError("the request is no JSON object", "it is the body of /api/chat or /api/generate")
    return raw
