"""Embeddings of the engine without weights: texts with the same bytes in them are near to each other."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from runtime.events import Embed, Embedded, Failed

WIDTH = 16


def embedded(request: Embed, num_ctx: int) -> Embedded | Failed:
    """What the real engine would answer, with other numbers."""
    n_tokens = len(request.tokens)
    if n_tokens == 0:
        return Failed(request.id, "bad_request", "the text has no tokens")
    if n_tokens > num_ctx:
        return Failed(request.id, "too_long", f"the text has {n_tokens} tokens, the context holds {num_ctx}")
    return Embedded(request.id, struct.pack(f"{WIDTH}f", *vector(request.tokens)), n_tokens)


def vector(tokens: Sequence[int]) -> list[float]:
    """The sum over the tokens of a direction each; not normalised, as the real ones are not."""
    return [sum(math.sin((token + 1) * (at + 1)) for token in tokens) for at in range(WIDTH)]
