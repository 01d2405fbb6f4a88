"""OpenAI's endpoints for the OpenAPI description."""

from __future__ import annotations

from shim.openai import fields
from shim.openapi import Operation, Schema, answer_with

_HELLO = {"model": "mymoe", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}


def _streamed(*names: str) -> dict[str, Schema]:
    events: Schema = {"type": "string", "description": "where `stream` is true: such objects as events"}
    return {**answer_with(*names), "text/event-stream": events}


OPERATIONS = (
    Operation("GET", "/v1/models", "All models", answers=answer_with("object", "data")),
    Operation("GET", "/v1/models/{model}", "One model", answers=answer_with("id", "object", "created")),
    Operation(
        "POST",
        "/v1/chat/completions",
        "An answer to messages",
        fields.CHAT,
        _streamed("id", "object", "created", "model", "choices", "usage"),
        examples=(_HELLO,),
    ),
    Operation(
        "POST",
        "/v1/completions",
        "How a prompt goes on",
        fields.COMPLETION,
        _streamed("id", "object", "created", "model", "choices", "usage"),
        examples=({"model": "mymoe", "prompt": "Once", "max_tokens": 8},),
    ),
    Operation(
        "POST",
        "/v1/responses",
        "An answer to messages, as a list of items",
        fields.RESPONSES,
        _streamed("id", "object", "status", "model", "output", "usage"),
        examples=({"model": "mymoe", "input": "Hello", "max_output_tokens": 8},),
    ),
    Operation(
        "POST",
        "/v1/embeddings",
        "A vector for every text",
        fields.EMBEDDINGS,
        answer_with("object", "data", "model", "usage"),
        examples=({"model": "mymoe", "input": ["one", "two"]},),
    ),
)
