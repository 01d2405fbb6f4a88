"""Answers of `/v1/chat/completions`: inner streams to one body or to chunks. Pure, but for the clock.

Fields and their order are those of Ollama's endpoint. Thinking goes out under both names that servers use,
since half of the clients know only one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import AsyncGenerator, Iterable, Sequence

from modelfiles.messages import ToolCall
from runtime.events import TokenLogprob
from shim import sse
from shim.events import Calls, Content, Done, Event, Metrics, Thinking
from shim.gathering import Whole, gather
from shim.gojson import encode
from shim.openai.chat import Asked

Json = dict[str, object]
Events = AsyncGenerator[Event, None]

FINGERPRINT = "fp_ollama"
_LOWEST_LOGPROB = -9999.0  # what JSON can say in the place of minus infinity


async def collect(asked: Asked, sources: Sequence[Events]) -> Json:
    """All answers as one body; they are written at the same time. Errors of the sources pass through."""
    wholes = await gather_all(sources)
    return {
        **opening("chat.completion", "chatcmpl", asked.request.model),
        "choices": [_choice(at, whole) for at, whole in enumerate(wholes)],
        "usage": usage(whole.done.metrics for whole in wholes),
    }


async def gather_all(sources: Sequence[Events]) -> list[Whole]:
    """Every source read to its end. The first failure ends the others, and is what is raised."""
    if len(sources) == 1:
        return [await gather(sources[0])]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(gather(source)) for source in sources]
    except* Exception as failures:  # noqa: BLE001  told as it is, out of its group
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _choice(index: int, whole: Whole) -> Json:
    message: Json = {"role": "assistant", "content": whole.content, **_thinking(whole.thinking)}
    if whole.calls:
        message["tool_calls"] = calls(whole.calls)
    choice: Json = {"index": index, "message": message}
    choice["finish_reason"] = finish_reason(whole.done, called=bool(whole.calls))
    return choice | ({"logprobs": logprobs(whole.logprobs)} if whole.logprobs else {})


async def stream(asked: Asked, sources: Sequence[Events]) -> AsyncGenerator[bytes, None]:
    """Every answer as chunks, one answer after the other. Errors of the sources pass through."""
    chunks = Chunks(asked.request.model)
    metrics: list[Metrics | None] = []
    for index, source in enumerate(sources):
        called, fresh = False, True
        async with contextlib.aclosing(source):
            async for event in source:
                if isinstance(event, Done):
                    metrics.append(event.metrics)
                    if fresh:
                        yield chunks.chunk(index, {"role": "assistant", "content": ""}, None)
                    yield chunks.chunk(index, {}, finish_reason(event, called=called))
                    continue
                called = called or isinstance(event, Calls)
                if type(event) is Content and not event.logprobs and not fresh:
                    yield chunks.content(index, event.text)
                    continue
                delta = {"role": "assistant"} | _delta(event) if fresh else _delta(event)
                fresh = False
                yield chunks.chunk(index, delta, None, event.logprobs)
    if asked.with_usage:
        yield sse.data({**chunks.opening, "choices": [], "usage": usage(metrics)})
    yield sse.DONE


class Chunks:
    """Makes the chunks of one stream. Most hold a piece of text only; what surrounds it is encoded once."""

    def __init__(self, model: str) -> None:
        self.opening = opening("chat.completion.chunk", "chatcmpl", model)
        self._around: dict[int, tuple[bytes, bytes]] = {}

    def content(self, index: int, text: str) -> bytes:
        """A piece of an answer's text."""
        around = self._around.get(index)
        if around is None:
            before, _, behind = self.chunk(index, {"content": 0}, None).rpartition(b'"content":0')
            around = self._around[index] = (before + b'"content":', behind)
        return around[0] + encode(text) + around[1]

    def chunk(
        self, index: int, delta: Json, reason: str | None, tokens: Sequence[TokenLogprob] = ()
    ) -> bytes:
        """Any other."""
        choice: Json = {"index": index, "delta": delta, "finish_reason": reason}
        if tokens:
            choice["logprobs"] = logprobs(tokens)
        return sse.data({**self.opening, "choices": [choice]})


def _delta(event: Content | Thinking | Calls) -> Json:
    match event:
        case Content():
            return {"content": event.text}
        case Thinking():
            return {"content": "", **_thinking(event.text)}
    return {"content": "", "tool_calls": calls(event.calls)}


def _thinking(text: str) -> Json:
    return {"reasoning": text, "reasoning_content": text} if text else {}


def opening(kind: str, prefix: str, model: str) -> Json:
    """What every body and chunk begins with."""
    return {
        "id": f"{prefix}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": FINGERPRINT,
    }


def calls(made: Iterable[ToolCall]) -> list[Json]:
    """`tool_calls`, each whole, with its arguments as a text."""
    return [
        {
            "id": call.id or "",
            "index": call.index or 0,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call)},
        }
        for call in made
    ]


def arguments_text(call: ToolCall) -> str:
    """The arguments as JSON."""
    return encode(call.arguments).decode()


def finish_reason(done: Done, *, called: bool) -> str:
    """Why an answer ended; one that repeated itself was stopped."""
    if done.reason == "length":
        return "length"
    return "tool_calls" if called else "stop"


def usage(metrics: Iterable[Metrics | None]) -> Json:
    """Tokens: the prompt's once, those of all answers."""
    known = [item for item in metrics if item is not None]
    prompt = known[0].prompt_tokens if known else 0
    generated = sum(item.generated_tokens for item in known)
    return {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated}


def logprobs(tokens: Iterable[TokenLogprob]) -> Json:
    """Log probabilities of the chosen tokens, and of the best alternatives."""
    listed = [
        _entry(item.token, item.bytes, item.logprob)
        | {"top_logprobs": [_entry(*alternative) for alternative in item.top]}
        for item in tokens
    ]
    return {"content": listed}


def _entry(token: str, data: bytes, logprob: float) -> Json:
    value = logprob if math.isfinite(logprob) else _LOWEST_LOGPROB
    return {"token": token, "logprob": value, "bytes": list(data)}
