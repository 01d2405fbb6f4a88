"""Makes a prompt fit the context of a slot. Pure: token ids in, token ids out."""

from __future__ import annotations

from runtime.errors import RuntimeFailure


class TooLong(RuntimeFailure):
    """The prompt does not fit and may not be cut."""


def fit_prompt(
    tokens: list[int], *, num_ctx: int, num_keep: int, shift: bool, truncate: bool
) -> tuple[list[int], int]:
    """The prompt, at most ``num_ctx - 1`` tokens long, and how many tokens were dropped.

    Ollama's rule: the first ``num_keep`` tokens stay, what follows them is dropped until the prompt is
    ``num_ctx - max((num_ctx - num_keep) / 2, 1)`` tokens long, so that the answer has room.
    """
    if len(tokens) < num_ctx:
        return tokens, 0
    if not truncate:
        raise TooLong(
            f"exceed_context_size_error: the request ({len(tokens)} tokens) exceeds the available "
            f"context size "
            f"({num_ctx} tokens); shorten it or raise num_ctx"
        )
    if not shift:
        raise TooLong(
            "the prompt is longer than the context length currently available to the model; shorten "
            "the prompt, "
            "adjust the context length in settings, or use a model with a longer context length "
            f"({len(tokens)} tokens do not fit {num_ctx})"
        )
    keep = max(0, min(num_keep, num_ctx - 1))
    length = max(num_ctx - max((num_ctx - keep) // 2, 1), 1)
    keep = min(keep, length)
    dropped = len(tokens) - length
    return tokens[:keep] + tokens[keep + dropped :], dropped
