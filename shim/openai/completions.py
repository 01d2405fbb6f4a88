"""`/v1/completions`: body to inner requests, inner streams to one body or to chunks.

As in Ollama a prompt is rendered with the model's template, like a chat of one message. Several prompts make
several answers, and `n` makes several of each.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runtime.events import TokenLogprob
from shim import sse
from shim.errors import bad_request
from shim.events import Content, Done, Metrics
from shim.generation import Settled
from shim.openai.answers import Events, Json, finish_reason, gather_all, opening, usage
from shim.openai.chat import MOST_ANSWERS, answers, wants_usage
from shim.openai.sampling import sampling_options, structure
from shim.requests import GenerateRequest


@dataclass(frozen=True, slots=True)
class Completions:
    """Requests, one for each answer, and how they are told. `n`: answers of each prompt."""

    requests: tuple[GenerateRequest, ...]
    n: int = 1
    with_usage: bool = False

    @property
    def model(self) -> str:
        """The model's name as the client wrote it."""
        return self.requests[0].model

    @property
    def stream(self) -> bool:
        """Whether the answers are told piece by piece."""
        return self.requests[0].stream


def asked(body: Mapping[str, object]) -> Completions:
    """What a decoded body (`shim.openai.fields.COMPLETION`) asks for. ApiError."""
    options, wanted, n = sampling_options(body), structure(body), answers(body)
    if "max_tokens" in body:
        options["num_predict"] = body["max_tokens"]
    top, keep_alive = body.get("logprobs"), body.get("keep_alive")
    request = GenerateRequest(
        model=str(body.get("model", "")),
        suffix=str(body.get("suffix", "")),
        options=options,
        format=wanted.format,
        constraint=wanted.constraint,
        keep_alive=keep_alive if isinstance(keep_alive, float) else None,
        stream=bool(body.get("stream", False)),
        logprobs=isinstance(top, int),
        top_logprobs=top if isinstance(top, int) else 0,
        truncate=False,
        shift=False,
    )
    prompts = _prompts(body.get("prompt", ""))
    if len(prompts) * n > MOST_ANSWERS:
        raise bad_request(f"at most {MOST_ANSWERS} answers can be had at once")
    requests = [_seeded(replace(request, prompt=prompt), at) for prompt in prompts for at in range(n)]
    return Completions(tuple(requests), n, wants_usage(body))


def _prompts(given: object) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, list) and given and all(isinstance(text, str) for text in given):
        return given
    raise bad_request("prompt must be a text, or a list of texts")


def _seeded(request: GenerateRequest, at: int) -> GenerateRequest:
    seed = request.options.get("seed")
    if at == 0 or not isinstance(seed, int) or seed < 0:
        return request
    return replace(request, options={**request.options, "seed": seed + at})


def settled(made: Completions, outcome: Settled) -> Json:
    """The body where the model had only to be loaded."""
    choice = {"text": "", "index": 0, "logprobs": None, "finish_reason": outcome.reason}
    return {**opening("text_completion", "cmpl", made.model), "choices": [choice], "usage": usage(())}


async def collect(made: Completions, sources: Sequence[Events]) -> Json:
    """All answers as one body. Errors of the sources pass through."""
    wholes = await gather_all(sources)
    choices = [
        {
            "text": whole.content,
            "index": at,
            "logprobs": _logprobs(whole.logprobs),
            "finish_reason": finish_reason(whole.done, called=False),
        }
        for at, whole in enumerate(wholes)
    ]
    metrics = [whole.done.metrics for whole in wholes]
    return {
        **opening("text_completion", "cmpl", made.model),
        "choices": choices,
        "usage": _usage(metrics, made.n),
    }


async def stream(made: Completions, sources: Sequence[Events]) -> AsyncGenerator[bytes, None]:
    """Every answer as chunks, one answer after the other. Errors of the sources pass through."""
    head = opening("text_completion", "cmpl", made.model)
    metrics: list[Metrics | None] = []

    def chunk(index: int, text: str, reason: str | None, tokens: Iterable[TokenLogprob] = ()) -> bytes:
        choice = {"text": text, "index": index, "logprobs": _logprobs(tokens), "finish_reason": reason}
        return sse.data({**head, "choices": [choice]})

    for index, source in enumerate(sources):
        async with contextlib.aclosing(source):
            async for event in source:
                if isinstance(event, Done):
                    metrics.append(event.metrics)
                    yield chunk(index, "", finish_reason(event, called=False))
                elif isinstance(event, Content):
                    yield chunk(index, event.text, None, event.logprobs)
    if made.with_usage:
        yield sse.data({**head, "choices": [], "usage": _usage(metrics, made.n)})
    yield sse.DONE


def _usage(metrics: Sequence[Metrics | None], n: int) -> Json:
    """The tokens of every prompt once, and of every answer."""
    told = usage(metrics)
    prompt = sum(item.prompt_tokens for item in metrics[::n] if item is not None)
    generated = told["completion_tokens"]
    total = prompt + generated if isinstance(generated, int) else prompt
    return {**told, "prompt_tokens": prompt, "total_tokens": total}


def _logprobs(tokens: Iterable[TokenLogprob]) -> Json | None:
    """Log probabilities in the older form: lists, side by side."""
    listed = list(tokens)
    if not listed:
        return None
    return {
        "tokens": [item.token for item in listed],
        "token_logprobs": [max(item.logprob, -9999.0) for item in listed],
        "top_logprobs": [
            {token: max(logprob, -9999.0) for token, _, logprob in item.top} for item in listed
        ],
    }
