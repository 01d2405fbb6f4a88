"""What the answers of Ollama's chat and generate have in common: times, metrics, log probabilities, lines.

One line is written for every token, so what does not change in it is encoded once. Pure, but for the clock
that is handed in.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

from modelfiles.messages import ToolCall
from runtime.events import TokenLogprob
from shim.bodykinds import Raw, read_keep_alive
from shim.errors import bad_request
from shim.events import Content, Done, Event, Metrics, Thinking
from shim.gojson import encode, encode_string

NowNs = Callable[[], int]
Json = dict[str, object]

_LOWEST_LOGPROB = -9999.0  # what JSON can say in the place of minus infinity


class Stamps:
    """`created_at` of one answer's items: RFC 3339 in UTC, as few digits as needed."""

    def __init__(self, now_ns: NowNs = time.time_ns) -> None:
        self._now_ns = now_ns
        self._seconds = -1
        self._text = ""

    def next(self) -> str:
        seconds, fraction = divmod(self._now_ns(), 1_000_000_000)
        if seconds != self._seconds:
            self._seconds = seconds
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        if not fraction:
            return f"{self._text}Z"
        return f"{self._text}.{fraction:09d}".rstrip("0") + "Z"


class TextLines:
    """Encodes lines that differ in their time and one text only; `shape` marks those two places."""

    def __init__(self, model: str, stamps: Stamps, shape: Json) -> None:
        """`shape` is what follows `created_at`, with None where the text goes."""
        whole = encode({"model": model, "created_at": "", **shape})
        opening = encode({"model": model, "created_at": ""})[:-2]
        self._opening = opening
        self._middle, _, closing = whole[len(opening) :].rpartition(b"null")
        self._closing = closing + b"\n"
        self._stamps = stamps

    def line(self, text: str) -> bytes:
        """The line, with its newline."""
        return b"".join(
            (
                self._opening,
                self._stamps.next().encode(),
                self._middle,
                encode_string(text),
                self._closing,
            )
        )


class EventLines:
    """The lines of one answer: `content` and `thinking` are shapes as above, `item` makes all other lines."""

    def __init__(
        self, model: str, stamps: Stamps, content: Json, thinking: Json, item: Callable[[Event], Json]
    ) -> None:
        self._model = model
        self._stamps = stamps
        self._content = TextLines(model, stamps, content)
        self._thinking = TextLines(model, stamps, thinking)
        self._item = item

    async def stream(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[bytes, None]:
        """Every event as a line with its newline; closes `events` in the end, and lets its errors pass."""
        async with contextlib.aclosing(events):
            async for event in events:
                if type(event) is Content and not event.logprobs:
                    yield self._content.line(event.text)
                elif type(event) is Thinking and not event.logprobs:
                    yield self._thinking.line(event.text)
                else:
                    opening: Json = {"model": self._model, "created_at": self._stamps.next()}
                    yield encode(opening | self._item(event)) + b"\n"


def done_fields(done: Done) -> Json:
    """Whether and why the answer ended."""
    return {"done": True, "done_reason": done.reason}


def metrics_fields(metrics: Metrics | None) -> Json:
    """Counts that are zero are left out; durations are at least 1, since some clients insist on them."""
    if metrics is None:
        return {}
    fields: Json = {
        "total_duration": max(1, metrics.total_ns),
        "load_duration": max(1, metrics.load_ns),
    }
    if metrics.prompt_tokens:
        fields["prompt_eval_count"] = metrics.prompt_tokens
    fields["prompt_eval_duration"] = max(1, metrics.prompt_ns)
    if metrics.generated_tokens:
        fields["eval_count"] = metrics.generated_tokens
    fields["eval_duration"] = max(1, metrics.generate_ns)
    return fields


def logprobs_field(logprobs: Iterable[TokenLogprob]) -> Json:
    """`logprobs`, where there are any."""
    listed = [_logprob(item) for item in logprobs]
    return {"logprobs": listed} if listed else {}


def calls_field(calls: Iterable[ToolCall]) -> Json:
    """`tool_calls`, where there are any."""
    listed = [
        {
            **({"id": call.id} if call.id else {}),
            "function": {"index": call.index or 0, "name": call.name, "arguments": call.arguments},
        }
        for call in calls
    ]
    return {"tool_calls": listed} if listed else {}


def debug_field(prompt: str, image_count: int) -> Json:
    """`_debug_info`: the prompt instead of an answer."""
    count = {"image_count": image_count} if image_count else {}
    return {"_debug_info": {"rendered_template": prompt, **count}}


def shared_fields(body: Mapping[str, object]) -> dict[str, object]:
    """What both requests have in common, under the names of `shim.requests.Generation`. ApiError."""
    options = body.get("options") or {}
    structure = body.get("format")
    fields: dict[str, object] = {
        "model": body.get("model", ""),
        "options": options,
        "keep_alive": _keep_alive(body, options),
        "format": structure.text if isinstance(structure, Raw) else "",
        "debug_render_only": body.get("_debug_render_only", False),
    }
    same = ("think", "stream", "truncate", "shift", "logprobs", "top_logprobs")
    return fields | {name: body[name] for name in same if name in body}


def _keep_alive(body: Mapping[str, object], options: object) -> object:
    """Some clients put it among the options."""
    misplaced = options.get("keep_alive") if isinstance(options, Mapping) else None
    if "keep_alive" in body or misplaced in (None, ""):
        return body.get("keep_alive")
    try:
        return read_keep_alive(misplaced)
    except ValueError as error:
        raise bad_request(str(error)) from None


def _logprob(item: TokenLogprob) -> Json:
    top = [_entry(*alternative) for alternative in item.top]
    return _entry(item.token, item.bytes, item.logprob) | ({"top_logprobs": top} if top else {})


def _entry(token: str, data: bytes, logprob: float) -> Json:
    value = logprob if math.isfinite(logprob) else _LOWEST_LOGPROB
    return {"token": token, "logprob": value, **({"bytes": list(data)} if data else {})}
