"""What every engine must do: the same tests for the fake one and for the real one.

A test file makes a subclass of `EngineContract` whose name starts with "Test", with a fixture ``case``.
"""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from runtime.engine_protocol import Engine
from runtime.errors import BadOptions
from runtime.events import Embed, Embedded, EngineEvent, Failed, Finished, Submit, Token, TokenLogprob
from runtime.options import Constraint, LoadOptions, SamplingOptions

PATIENCE_SECONDS = 60.0  # a failing test ends; a passing one never waits that long


@dataclass(frozen=True)
class EngineCase:
    """One engine under test.

    ``prompt`` is an ordinary one; ``long_prompt`` leads to text that goes on for hundreds of tokens.
    """

    load: Callable[[LoadOptions], Engine]
    prompt: str
    long_prompt: str


@dataclass
class Reply:
    """Everything that one request brought."""

    tokens: list[Token] = field(default_factory=list)
    end: Finished | Failed | Embedded | None = None

    @property
    def text(self) -> str:
        rest = self.end.text if isinstance(self.end, Finished) else ""
        return "".join(token.text for token in self.tokens) + rest

    @property
    def finished(self) -> Finished:
        assert isinstance(self.end, Finished), self.end
        return self.end

    @property
    def failed(self) -> Failed:
        assert isinstance(self.end, Failed), self.end
        return self.end

    @property
    def vector(self) -> array[float]:
        assert isinstance(self.end, Embedded), self.end
        return array("f", self.end.vector)

    @property
    def logprobs(self) -> list[TokenLogprob]:
        return [item for token in self.tokens for item in token.logprobs] + self.finished.logprobs


def greedy(num_predict: int = -1, stop: tuple[str, ...] = ()) -> SamplingOptions:
    return SamplingOptions(temperature=0, num_predict=num_predict, stop=stop)


class Collector:
    """Submits requests and sorts what comes back by request; holds the rule of exactly one end each."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.replies: dict[int, Reply] = {}
        self.order: list[int] = []

    def submit(self, *requests: Submit | Embed) -> None:
        for request in requests:
            self.replies[request.id] = Reply()
            if isinstance(request, Embed):
                self.engine.embed(request)
            else:
                self.engine.submit(request)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"waited too long; so far: {self.replies}"
            for event in self.engine.wait_events(1.0):
                self.take(event)

    def take(self, event: EngineEvent) -> None:
        reply = self.replies[event.id]
        assert reply.end is None, f"{event} after the end of the request"
        if isinstance(event, Token):
            reply.tokens.append(event)
        else:
            reply.end = event
            self.order.append(event.id)

    def run(self, *requests: Submit | Embed) -> list[Reply]:
        self.submit(*requests)
        self.wait_until(lambda: all(self.replies[request.id].end is not None for request in requests))
        return [self.replies[request.id] for request in requests]


class EngineContract:
    """The tests. Small contexts keep the real engine quick."""

    @pytest.fixture
    def case(self) -> EngineCase:
        raise NotImplementedError("a subclass names the engine")

    @pytest.fixture
    def collector(self, case: EngineCase) -> Iterator[Collector]:
        """Two slots of 256 tokens."""
        engine = case.load(LoadOptions(num_ctx=256, num_parallel=2))
        yield Collector(engine)
        engine.close()

    @pytest.fixture
    def single(self, case: EngineCase) -> Iterator[Collector]:
        """One slot of 256 tokens."""
        engine = case.load(LoadOptions(num_ctx=256, num_parallel=1))
        yield Collector(engine)
        engine.close()

    def test_info_says_what_was_loaded(self, collector: Collector) -> None:
        info = collector.engine.info
        assert (info.num_ctx, info.num_parallel) == (256, 2)
        assert info.n_vocab > 0
        assert info.n_ctx_train >= 256

    def test_num_predict_bounds_the_answer(self, collector: Collector, case: EngineCase) -> None:
        [reply] = collector.run(Submit(1, case.long_prompt, greedy(5)))
        end = reply.finished
        assert (end.reason, end.detail, end.stop, end.generated_tokens) == ("length", "num_predict", None, 5)
        assert 0 < sum(token.count for token in reply.tokens) <= 5
        assert reply.text
        assert end.truncated == 0
        assert end.generate_ns > 0

    def test_prompt_tokens_are_counted(self, collector: Collector, case: EngineCase) -> None:
        tokens = collector.engine.tokenize(case.prompt, False)
        [text, ids] = collector.run(
            Submit(1, case.prompt, greedy(2), add_special=False), Submit(2, tokens, greedy(2))
        )
        assert text.finished.prompt_tokens == ids.finished.prompt_tokens == len(tokens)
        assert text.text == ids.text

    def test_greedy_text_is_the_same_every_time(self, collector: Collector, case: EngineCase) -> None:
        replies = collector.run(*(Submit(n, case.long_prompt, greedy(12)) for n in range(1, 4)))
        assert len({reply.text for reply in replies}) == 1

    def test_a_seed_gives_the_same_text(self, collector: Collector, case: EngineCase) -> None:
        def sampled(seed: int) -> SamplingOptions:
            return SamplingOptions(temperature=1.5, seed=seed, num_predict=24, top_k=0, top_p=1.0)

        seeds = [3, 4, 3, 4]
        replies = collector.run(*(Submit(n, case.prompt, sampled(seed)) for n, seed in enumerate(seeds)))
        texts = [reply.text for reply in replies]
        assert texts[:2] == texts[2:]
        assert texts[0] != texts[1]

    def test_cached_tokens_are_part_of_the_prompt(self, single: Collector, case: EngineCase) -> None:
        [first] = single.run(Submit(1, case.prompt, greedy(3)))
        [again] = single.run(Submit(2, case.prompt, greedy(3)))
        assert first.finished.prompt_tokens == again.finished.prompt_tokens
        assert 0 <= again.finished.cached_tokens < again.finished.prompt_tokens
        assert first.text == again.text

    @pytest.mark.parametrize("size", [1, 4, 9])
    def test_a_stop_string_is_cut_off_and_never_leaks(
        self, single: Collector, case: EngineCase, size: int
    ) -> None:
        [plain] = single.run(Submit(1, case.long_prompt, greedy(40)))
        stop = plain.text[len(plain.text) // 2 :][:size]
        [reply] = single.run(Submit(2, case.long_prompt, greedy(40, (stop, "\x00 never"))))
        assert reply.text == plain.text[: plain.text.index(stop)]
        assert (reply.finished.reason, reply.finished.detail) == ("stop", "stop_string")
        assert reply.finished.stop == stop

    def test_what_only_looked_like_a_stop_string_is_sent(self, single: Collector, case: EngineCase) -> None:
        [plain] = single.run(Submit(1, case.long_prompt, greedy(40)))
        almost = plain.text[len(plain.text) // 2 :][:4] + "\x00"
        [reply] = single.run(Submit(2, case.long_prompt, greedy(40, (almost,))))
        assert reply.text == plain.text
        assert reply.finished.detail == "num_predict"

    def test_text_never_splits_a_character(self, collector: Collector, case: EngineCase) -> None:
        [reply] = collector.run(Submit(1, case.long_prompt, greedy(60)))
        for token in reply.tokens:
            assert "\ufffd" not in token.text
            assert token.text

    def test_context_full_without_shift_is_length(self, single: Collector, case: EngineCase) -> None:
        [reply] = single.run(Submit(1, case.long_prompt, greedy(), shift=False))
        end = reply.finished
        assert (end.reason, end.detail) == ("length", "context")
        assert end.prompt_tokens + end.generated_tokens <= 257

    def test_context_shift_goes_on(self, single: Collector, case: EngineCase) -> None:
        [reply] = single.run(Submit(1, case.long_prompt, greedy(300)))
        assert (reply.finished.detail, reply.finished.generated_tokens) == ("num_predict", 300)

    def test_prompt_too_long_is_refused_or_cut(self, single: Collector) -> None:
        tokens = single.engine.tokenize("a b c d e f g " * 60, False)
        assert len(tokens) > 256
        refused = Submit(1, tokens, greedy(2), truncate=False)
        [no, yes] = single.run(refused, Submit(2, tokens, greedy(2)))
        assert no.failed.kind == "too_long"
        assert str(len(tokens)) in no.failed.message
        assert yes.finished.truncated > 0
        assert yes.finished.prompt_tokens == len(tokens) - yes.finished.truncated <= 256

    @pytest.mark.parametrize("tokens", [[], [1 << 30], [-1]])
    def test_a_bad_prompt_fails_alone(
        self, collector: Collector, case: EngineCase, tokens: list[int]
    ) -> None:
        bad = Submit(1, tokens, greedy(2), add_special=False)
        [failed, other] = collector.run(bad, Submit(2, case.prompt, greedy(2)))
        assert failed.failed.kind == "bad_request"
        assert other.finished.generated_tokens > 0

    def test_requests_beyond_the_slots_wait_in_order(self, single: Collector, case: EngineCase) -> None:
        single.run(*(Submit(n, case.long_prompt, greedy(3)) for n in range(1, 6)))
        assert single.order == [1, 2, 3, 4, 5]

    def test_slots_work_side_by_side(self, collector: Collector, case: EngineCase) -> None:
        """Both requests have said something before either has ended."""
        requests = [Submit(n, case.long_prompt, greedy(100)) for n in (1, 2)]
        collector.submit(*requests)
        collector.wait_until(lambda: all(collector.replies[n].tokens for n in (1, 2)))
        assert collector.order == []
        collector.wait_until(lambda: len(collector.order) == 2)

    def test_cancel_ends_the_request_and_frees_the_slot(self, single: Collector, case: EngineCase) -> None:
        single.submit(Submit(1, case.long_prompt, greedy(100_000)))
        single.wait_until(lambda: bool(single.replies[1].tokens))
        single.engine.cancel(1)
        [other] = single.run(Submit(2, case.prompt, greedy(2)))
        assert single.replies[1].finished.reason == "cancelled"
        assert other.finished.generated_tokens == 2

    def test_cancel_of_a_waiting_request(self, single: Collector, case: EngineCase) -> None:
        single.submit(*(Submit(n, case.long_prompt, greedy(100_000)) for n in (1, 2)))
        single.wait_until(lambda: bool(single.replies[1].tokens))
        single.engine.cancel(2)
        single.wait_until(lambda: single.replies[2].end is not None)
        assert single.replies[2].tokens == []
        assert single.replies[2].finished.reason == "cancelled"
        assert single.replies[1].end is None
        single.engine.cancel(1)
        single.wait_until(lambda: single.replies[1].end is not None)

    def test_cancel_of_nothing_is_no_error(self, single: Collector, case: EngineCase) -> None:
        single.engine.cancel(99)
        [reply] = single.run(Submit(1, case.prompt, greedy(2)))
        single.engine.cancel(1)
        assert reply.finished.reason != "cancelled"
        assert single.engine.wait_events(0.0) == []

    def test_echo_tokens(self, collector: Collector, case: EngineCase) -> None:
        [echo, plain] = collector.run(
            Submit(1, case.long_prompt, greedy(6), echo_tokens=True), Submit(2, case.long_prompt, greedy(6))
        )
        end = echo.finished
        assert end.tokens is not None
        assert len(end.tokens) == end.prompt_tokens + end.generated_tokens
        assert collector.engine.detokenize(end.tokens[end.prompt_tokens :]).startswith(echo.text[:4])
        assert plain.finished.tokens is None

    @pytest.mark.parametrize("alternatives", [0, 3])
    def test_logprobs_for_every_token(
        self, collector: Collector, case: EngineCase, alternatives: int
    ) -> None:
        [with_, without] = collector.run(
            Submit(1, case.long_prompt, greedy(8), logprobs=alternatives),
            Submit(2, case.long_prompt, greedy(8)),
        )
        assert len(with_.logprobs) == 8
        for entry in with_.logprobs:
            assert entry.logprob <= 0
            assert [logprob for _, _, logprob in entry.top] == sorted(
                (logprob for _, _, logprob in entry.top), reverse=True
            )
            assert len(entry.top) == alternatives
        assert b"".join(entry.bytes for entry in with_.logprobs).startswith(with_.text.encode()[:4])
        assert without.logprobs == []
        assert with_.text == without.text

    def test_a_constraint_holds(self, collector: Collector, case: EngineCase) -> None:
        source = '{"type": "object", "properties": {"n": {"type": "integer", "maximum": 99, "minimum": 0}}, '
        source += '"required": ["n"], "additionalProperties": false}'
        bound = Submit(1, case.prompt, greedy(200), constraint=Constraint("json_schema", source))
        chosen = Submit(2, case.prompt, greedy(), constraint=Constraint("choice", '["red", "blue"]'))
        free = Submit(3, case.prompt, greedy(4))
        numbers, colour, other = collector.run(bound, chosen, free)
        assert 0 <= json.loads(numbers.text)["n"] <= 99
        assert colour.text in ("red", "blue")
        assert {numbers.finished.detail, colour.finished.detail} == {"eos"}
        assert other.finished.generated_tokens == 4

    def test_a_constraint_that_cannot_be_compiled_fails_alone(
        self, collector: Collector, case: EngineCase
    ) -> None:
        bad = Submit(1, case.prompt, greedy(4), constraint=Constraint("regex", "("))
        failed, other = collector.run(bad, Submit(2, case.prompt, greedy(2)))
        assert failed.failed.kind == "bad_request"
        assert failed.tokens == []
        assert "unclosed group" in failed.failed.message
        assert other.finished.generated_tokens > 0

    @pytest.mark.parametrize("text", ["hello world", "naïve café", "日本 🙂", "", "line\n\n  two"])
    def test_tokens_and_text_convert_both_ways(self, collector: Collector, text: str) -> None:
        tokens = collector.engine.tokenize(text, False)
        assert collector.engine.detokenize(tokens) == text

    def test_special_token_is_added_on_demand(self, collector: Collector) -> None:
        info = collector.engine.info
        with_ = collector.engine.tokenize("hello", True)
        without = collector.engine.tokenize("hello", False)
        assert with_ == ([info.bos, *without] if info.add_bos else without)

    def test_embeddings(self, collector: Collector, case: EngineCase) -> None:
        texts = [collector.engine.tokenize(text, True) for text in (case.prompt, "a", case.long_prompt)]
        vectors = [reply.vector for reply in collector.run(*map(Embed, (1, 2, 3), texts))]
        again = [reply.vector for reply in collector.run(*map(Embed, (4, 5, 6), texts[::-1]))]
        assert vectors == again[::-1]
        assert len({vector.tobytes() for vector in vectors}) == 3
        assert len({len(vector) for vector in vectors}) == 1
        [reply] = collector.run(Embed(7, texts[0]))
        assert isinstance(reply.end, Embedded)
        assert reply.end.prompt_tokens == len(texts[0])

    def test_embeddings_that_cannot_be(self, collector: Collector) -> None:
        token = collector.engine.tokenize("a", False)[-1]
        bad = [Embed(1, []), Embed(2, [token] * 257), Embed(3, [token] * 256)]
        empty, long, fits = collector.run(*bad)
        assert empty.failed.kind == "bad_request"
        assert long.failed.kind == "too_long"
        assert len(fits.vector) > 0

    def test_a_cancelled_embedding_ends_once(self, collector: Collector) -> None:
        tokens = collector.engine.tokenize("a b c d e f g h", True)
        collector.submit(*(Embed(n, tokens) for n in range(1, 30)))
        for n in range(2, 30):
            collector.engine.cancel(n)
        collector.wait_until(lambda: all(reply.end is not None for reply in collector.replies.values()))
        [after] = collector.run(Embed(99, tokens))
        assert after.vector == collector.replies[1].vector

    def test_detokenize_refuses_what_is_no_token(self, collector: Collector) -> None:
        with pytest.raises(BadOptions, match=str(1 << 30)):
            collector.engine.detokenize([1 << 30])

    def test_stats_count(self, collector: Collector, case: EngineCase) -> None:
        before = collector.engine.stats()
        collector.run(*(Submit(n, case.long_prompt, greedy(10)) for n in (1, 2)))
        after = collector.engine.stats()
        assert after.steps > before.steps
        assert after.generated_tokens >= before.generated_tokens + 20
        assert (after.active, after.queued) == (0, 0)

    def test_idle_wait_returns_nothing(self, collector: Collector) -> None:
        assert collector.engine.wait_events(0.0) == []

    def test_close_wakes_a_waiting_reader(self, collector: Collector, case: EngineCase) -> None:
        ended = threading.Event()

        def read() -> None:
            while collector.engine.wait_events(PATIENCE_SECONDS):
                pass
            ended.set()

        reader = threading.Thread(target=read)
        reader.start()
        collector.engine.submit(Submit(1, case.long_prompt, greedy(100_000)))
        collector.engine.close()
        assert ended.wait(PATIENCE_SECONDS / 2)
        reader.join()
        collector.engine.close()
