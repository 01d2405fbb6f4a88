"""From what the C engine reports to the values that travel to the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime.binding.library import ffi, lib
from runtime.binding.vocabulary import Vocabulary
from runtime.events import Embedded, EngineEvent, Failed, Finished, Token, TokenLogprob

REASONS = {
    lib.SHIM_FINISH_EOS: ("stop", "eos"),
    lib.SHIM_FINISH_STOP: ("stop", "stop_string"),
    lib.SHIM_FINISH_PREDICT: ("length", "num_predict"),
    lib.SHIM_FINISH_CONTEXT: ("length", "context"),
    lib.SHIM_FINISH_CANCELLED: ("cancelled", "cancelled"),
}
FAILURES = {lib.SHIM_FAILED_TOO_LONG: "too_long", lib.SHIM_FAILED_BAD_REQUEST: "bad_request"}


@dataclass(frozen=True, slots=True)
class Pending:
    """What is known of a request when it ends. ``echo``: the prompt's tokens, where they are wanted back."""

    stops: tuple[str, ...] = ()
    echo: list[int] | None = None
    truncated: int = 0
    fault: str = ""  # of its grammar


class Reports:
    """Reads one shim_events at a time: fill ``view``, then take every event out."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.view = ffi.new("shim_events *")
        self._vocabulary = vocabulary

    def token(self, event: Any) -> Token:
        """A SHIM_EVENT_TOKEN."""
        return Token(event.id, self._text(event), event.n_tokens, self._logprobs(event))

    def embedding(self, event: Any) -> Embedded:
        """A SHIM_EVENT_EMBEDDING."""
        floats = ffi.buffer(self.view.floats + event.floats_offset, event.n_floats * 4)
        return Embedded(event.id, bytes(floats), event.prompt_tokens)

    def end(self, event: Any, pending: Pending) -> EngineEvent:
        """The last event of a request that generates."""
        text = self._text(event)
        if event.kind == lib.SHIM_EVENT_FAILED:
            kind = FAILURES.get(event.reason, "engine")
            message = f"{text}: {pending.fault}" if pending.fault else text
            return Failed(event.id, kind, message)  # type: ignore[arg-type]
        reason, detail = REASONS[event.reason]
        return Finished(
            id=event.id,
            reason=reason,  # type: ignore[arg-type]
            detail=detail,
            stop=pending.stops[event.stop_index] if event.stop_index >= 0 else None,
            text=text,
            prompt_tokens=event.prompt_tokens,
            cached_tokens=event.cached_tokens,
            generated_tokens=event.generated_tokens,
            prompt_ns=event.prompt_ns,
            generate_ns=event.generate_ns,
            truncated=pending.truncated,
            tokens=None if pending.echo is None else pending.echo + self._ids(event),
            logprobs=self._logprobs(event),
        )

    def _text(self, event: Any) -> str:
        if not event.text_length:
            return ""
        start = self.view.text + event.text_offset
        return bytes(ffi.buffer(start, event.text_length)).decode("utf-8", "replace")

    def _ids(self, event: Any) -> list[int]:
        return list(ffi.unpack(self.view.ids + event.ids_offset, event.n_ids)) if event.n_ids else []

    def _logprobs(self, event: Any) -> list[TokenLogprob]:
        if not event.n_logprobs:
            return []
        entries = [self.view.logprobs[event.logprob_offset + i] for i in range(event.n_logprobs)]
        result, at = [], 0
        while at < len(entries):
            chosen, n_top = entries[at], entries[at].n_top
            top = [
                (*self._piece(item.token), float(item.logprob)) for item in entries[at + 1 : at + 1 + n_top]
            ]
            name, data = self._piece(chosen.token)
            result.append(TokenLogprob(name, data, min(float(chosen.logprob), 0.0), top))
            at += 1 + n_top
        return result

    def _piece(self, token: int) -> tuple[str, bytes]:
        data = self._vocabulary.piece(token)
        return data.decode("utf-8", "replace"), data
