"""From what an engine writes to what a client is told: the inner stream of one answer.

Holds the lease while the answer is written and gives it back whatever happens; closing the stream early
cancels the generation. Knows no dialect.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from modelfiles.replies import pieces
from modelfiles.replies.stream import ReplyReader
from runtime.errors import GenerationFailed
from runtime.events import EngineInfo, Finished, Token, TokenLogprob
from runtime.options import Constraint, SamplingOptions
from shim.errors import ApiError, bad_request, server_error
from shim.events import Calls, Content, Done, Event, Metrics, Thinking
from shim.tally import ReplyTally

LOG = logging.getLogger("shim.reply")

# So many times in a row, after the first, may a piece be written again.
MOST_REPEATS = 30
_TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, "
    "adjust the context length in settings, or use a model with a longer context length"
)


class LoadedModel(Protocol):
    """A loaded model that is held for this answer; see `runtime.lease.Lease`."""

    info: EngineInfo
    load_ns: int

    def release(self) -> None:
        """Give it back; twice is no error."""
        ...

    def generate(
        self,
        prompt: str | list[int],
        sampling: SamplingOptions | None = None,
        *,
        add_special: bool = True,
        shift: bool = True,
        truncate: bool = True,
        logprobs: int = -1,
        echo_tokens: bool = False,
        constraint: Constraint | None = None,
    ) -> AsyncGenerator[Token | Finished, None]:
        """Generate after the prompt."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """What the engine is to do and the answer must tell. `began_ns`: when the request came, monotonic.

    As in Ollama, a prompt that is too long is shortened only where `shift` allows it as well as `truncate`.
    `model` is its name for the log; `thinking_off`: it was told not to think.
    """

    prompt: str | list[int]
    sampling: SamplingOptions
    began_ns: int
    add_special: bool = True
    shift: bool = True
    truncate: bool = True
    logprobs: int = -1
    with_context: bool = False
    prompt_tokens: int = 0
    constraint: Constraint | None = None
    model: str = ""
    thinking_off: bool = False


class Reply:
    """One answer. Iterate `events()` once, or `close()` it without."""

    def __init__(
        self,
        model: LoadedModel,
        task: Task,
        reader: ReplyReader,
        new_call_id: Callable[[], str],
        tally: ReplyTally | None = None,
    ) -> None:
        self._model = model
        self._task = task
        self._reader = reader
        self._new_call_id = new_call_id
        self._calls = 0
        self._tally = tally or ReplyTally()

    def close(self) -> None:
        """Give the model back."""
        self._model.release()

    async def events(self) -> AsyncGenerator[Event, None]:
        """The answer, which ends in a Done. Raises ApiError and the errors of `runtime`."""
        task = self._task
        source = self._model.generate(
            task.prompt,
            task.sampling,
            add_special=task.add_special,
            shift=task.shift,
            truncate=task.truncate and task.shift,
            logprobs=task.logprobs,
            echo_tokens=task.with_context,
            constraint=task.constraint,
        )
        try:
            async for event in self._events(source):
                yield event
        except GenerationFailed as error:
            raise self._worded(error) from error
        finally:
            await source.aclose()
            self._model.release()
            self._tally.add(self._calls, self._reader.failures)
            for failure in self._reader.failures:
                LOG.info("text that looks like a tool call stays text: %s", failure)

    async def _events(self, source: AsyncGenerator[Token | Finished, None]) -> AsyncGenerator[Event, None]:
        repeats = _Repeats()
        started_ns = time.monotonic_ns()
        first_ns = 0
        tokens = 0
        async for item in source:
            for event in self._told(self._reader.feed(item.text), item.logprobs):
                yield event
            if isinstance(item, Finished):
                for event in self._told(self._reader.finish(), []):
                    yield event
                yield self._done(item)
                return
            first_ns = first_ns or time.monotonic_ns()
            tokens += item.count
            if repeats.too_many(item.text):
                break
        await source.aclose()
        for event in self._told(self._reader.finish(), []):
            yield event
        yield self._stopped(tokens, started_ns, first_ns)

    def _told(self, found: Iterable[pieces.Piece], logprobs: list[TokenLogprob]) -> Iterable[Event]:
        for piece in found:
            yield self._event(piece, logprobs)
            logprobs = []
        if logprobs:
            yield Content("", logprobs)

    def _event(self, piece: pieces.Piece, logprobs: list[TokenLogprob]) -> Event:
        if isinstance(piece, pieces.Content):
            return Content(piece.text, logprobs)
        if isinstance(piece, pieces.Thinking):
            self._note_thinking()
            return Thinking(piece.text, logprobs)
        # Some families' templates read their own ids back.
        call = replace(piece, id=piece.id or self._new_call_id(), index=self._calls)
        self._calls += 1
        return Calls((call,), logprobs)

    def _note_thinking(self) -> None:
        if self._task.thinking_off and self._tally.first_to_think(self._task.model):
            LOG.warning(
                "%s thinks although it was told not to: its family cannot switch that off", self._task.model
            )

    def _done(self, end: Finished) -> Done:
        if end.reason == "cancelled":
            raise server_error("the generation was cancelled by the server")
        return Done(
            end.reason,
            self._metrics(end.prompt_tokens, end.prompt_ns, end.generated_tokens, end.generate_ns),
            end.tokens,
        )

    def _stopped(self, tokens: int, started_ns: int, first_ns: int) -> Done:
        """The end of an answer that was stopped here; the engine did not get to count it."""
        now = time.monotonic_ns()
        metrics = self._metrics(self._task.prompt_tokens, first_ns - started_ns, tokens, now - first_ns)
        return Done("repetition", metrics)

    def _metrics(self, prompt_tokens: int, prompt_ns: int, tokens: int, generate_ns: int) -> Metrics:
        return Metrics(
            total_ns=time.monotonic_ns() - self._task.began_ns,
            load_ns=self._model.load_ns,
            prompt_tokens=prompt_tokens,
            prompt_ns=prompt_ns,
            generated_tokens=tokens,
            generate_ns=generate_ns,
        )

    def _worded(self, error: GenerationFailed) -> ApiError | GenerationFailed:
        """Ollama's words where the prompt was too long; clients look for them."""
        if error.kind != "too_long":
            return error
        return bad_request(_TOO_LONG if self._task.truncate else exceeds_context(error.message))


def exceeds_context(detail: str) -> str:
    return f"{detail}; shorten the prompt or raise num_ctx (exceed_context_size_error)"


class _Repeats:
    """Counts how often one piece came again without another in between."""

    def __init__(self) -> None:
        self._last = ""
        self._count = 0

    def too_many(self, text: str) -> bool:
        text = text.strip()
        if text != self._last:
            self._last = text
            self._count = 0
            return False
        self._count += 1
        return self._count > MOST_REPEATS
