"""The answer of `/v1/responses`, item by item: thinking, text, calls, each opened, filled and finished.

One writer makes both the events of a stream and the items of the whole answer, so that they cannot differ.
Source: OpenAI's API reference on streaming of responses.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator, Iterable

from modelfiles.messages import Message, ToolCall
from shim import sse
from shim.errors import ApiError
from shim.events import Calls, Content, Done, Event, Thinking
from shim.openai.answers import arguments_text
from shim.openai.responses import Asked, answer_message, response
from shim.openai.stored import StoredResponses

Json = dict[str, object]
Events = AsyncGenerator[Event, None]
Named = tuple[str, Json]


async def collect(asked: Asked, events: Events, stored: StoredResponses) -> Json:
    """The answer as one body. Errors of `events` pass through."""
    writer = Writer()
    done = Done("stop")
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                done = event
            else:
                list(writer.write(event))
    list(writer.close())
    _keep(asked, writer, stored)
    return response(asked, status="completed", output=writer.output, done=done)


async def stream(asked: Asked, events: Events, stored: StoredResponses) -> AsyncGenerator[bytes, None]:
    """The answer as events. Errors before its first piece pass through; later ones end it as a failure."""
    writer, numbers = Writer(), Numbers()
    begun = False
    async with contextlib.aclosing(events):
        async for event in events:
            if not begun:
                begun = True
                for name in ("response.created", "response.in_progress"):
                    yield numbers.event(name, {"response": response(asked, status="in_progress")})
            if not isinstance(event, Done):
                for named in writer.write(event):
                    yield numbers.event(*named)
                continue
            for named in writer.close():
                yield numbers.event(*named)
            _keep(asked, writer, stored)
            whole = response(asked, status="completed", output=writer.output, done=event)
            name = "response.incomplete" if event.reason == "length" else "response.completed"
            yield numbers.event(name, {"response": whole})


def failed(asked: Asked, error: ApiError) -> bytes:
    """An error in the middle of a stream."""
    told = response(asked, status="failed") | {"error": {"code": "server_error", "message": error.message}}
    return sse.event("response.failed", {"type": "response.failed", "response": told})


def _keep(asked: Asked, writer: Writer, stored: StoredResponses) -> None:
    if asked.keep:
        stored.put(asked.identity, (*asked.said, writer.message()))


class Numbers:
    """Counts the events of one stream."""

    def __init__(self) -> None:
        self._next = 0

    def event(self, name: str, fields: Json) -> bytes:
        """The event under its name and number."""
        number = self._next
        self._next += 1
        return sse.event(name, {"type": name, "sequence_number": number, **fields})


class Writer:
    """Makes items; at most one is open."""

    def __init__(self) -> None:
        self.output: list[Json] = []
        self._calls: list[ToolCall] = []
        self._said: dict[type, list[str]] = {Content: [], Thinking: []}
        self._open: type | None = None
        self._identity = ""
        self._texts: list[str] = []

    def message(self) -> Message:
        """All that was written, as one message."""
        content, thinking = "".join(self._said[Content]), "".join(self._said[Thinking])
        return answer_message(content, thinking, self._calls)

    def write(self, event: Content | Thinking | Calls) -> Iterable[Named]:
        """The events that tell of it."""
        if isinstance(event, Calls):
            yield from self.close()
            for call in event.calls:
                yield from self._call(call)
        elif event.text:
            if self._open is not type(event):
                yield from self.close()
                yield from self._begin(type(event))
            self._texts.append(event.text)
            self._said[type(event)].append(event.text)
            name = "output_text" if self._open is Content else "reasoning_summary_text"
            logprobs: Json = {"logprobs": []} if self._open is Content else {}
            yield f"response.{name}.delta", {**self._place(), "delta": event.text, **logprobs}

    def close(self) -> Iterable[Named]:
        """The end of the item that is open."""
        kind, self._open = self._open, None
        if kind is not None:
            text = "".join(self._texts)
            yield from self._end_text(text) if kind is Content else self._end_thinking(text)

    def _begin(self, kind: type) -> Iterable[Named]:
        self._open = kind
        self._texts = []
        self._identity = f"{'msg' if kind is Content else 'rs'}_{secrets.token_hex(12)}"
        if kind is Content:
            yield self._added(_message(self._identity, "in_progress", []))
            yield "response.content_part.added", {**self._at(0, "content"), "part": _text("")}
        else:
            yield self._added({"id": self._identity, "type": "reasoning", "summary": []})
            part = {"type": "summary_text", "text": ""}
            yield "response.reasoning_summary_part.added", {**self._at(0, "summary"), "part": part}

    def _end_text(self, text: str) -> Iterable[Named]:
        place = self._at(0, "content")
        yield "response.output_text.done", {**place, "text": text, "logprobs": []}
        yield "response.content_part.done", {**place, "part": _text(text)}
        yield self._done(_message(self._identity, "completed", [_text(text)]))

    def _end_thinking(self, text: str) -> Iterable[Named]:
        place, part = self._at(0, "summary"), {"type": "summary_text", "text": text}
        yield "response.reasoning_summary_text.done", {**place, "text": text}
        yield "response.reasoning_summary_part.done", {**place, "part": part}
        yield self._done(
            {"id": self._identity, "type": "reasoning", "summary": [part], "encrypted_content": text}
        )

    def _call(self, call: ToolCall) -> Iterable[Named]:
        self._calls.append(call)
        self._identity = f"fc_{secrets.token_hex(12)}"
        arguments = arguments_text(call)
        item: Json = {
            "id": self._identity,
            "type": "function_call",
            "status": "in_progress",
            "call_id": call.id or self._identity,
            "name": call.name,
            "arguments": "",
        }
        place: Json = {"item_id": self._identity, "output_index": len(self.output)}
        yield self._added(item)
        yield "response.function_call_arguments.delta", {**place, "delta": arguments}
        yield "response.function_call_arguments.done", {**place, "name": call.name, "arguments": arguments}
        yield self._done({**item, "status": "completed", "arguments": arguments})

    def _added(self, item: Json) -> Named:
        return "response.output_item.added", {"output_index": len(self.output), "item": item}

    def _done(self, item: Json) -> Named:
        self.output.append(item)
        return "response.output_item.done", {"output_index": len(self.output) - 1, "item": item}

    def _place(self) -> Json:
        return self._at(0, "content" if self._open is Content else "summary")

    def _at(self, index: int, part: str) -> Json:
        place: Json = {"item_id": self._identity, "output_index": len(self.output)}
        return place | {f"{part}_index": index}


def _message(identity: str, status: str, content: list[Json]) -> Json:
    return {"id": identity, "type": "message", "status": status, "role": "assistant", "content": content}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
