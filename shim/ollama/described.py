"""What each endpoint of Ollama's dialect is for, as data for the OpenAPI description.

`tests/shim/ollama/test_described.py` holds that this and the routes name the same endpoints.
"""

from __future__ import annotations

from shim.ollama import fields
from shim.openapi import BYTES, JSON, TEXT, Operation, Schema, answer_with

_HELLO = {"model": "mymoe", "messages": [{"role": "user", "content": "Hello!"}]}
_NO_BODY: dict[str, Schema] = {}
_PLAIN: dict[str, Schema] = {TEXT: {"type": "string"}}
_GENERATED = answer_with("model", "created_at", "response", "done", also_lines=True)
_CHATTED = answer_with("model", "created_at", "message", "done", also_lines=True)
_PROGRESS = answer_with("status", also_lines=True)
_VECTORS = answer_with("model", "embeddings")


def _readable(path: str, summary: str, answers: dict[str, Schema]) -> list[Operation]:
    """GET and HEAD."""
    return [
        Operation("GET", path, summary, answers=answers),
        Operation("HEAD", path, f"{summary}: headers only", answers={}),
    ]


OPERATIONS = (
    *_readable("/", "Whether the server is there", _PLAIN),
    *_readable("/api/version", "The version of the API", answer_with("version")),
    *_readable("/api/tags", "All models", answer_with("models")),
    Operation("GET", "/api/ps", "Loaded models", answers=answer_with("models")),
    Operation("GET", "/api/status", "Whether there is a cloud", answers=answer_with("cloud")),
    Operation(
        "POST", "/api/show", "What a model is made of", fields.SHOW,
        answer_with("details", "model_info", "modified_at"), examples=({"model": "mymoe"},),
    ),
    Operation(
        "POST", "/api/generate", "Complete a prompt; without one, load or unload the model", fields.GENERATE,
        _GENERATED, examples=({"model": "mymoe", "prompt": "Hello!", "stream": False},),
    ),
    Operation("POST", "/api/chat", "Answer a conversation", fields.CHAT, _CHATTED, examples=(_HELLO,)),
    Operation(
        "POST", "/api/embed", "Vectors of texts, of length 1", fields.EMBED, _VECTORS,
        examples=({"model": "mymoe", "input": ["one", "two"]},),
    ),
    Operation(
        "POST", "/api/embeddings", "Vector of one text, as the model made it", fields.EMBEDDINGS,
        answer_with("embedding"), examples=({"model": "mymoe", "prompt": "one"},),
    ),
    Operation(
        "POST", "/api/create", "Make a model from another, or from uploaded files", fields.CREATE, _PROGRESS,
        examples=({"model": "brief", "from": "mymoe", "system": "You answer briefly."},),
    ),
    Operation("HEAD", "/api/blobs/{digest}", "Whether a file is there", answers=_NO_BODY),
    Operation(
        "POST", "/api/blobs/{digest}", "Upload a file under its sha256", BYTES, _NO_BODY, statuses=(200, 201)
    ),
    Operation(
        "POST", "/api/copy", "Copy a model under another name", fields.COPY, _NO_BODY,
        examples=({"source": "mymoe", "destination": "other"},),
    ),
    Operation(
        "DELETE", "/api/delete", "Remove a model", fields.DELETE, _NO_BODY, examples=({"model": "other"},)
    ),
    Operation("POST", "/api/pull", "Fetch a model from a registry, a hub or the web", fields.PULL, _PROGRESS),
    Operation("POST", "/api/push", "Send a model to a registry", fields.PUSH, _PROGRESS),
    Operation("POST", "/api/me", "The account: there is none"),
    Operation("POST", "/api/signout", "Leave the account: there is none"),
    Operation("DELETE", "/api/user/keys/{key}", "Leave the account: there is none"),
    Operation("POST", "/api/experimental/web_search", "Search the web: there is no cloud"),
    Operation("POST", "/api/experimental/web_fetch", "Fetch a page: there is no cloud"),
    Operation(
        "GET", "/api/experimental/model-recommendations", "Models to pull: none",
        answers={JSON: {"type": "object", "required": ["recommendations"]}},
    ),
)  # fmt: skip
