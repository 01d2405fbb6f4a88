"""`/api/chat`: body to inner request, inner stream to lines or to one body."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from modelfiles.messages import Message, ToolCall, tool_from_json
from shim.events import Calls, Content, Done, Event, Thinking
from shim.gathering import gather
from shim.generation import Outcome, Settled, Shown
from shim.ollama.answers import (
    EventLines,
    Json,
    Stamps,
    calls_field,
    debug_field,
    done_fields,
    logprobs_field,
    metrics_fields,
    shared_fields,
)
from shim.requests import ChatRequest


def chat_request(body: Mapping[str, object]) -> ChatRequest:
    """The request that a decoded body (`shim.ollama.fields.CHAT`) makes. ApiError."""
    messages = tuple(_message(item) for item in _objects(body.get("messages")))
    tools = tuple(tool_from_json(item) for item in _objects(body.get("tools")))
    fields = shared_fields(body)
    return ChatRequest(messages=messages, tools=tools, **fields)  # type: ignore[arg-type]  # decoded by type


def answer_at_once(request: ChatRequest, outcome: Outcome, stamps: Stamps) -> Json | None:
    """The whole answer where the model does not write one, streamed or not; None where it does."""
    opening: Json = {"model": request.model, "created_at": stamps.next()}
    if isinstance(outcome, Settled):
        message = {"role": "assistant", "content": ""}
        return {**opening, "message": message, "done": True, "done_reason": outcome.reason}
    if isinstance(outcome, Shown):
        empty = {"role": "", "content": ""}
        return {
            **opening,
            "message": empty,
            "done": False,
            **debug_field(outcome.prompt, outcome.image_count),
        }
    return None


def stream(
    request: ChatRequest, events: AsyncGenerator[Event, None], stamps: Stamps
) -> AsyncGenerator[bytes, None]:
    """The answer as lines, each with its newline. Errors of `events` pass through."""
    content = {"message": {"role": "assistant", "content": None}, "done": False}
    thinking = {"message": {"role": "assistant", "content": "", "thinking": None}, "done": False}
    return EventLines(request.model, stamps, content, thinking, _item).stream(events)


async def collect(request: ChatRequest, events: AsyncGenerator[Event, None], stamps: Stamps) -> Json:
    """The answer as one body. Errors of `events` pass through."""
    whole = await gather(events)
    return {
        "model": request.model,
        "created_at": stamps.next(),
        "message": _answer(whole.content, whole.thinking, whole.calls),
        **done_fields(whole.done),
        **logprobs_field(whole.logprobs),
        **metrics_fields(whole.done.metrics),
    }


def _item(event: Event) -> Json:
    if isinstance(event, Done):
        return {"message": _answer("", "", ()), **done_fields(event), **metrics_fields(event.metrics)}
    message = _answer(
        event.text if isinstance(event, Content) else "",
        event.text if isinstance(event, Thinking) else "",
        event.calls if isinstance(event, Calls) else (),
    )
    return {"message": message, "done": False, **logprobs_field(event.logprobs)}


def _answer(content: str, thinking: str, calls: tuple[ToolCall, ...]) -> Json:
    thought = {"thinking": thinking} if thinking else {}
    return {"role": "assistant", "content": content, **thought, **calls_field(calls)}


def _objects(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _message(item: Mapping[str, object]) -> Message:
    images = item.get("images")
    return Message(
        role=str(item.get("role", "")),
        content=str(item.get("content", "")),
        thinking=str(item.get("thinking", "")),
        images=tuple(images) if isinstance(images, list) else (),
        tool_calls=tuple(_call(call) for call in _objects(item.get("tool_calls"))),
        tool_name=str(item.get("tool_name", "")),
        tool_call_id=str(item.get("tool_call_id", "")),
    )


def _call(item: Mapping[str, object]) -> ToolCall:
    function = item.get("function")
    function = function if isinstance(function, Mapping) else {}
    arguments, index, identity = function.get("arguments"), function.get("index"), item.get("id")
    return ToolCall(
        name=str(function.get("name", "")),
        arguments=dict(arguments) if isinstance(arguments, Mapping) else {},
        id=identity if isinstance(identity, str) and identity else None,
        index=index if isinstance(index, int) else None,
    )
