"""Reuse of what a slot holds, on attention-only and hybrid models: fast, and never a different answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.engine import NativeEngine, load_engine
from runtime.events import Finished, Submit
from runtime.options import LoadOptions, SamplingOptions
from tests.runtime.engine_contract import Collector, Reply, greedy


@dataclass(frozen=True)
class Model:
    """A file, and how far the first token's log probability may move when batches have other shapes.

    Without flash attention, whose rounding depends on the shape of the batch (up to 0.25 on these models), it
    moves at most 0.006. Another prompt moves it by several units.
    """

    path: Path
    architecture: str
    tolerance: float

    def load(self, num_ctx: int, num_parallel: int = 1) -> NativeEngine:
        options = LoadOptions(num_ctx=num_ctx, num_parallel=num_parallel, flash_attention=False)
        return load_engine(str(self.path), self.architecture, options, lambda _: True)


@pytest.fixture(params=["attention", "hybrid"])
def model(request: pytest.FixtureRequest) -> Model:
    """Attention in every layer, or recurrent layers too."""
    if request.param == "attention":
        return Model(request.getfixturevalue("tiny_qwen3moe_gguf"), "qwen3moe", 0.02)
    return Model(request.getfixturevalue("tiny_qwen35moe_gguf"), "qwen35moe", 0.02)


@pytest.fixture
def engine(model: Model) -> Iterator[NativeEngine]:
    engine = model.load(num_ctx=16384, num_parallel=2)
    yield engine
    engine.close()


def prompt_tokens(count: int, seed: int = 0) -> list[int]:
    """Token ids without a pattern, so that every position matters."""
    return [1000 + (i * i * 7 + i * 13 + seed * 101) % 40_000 for i in range(count)]


def ask(engine: NativeEngine, tokens: list[int], num_predict: int = 8) -> Reply:
    request = Submit(ask_id(), tokens, greedy(num_predict), logprobs=2, echo_tokens=True)
    return Collector(engine).run(request)[0]


def ask_id(counter: Iterator[int] = iter(range(1, 1 << 30))) -> int:  # noqa: B008 - one counter for all
    return next(counter)


def first_logprob(reply: Reply) -> float:
    return reply.logprobs[0].logprob


def same_answer(one: Reply, other: Reply, model: Model) -> bool:
    return abs(first_logprob(one) - first_logprob(other)) < model.tolerance


def test_second_turn_after_a_long_prompt(engine: NativeEngine) -> None:
    """In the field, long prompts on hybrid models gave empty answers without an error."""
    tokens = prompt_tokens(12_000)
    first = ask(engine, tokens)
    assert first.finished.generated_tokens == 8
    assert (first.finished.reason, first.finished.detail) == ("length", "num_predict")
    assert first.finished.tokens is not None
    longer = first.finished.tokens + prompt_tokens(50, seed=3)
    second = ask(engine, longer)
    assert second.finished.generated_tokens == 8
    assert second.finished.cached_tokens >= 12_000
    assert second.finished.prompt_tokens == len(longer)


@pytest.mark.parametrize("size", [40, 700, 5000])
def test_reuse_changes_no_answer(engine: NativeEngine, model: Model, size: int) -> None:
    """Same prompt again, a longer one, and one that differs near the end, each against a fresh model."""
    base = prompt_tokens(size)
    variants = [
        base,
        base + prompt_tokens(30, seed=1),
        base[:-8] + prompt_tokens(20, seed=2),
        base[: size // 2],
    ]
    ask(engine, base)
    warm = [ask(engine, tokens) for tokens in variants]
    fresh_engine = model.load(num_ctx=16384)
    for tokens, reply in zip(variants, warm, strict=True):
        ask(fresh_engine, prompt_tokens(3, seed=9))  # nothing of the variant is cached
        fresh = ask(fresh_engine, tokens)
        assert fresh.finished.cached_tokens == 0
        assert same_answer(reply, fresh, model)
    fresh_engine.close()


def test_the_end_of_a_prompt_may_differ_cheaply(engine: NativeEngine) -> None:
    """A thinking block opened at the end of one turn is gone in the next: that costs a few tokens, not
    all.
    """
    base = prompt_tokens(3000)
    ask(engine, base)
    changed = ask(engine, base[:-6] + prompt_tokens(40, seed=5))
    assert changed.finished.cached_tokens >= 2980


def test_the_same_prompt_again_is_cheap(engine: NativeEngine) -> None:
    tokens = prompt_tokens(2000)
    ask(engine, tokens)
    assert ask(engine, tokens).finished.cached_tokens >= 1980


def test_conversations_keep_their_own_slots(engine: NativeEngine) -> None:
    """Two conversations in turn don't throw each other out."""
    one, two = prompt_tokens(600, seed=1), prompt_tokens(600, seed=2)
    ask(engine, one)
    ask(engine, two)
    assert ask(engine, [*one, 5, 6, 7]).finished.cached_tokens >= 580
    assert ask(engine, [*two, 5, 6, 7]).finished.cached_tokens >= 580


def test_cancel_in_the_middle_of_a_prompt_then_again(engine: NativeEngine) -> None:
    tokens = prompt_tokens(12_000, seed=4)
    collector = Collector(engine)
    collector.submit(Submit(ask_id(), tokens, greedy(4)))
    [request_id] = collector.replies
    engine.cancel(request_id)
    collector.wait_until(lambda: collector.replies[request_id].end is not None)
    end = collector.replies[request_id].end
    assert isinstance(end, Finished)
    assert end.reason == "cancelled"
    whole = ask(engine, tokens)
    assert whole.finished.generated_tokens == 8
    assert whole.finished.prompt_tokens == 12_000


def test_parallel_requests_give_what_single_ones_give(engine: NativeEngine, model: Model) -> None:
    prompts = [prompt_tokens(60 + 40 * n, seed=n) for n in range(6)]
    singles = [ask(engine, tokens) for tokens in prompts]
    requests = [Submit(ask_id(), tokens, greedy(8), logprobs=2) for tokens in prompts]
    together = Collector(engine).run(*requests)
    assert all(same_answer(a, b, model) for a, b in zip(singles, together, strict=True))


def test_context_shift_keeps_the_beginning(tiny_qwen3moe_gguf: Path) -> None:
    """After a shift the slot's record and the KV cache still agree: the continued prompt is reused
    rightly.
    """
    options = LoadOptions(num_ctx=256)
    engine = load_engine(str(tiny_qwen3moe_gguf), "qwen3moe", options, lambda _: True)
    sampling = SamplingOptions(temperature=0, num_predict=400, num_keep=10)
    [reply] = Collector(engine).run(Submit(ask_id(), prompt_tokens(40), sampling))
    assert reply.finished.generated_tokens == 400
    again = ask(engine, prompt_tokens(40))
    assert 0 < again.finished.cached_tokens <= 40
    engine.close()


def test_reuse_on_real_weights_is_exact(dense_gguf: Path) -> None:
    """Real weights have clear winners: the text itself must be equal, warm and fresh."""
    model = Model(dense_gguf, "llama", 0.02)
    text = "<|im_start|>user\nName the planets of the solar system.<|im_end|>\n<|im_start|>assistant\n"
    engine = model.load(num_ctx=1024)
    tokens = engine.tokenize(text, True)
    fresh = ask(engine, tokens, 24)
    engine.close()
    engine = model.load(num_ctx=1024)
    ask(engine, tokens[:-9])
    warm = ask(engine, tokens, 24)
    engine.close()
    assert warm.finished.cached_tokens >= len(tokens) - 10
    assert warm.text == fresh.text
    assert same_answer(warm, fresh, model)
