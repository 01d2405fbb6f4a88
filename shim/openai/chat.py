"""`/v1/chat/completions`: body to inner request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shim.errors import bad_request
from shim.openai.messages import messages
from shim.openai.sampling import reasoning, sampling_options, structure
from shim.openai.tool_choice import tool_choice
from shim.requests import ChatRequest

MOST_ANSWERS = 128


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and how its answer is to be told. `n`: so many answers."""

    request: ChatRequest
    n: int = 1
    with_usage: bool = False
    parallel_calls: bool = True

    def requests(self) -> tuple[ChatRequest, ...]:
        """One for each answer; a seed is counted up, so that the answers differ and can be had again."""
        seed = self.request.options.get("seed")
        if self.n == 1 or not isinstance(seed, int) or seed < 0:
            return (self.request,) * self.n
        return tuple(
            replace(self.request, options={**self.request.options, "seed": seed + at}) for at in range(self.n)
        )


def asked(body: Mapping[str, object]) -> Asked:
    """What a decoded body (`shim.openai.fields.CHAT`) asks for. ApiError."""
    return Asked(
        chat_request(body),
        answers(body),
        wants_usage(body),
        bool(body.get("parallel_tool_calls", True)),
    )


def chat_request(body: Mapping[str, object]) -> ChatRequest:
    """The request that a decoded body makes. What does not fit into the context is refused. ApiError."""
    options, wanted, thought = sampling_options(body), structure(body), reasoning(body)
    longest = body.get("max_completion_tokens", body.get("max_tokens"))
    if longest is not None:
        options["num_predict"] = longest
    choice = tool_choice(body.get("tools"), body.get("tool_choice"))
    keep_alive = body.get("keep_alive")
    top = body.get("top_logprobs", 0)
    return ChatRequest(
        model=str(body.get("model", "")),
        messages=messages(body.get("messages")),
        tools=choice.tools,
        must_call=choice.must_call,
        options=options,
        format=wanted.format,
        constraint=wanted.constraint,
        think=thought.think,
        think_if_able=thought.if_able,
        template_variables=thought.variables,
        keep_alive=keep_alive if isinstance(keep_alive, float) else None,
        stream=bool(body.get("stream", False)),
        logprobs=bool(body.get("logprobs", False)),
        top_logprobs=top if isinstance(top, int) else 0,
        truncate=False,
        shift=False,
    )


def answers(body: Mapping[str, object]) -> int:
    """How many answers are wanted. ApiError."""
    n = body.get("n", 1)
    if not isinstance(n, int) or not 1 <= n <= MOST_ANSWERS:
        raise bad_request(f"n must be between 1 and {MOST_ANSWERS}")
    return n


def wants_usage(body: Mapping[str, object]) -> bool:
    """Whether a stream tells in the end how many tokens there were."""
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage", False))
