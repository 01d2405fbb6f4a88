"""One request inside the fake engine: its tokens, what was held back, and why it stopped.

Knows no thread and no clock but the one that stamps the durations.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator
from typing import Literal

from runtime.events import EngineEvent, Finished, Submit, Token, TokenLogprob
from runtime.fake_grammar import Guide
from runtime.fake_script import (
    EOS,
    Script,
    decode_tokens,
    encode_text,
    read_script,
    spoken_tokens,
    token_bytes,
)


def fit_prompt(tokens: list[int], num_ctx: int, num_keep: int) -> list[int]:
    """``tokens`` shortened to leave half of the context free: the first ``num_keep`` and the newest stay."""
    room = max(num_ctx // 2, 1)
    kept = room if num_keep < 0 else min(num_keep, room - 1)
    return tokens[:kept] + tokens[len(tokens) - (room - kept) :]


class FakeSequence:
    """``step()`` makes one token and returns the events that come of it; the last of them is a Finished."""

    def __init__(self, request: Submit, num_ctx: int, guide: Guide | None = None) -> None:
        prompt = request.prompt
        tokens = encode_text(prompt, request.add_special) if isinstance(prompt, str) else list(prompt)
        self.script: Script = read_script(decode_tokens(tokens))
        self.request = request
        self.asked = len(tokens)
        self.prompt = tokens
        if len(tokens) >= num_ctx and request.truncate:
            self.prompt = fit_prompt(tokens, num_ctx, request.sampling.num_keep)
        self.fits = len(self.prompt) < num_ctx
        self.generated: list[int] = []
        self.cached_tokens = 0
        self._num_ctx = num_ctx
        self._guide = guide
        self._speech: Iterator[int] = spoken_tokens(self.script, tokens, request.sampling)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text = ""  # decoded, not yet sent: it may be the start of a stop string
        self._count = 0
        self._logprobs: list[TokenLogprob] = []
        self._started_ns = time.monotonic_ns()

    @property
    def held(self) -> bool:
        """The script wants silence for good; only a cancel ends it."""
        return self.script.hold_after is not None and len(self.generated) >= self.script.hold_after

    def step(self) -> list[EngineEvent]:
        """Make the next token."""
        sampling = self.request.sampling
        if sampling.num_predict >= 0 and len(self.generated) >= sampling.num_predict:
            return [self.finish("length", "num_predict")]
        used = len(self.prompt) + len(self.generated)
        bound = 10 * self._num_ctx if self.request.shift else self._num_ctx
        if used >= bound:
            return [self.finish("length", "context")]
        token = next(self._speech, EOS)
        if self._guide is not None:
            token = self._guide.choose(token)
        if token == EOS:
            return [self.finish("stop", "eos")]
        self._take(token)
        return self._emit()

    def finish(
        self, reason: Literal["stop", "length", "cancelled"], detail: str, stop: str | None = None
    ) -> Finished:
        """The last event, with everything that was held back."""
        text = self._text if stop is not None else self._text + self._decoder.decode(b"", True)
        now = time.monotonic_ns()
        return Finished(
            id=self.request.id,
            reason=reason,
            detail=detail,
            stop=stop,
            text="" if reason == "cancelled" else text,
            prompt_tokens=len(self.prompt),
            cached_tokens=self.cached_tokens,
            generated_tokens=len(self.generated),
            prompt_ns=1,
            generate_ns=max(now - self._started_ns, 1),
            truncated=self.asked - len(self.prompt),
            tokens=self.prompt + self.generated if self.request.echo_tokens else None,
            logprobs=self._logprobs,
        )

    def _take(self, token: int) -> None:
        self.generated.append(token)
        data = token_bytes(token)
        self._text += self._decoder.decode(data)
        self._count += 1
        if self.request.logprobs >= 0:
            self._logprobs.append(_logprob(data, self.request.logprobs))

    def _emit(self) -> list[EngineEvent]:
        stops = self.request.sampling.stop
        found = min((at, stop) for stop in ("", *stops) if (at := _find(self._text, stop)) >= 0)
        if found[1]:
            self._text = self._text[: found[0]]
            return [self.finish("stop", "stop_string", found[1])]
        if not self._text or any(_may_begin(self._text, stop) for stop in stops):
            return []
        event = Token(self.request.id, self._text, self._count, self._logprobs)
        self._text, self._count, self._logprobs = "", 0, []
        return [event]


def _find(text: str, stop: str) -> int:
    """Where ``stop`` begins in ``text``, or -1; "" stands behind everything."""
    return text.find(stop) if stop else len(text)


def _may_begin(text: str, stop: str) -> bool:
    """Whether the end of ``text`` could be the start of ``stop``."""
    return any(text.endswith(stop[:size]) for size in range(1, len(stop)))


def _logprob(data: bytes, alternatives: int) -> TokenLogprob:
    """An invented, falling distribution in which the chosen token is the likeliest."""
    text = data.decode(errors="replace")
    top = [(text, data, -0.25), *((f"alt{n}", f"alt{n}".encode(), -1.0 - n) for n in range(1, alternatives))]
    return TokenLogprob(text, data, -0.25, top[:alternatives])
