"""The right to use one loaded model for one request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from types import TracebackType

from runtime import events
from runtime.loaded import Runner
from runtime.options import Constraint, LoadOptions, SamplingOptions


class Lease:
    """While it is held the model stays loaded. An async context manager; leaving it gives it back.

    ``load_ns`` is the time from asking for it to getting it; ``warnings`` are what had to be changed about
    the options asked for.
    """

    def __init__(self, runner: Runner, load_ns: int, on_release: Callable[[Runner], None]) -> None:
        assert runner.info is not None
        self.info = runner.info
        self.load_ns = load_ns
        self.options: LoadOptions = runner.fit.options
        self.warnings = runner.fit.warnings
        self._runner = runner
        self._on_release: Callable[[Runner], None] | None = on_release

    async def __aenter__(self) -> Lease:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Give it back; twice is no error."""
        if self._on_release is not None:
            on_release, self._on_release = self._on_release, None
            on_release(self._runner)

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
    ) -> AsyncGenerator[events.Token | events.Finished, None]:
        """Generate after ``prompt``; the last item is the Finished. Arguments as in `events.Submit`.

        Raises GenerationFailed and WorkerDied. Leaving early (aclose, cancellation) cancels it in the engine.
        """
        submit = events.Submit(
            id=0,
            prompt=prompt,
            sampling=sampling or SamplingOptions(),
            add_special=add_special,
            shift=shift,
            truncate=truncate,
            logprobs=logprobs,
            echo_tokens=echo_tokens,
            constraint=constraint,
        )
        return self._runner.worker.generate(submit)

    async def embed(self, tokens: list[int]) -> events.Embedded:
        """The embedding of one text, special tokens included. GenerationFailed and WorkerDied."""
        return await self._runner.worker.embed(tokens)

    async def tokenize(self, text: str, add_special: bool = True) -> list[int]:
        """Token ids of ``text``."""
        return await self._runner.worker.tokenize(text, add_special)

    async def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of ``tokens``; GenerationFailed for an id outside the vocabulary."""
        return await self._runner.worker.detokenize(tokens)
