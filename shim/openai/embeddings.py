"""`/v1/embeddings`: body to inner request, vectors to body. Pure; texts of errors are Ollama's."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Mapping

from shim.embedding import EmbedRequest, Vectors
from shim.errors import bad_request
from shim.vectors import encoded, normalised, shortened

Json = dict[str, object]


def embed_request(body: Mapping[str, object]) -> EmbedRequest:
    """The request that a decoded body (`shim.openai.fields.EMBEDDINGS`) makes. ApiError."""
    encoding(body)
    if _dimensions(body) < 0:
        raise bad_request("dimensions must not be negative")
    keep_alive = body.get("keep_alive")
    return EmbedRequest(
        model=str(body.get("model", "")),
        inputs=_inputs(body.get("input")),
        keep_alive=keep_alive if isinstance(keep_alive, float) else None,
    )


def encoding(body: Mapping[str, object]) -> str:
    """ "float" or "base64". ApiError."""
    given = str(body.get("encoding_format", "")) or "float"
    if given.lower() not in ("float", "base64"):
        raise bad_request(
            f"Invalid value for 'encoding_format' = {given}. Supported values: ['float', 'base64']."
        )
    return given.lower()


def answer(body: Mapping[str, object], request: EmbedRequest, found: Vectors) -> Json:
    """The body: vectors of length 1; in base64 they are float32s, the least byte first."""
    write = _base64 if encoding(body) == "base64" else encoded
    vectors = (shortened(normalised(vector), _dimensions(body)) for vector in found.vectors)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "embedding": write(vector), "index": at}
            for at, vector in enumerate(vectors)
        ],
        "model": request.model,
        "usage": {"prompt_tokens": found.prompt_tokens, "total_tokens": found.prompt_tokens},
    }


def _base64(vector: array[float]) -> str:
    if sys.byteorder == "big":
        vector = array("f", vector)
        vector.byteswap()
    return base64.b64encode(vector.tobytes()).decode()


def _dimensions(body: Mapping[str, object]) -> int:
    dimensions = body.get("dimensions", 0)
    return dimensions if isinstance(dimensions, int) else 0


def _inputs(given: object) -> tuple[str, ...]:
    if given is None or given == []:
        raise bad_request("invalid input")
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list) and all(isinstance(text, str) for text in given):
        return tuple(given)
    raise bad_request("invalid input type")
