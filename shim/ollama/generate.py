"""`/api/generate`: body to inner request, inner stream to lines or to one body."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

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
from shim.requests import GenerateRequest

_TEXTS = ("prompt", "suffix", "system", "template", "raw")


def generate_request(body: Mapping[str, object]) -> GenerateRequest:
    """The request that a decoded body (`shim.ollama.fields.GENERATE`) makes. ApiError."""
    fields = shared_fields(body) | {name: body[name] for name in _TEXTS if name in body}
    images, context = body.get("images"), body.get("context")
    fields["images"] = tuple(images) if isinstance(images, list) else ()
    fields["context"] = tuple(context) if isinstance(context, list) else None
    return GenerateRequest(**fields)  # type: ignore[arg-type]  # decoded by type


def answer_at_once(request: GenerateRequest, outcome: Outcome, stamps: Stamps) -> Json | None:
    """The whole answer where the model does not write one, streamed or not; None where it does."""
    opening: Json = {"model": request.model, "created_at": stamps.next(), "response": ""}
    if isinstance(outcome, Settled):
        return {**opening, "done": True, "done_reason": outcome.reason}
    if isinstance(outcome, Shown):
        return {**opening, "done": False, **debug_field(outcome.prompt, outcome.image_count)}
    return None


def stream(
    request: GenerateRequest, events: AsyncGenerator[Event, None], stamps: Stamps
) -> AsyncGenerator[bytes, None]:
    """The answer as lines, each with its newline. Errors of `events` pass through."""
    content: Json = {"response": None, "done": False}
    thinking: Json = {"response": "", "thinking": None, "done": False}
    return EventLines(request.model, stamps, content, thinking, _item).stream(events)


async def collect(request: GenerateRequest, events: AsyncGenerator[Event, None], stamps: Stamps) -> Json:
    """The answer as one body. Errors of `events` pass through."""
    whole = await gather(events)
    return {
        "model": request.model,
        "created_at": stamps.next(),
        **_texts(whole.content, whole.thinking),
        **_end(whole.done),
        **calls_field(whole.calls),
        **logprobs_field(whole.logprobs),
    }


def _item(event: Event) -> Json:
    if isinstance(event, Done):
        return {**_texts("", ""), **_end(event)}
    texts = _texts(
        event.text if isinstance(event, Content) else "",
        event.text if isinstance(event, Thinking) else "",
    )
    calls = calls_field(event.calls) if isinstance(event, Calls) else {}
    return {**texts, "done": False, **calls, **logprobs_field(event.logprobs)}


def _texts(response: str, thinking: str) -> Json:
    return {"response": response, **({"thinking": thinking} if thinking else {})}


def _end(done: Done) -> Json:
    context = {"context": done.context} if done.context else {}
    return {**done_fields(done), **context, **metrics_fields(done.metrics)}
