"""`/v1/responses`: body to inner request, and the object that tells of an answer. Pure, but for the clock."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from modelfiles.messages import Message, ToolCall
from shim.errors import bad_request
from shim.events import Done, Metrics
from shim.openai.chat import chat_request
from shim.openai.responses_input import messages, nested_tools
from shim.openai.stored import StoredResponses
from shim.requests import ChatRequest

Json = dict[str, object]
Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and what its answer tells again of it."""

    request: ChatRequest
    body: Body
    identity: str
    created: int
    keep: bool
    parallel_calls: bool
    said: tuple[Message, ...] = field(default=())


def asked(body: Body, stored: StoredResponses) -> Asked:
    """What a decoded body (`shim.openai.fields.RESPONSES`) asks for. ApiError."""
    before = _before(body.get("previous_response_id"), stored)
    said = messages(body.get("input"), before)
    if not said:
        raise bad_request("input must not be empty")
    instructions = body.get("instructions")
    opening = [Message("system", instructions)] if isinstance(instructions, str) and instructions else []
    request = chat_request(
        {
            **body,
            "messages": [{"role": "user", "content": ""}],  # replaced below
            "tools": nested_tools(body.get("tools")),
            "max_tokens": body.get("max_output_tokens"),
            **_structure(body.get("text")),
        }
    )
    whole = replace(request, messages=(*opening, *said))
    parallel = bool(body.get("parallel_tool_calls", True))
    identity = f"resp_{secrets.token_hex(12)}"
    return Asked(whole, body, identity, int(time.time()), bool(body.get("store", True)), parallel, said)


def _before(identity: object, stored: StoredResponses) -> tuple[Message, ...]:
    if not isinstance(identity, str) or not identity:
        return ()
    found = stored.get(identity)
    if found is None:
        raise bad_request(f"previous response with id {identity!r} not found; send the whole conversation")
    return found


def _structure(text: object) -> Json:
    """`text.format` in the form that chats have."""
    form = text.get("format") if isinstance(text, Mapping) else None
    if not isinstance(form, Mapping):
        return {}
    if form.get("type") == "json_schema":
        return {"response_format": {"type": "json_schema", "json_schema": {"schema": form.get("schema")}}}
    return {"response_format": dict(form)}


def answer_message(content: str, thinking: str, calls: Sequence[ToolCall]) -> Message:
    """The answer as a message of the conversation that goes on."""
    return Message("assistant", content, thinking, tool_calls=tuple(calls))


def response(asked: Asked, *, status: str, output: Sequence[Json] = (), done: Done | None = None) -> Json:
    """The object, in the order of Ollama's keys. `done` None: the answer is not complete."""
    body = asked.body
    cut = done is not None and done.reason == "length"
    text = body.get("text")
    text = text if isinstance(text, Mapping) else {}
    return {
        "id": asked.identity,
        "object": "response",
        "created_at": asked.created,
        "completed_at": int(time.time()) if done is not None else None,
        "status": "incomplete" if cut else status,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "model": asked.request.model,
        "previous_response_id": body.get("previous_response_id"),
        "instructions": body.get("instructions"),
        "output": [*output],
        "error": None,
        "tools": body.get("tools", []),
        "tool_choice": body.get("tool_choice", "auto"),
        "truncation": body.get("truncation", "disabled"),
        "parallel_tool_calls": asked.parallel_calls,
        "text": {"format": {"type": "text"}, **text},
        "top_p": asked.request.options.get("top_p", 1.0),
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "top_logprobs": 0,
        "temperature": asked.request.options.get("temperature", 1.0),
        "reasoning": body.get("reasoning"),
        "usage": usage(done.metrics) if done is not None else None,
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": None,
        "store": asked.keep,
        "background": False,
        "service_tier": "default",
        "metadata": body.get("metadata", {}),
        "safety_identifier": None,
        "prompt_cache_key": None,
    }


def usage(metrics: Metrics | None) -> Json | None:
    """All of it or nothing: there are clients that fail where a part is missing."""
    if metrics is None:
        return None
    return {
        "input_tokens": metrics.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": metrics.generated_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": metrics.prompt_tokens + metrics.generated_tokens,
    }
