"""Anthropic's endpoints for the OpenAPI description."""

from __future__ import annotations

from shim.anthropic import fields
from shim.openapi import Operation, Schema, answer_with

_HELLO = {"model": "mymoe", "messages": [{"role": "user", "content": "Hello"}]}
_EVENTS: Schema = {"type": "string", "description": "where `stream` is true: the message as events"}

OPERATIONS = (
    Operation(
        "POST",
        "/v1/messages",
        "An answer to messages",
        fields.MESSAGES,
        {
            **answer_with("id", "type", "role", "model", "content", "stop_reason", "usage"),
            "text/event-stream": _EVENTS,
        },
        examples=({**_HELLO, "max_tokens": 8},),
    ),
    Operation(
        "POST",
        "/v1/messages/count_tokens",
        "How many tokens messages are",
        fields.COUNT_TOKENS,
        answer_with("input_tokens"),
        examples=(_HELLO,),
    ),
)
