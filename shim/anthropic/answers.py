"""Answers of `/v1/messages`: the inner stream to one body or to events.

An answer is a list of blocks, each of one kind: thinking, text, or a call. In a stream a block is opened,
filled and closed before the next one begins. Source: Anthropic's API reference on streaming.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator, Iterable

from modelfiles.messages import ToolCall
from shim import sse
from shim.events import Calls, Content, Done, Event, Metrics, Thinking
from shim.gathering import gather
from shim.gojson import encode
from shim.requests import ChatRequest

Json = dict[str, object]
Events = AsyncGenerator[Event, None]

_CHARACTERS_A_TOKEN = 4


async def collect(request: ChatRequest, events: Events) -> Json:
    """The answer as one body. Errors of `events` pass through."""
    whole = await gather(events)
    content: list[Json] = []
    if whole.thinking:
        content.append({"type": "thinking", "thinking": whole.thinking, "signature": ""})
    if whole.content:
        content.append({"type": "text", "text": whole.content})
    content += [{**_tool_use(call), "input": call.arguments} for call in whole.calls]
    return {
        **_opening(request),
        "content": content,
        "stop_reason": stop_reason(whole.done, called=bool(whole.calls)),
        "stop_sequence": None,
        "usage": _usage(whole.done.metrics),
    }


async def stream(request: ChatRequest, events: Events) -> AsyncGenerator[bytes, None]:
    """The answer as events. Errors of `events` pass through; those before its first piece come first."""
    writer = _Writer()
    begun = False
    async with contextlib.aclosing(events):
        async for event in events:
            if not begun:
                begun = True
                yield _start(request)
            if isinstance(event, Done):
                for piece in (*writer.close(), *_end(event, called=writer.called)):
                    yield piece
                return
            for piece in writer.write(event):
                yield piece


class _Writer:
    """Writes blocks, of which at most one is open."""

    def __init__(self) -> None:
        self.called = False
        self._open: type | None = None
        self._index = -1

    def write(self, event: Content | Thinking | Calls) -> Iterable[bytes]:
        if isinstance(event, Calls):
            for call in event.calls:
                yield from self._call(call)
        elif event.text:
            yield from self._text(event)

    def close(self) -> Iterable[bytes]:
        """The end of the block that is open."""
        if self._open is not None:
            self._open = None
            yield _event("content_block_stop", {"index": self._index})

    def _text(self, event: Content | Thinking) -> Iterable[bytes]:
        kind = "text" if isinstance(event, Content) else "thinking"
        if self._open is not type(event):
            signature = {"signature": ""} if kind == "thinking" else {}
            empty: Json = {"type": kind, kind: "", **signature}
            yield from self._begin(empty, type(event))
        yield self._delta({"type": f"{kind}_delta", kind: event.text})

    def _call(self, call: ToolCall) -> Iterable[bytes]:
        self.called = True
        yield from self._begin({**_tool_use(call), "input": {}}, Calls)
        arguments = encode(call.arguments).decode()
        yield self._delta({"type": "input_json_delta", "partial_json": arguments})
        yield from self.close()

    def _begin(self, block: Json, kind: type) -> Iterable[bytes]:
        yield from self.close()
        self._open = kind
        self._index += 1
        yield _event("content_block_start", {"index": self._index, "content_block": block})

    def _delta(self, delta: Json) -> bytes:
        return _event("content_block_delta", {"index": self._index, "delta": delta})


def stop_reason(done: Done, *, called: bool) -> str:
    """Why an answer ended; one that repeated itself was stopped."""
    if done.reason == "length":
        return "max_tokens"
    return "tool_use" if called else "end_turn"


def _start(request: ChatRequest) -> bytes:
    """How many tokens the prompt has is known in the end only; until then a guess has to do."""
    characters = sum(len(message.content) for message in request.messages)
    usage = {"input_tokens": max(1, characters // _CHARACTERS_A_TOKEN), "output_tokens": 0}
    message = {**_opening(request), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    return _event("message_start", {"message": message})


def _end(done: Done, *, called: bool) -> Iterable[bytes]:
    delta = {"stop_reason": stop_reason(done, called=called), "stop_sequence": None}
    yield _event("message_delta", {"delta": delta, "usage": _usage(done.metrics)})
    yield _event("message_stop", {})


def _opening(request: ChatRequest) -> Json:
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
    }


def _tool_use(call: ToolCall) -> Json:
    return {"type": "tool_use", "id": call.id or "", "name": call.name}


def _usage(metrics: Metrics | None) -> Json:
    if metrics is None:
        return {"input_tokens": 0, "output_tokens": 0}
    return {"input_tokens": metrics.prompt_tokens, "output_tokens": metrics.generated_tokens}


def _event(name: str, fields: Json) -> bytes:
    return sse.event(name, {"type": name, **fields})
