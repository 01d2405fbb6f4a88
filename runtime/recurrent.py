"""The size of a recurrent layer's state, for every family of them that llama.cpp knows.

Formulas as in llama.cpp's memory for recurrent models: what the convolution remembers plus the state itself.
"""

from __future__ import annotations

from typing import Protocol


class ReadNumber(Protocol):
    """Gives the count behind a metadata key (below the architecture's prefix), or the default."""

    def __call__(self, key: str, default: int = 0) -> int:
        """The count."""
        ...


def state_elements(number: ReadNumber) -> int:
    """f32 elements of state that one recurrent layer keeps for one sequence; 0 for a pure transformer."""
    n_embd = number("embedding_length")
    if head := number("wkv.head_size"):  # RWKV
        return number("token_shift_count", 2) * n_embd + n_embd * head
    if cache := number("shortconv.l_cache"):  # LFM2: a short convolution and nothing else
        return n_embd * (cache - 1)
    conv = max(number("ssm.conv_kernel") - 1, 0)
    if head := number("kda.head_dim"):  # Kimi's delta attention: three convolutions
        heads = number("attention.head_count")
        return 3 * (conv or 3) * heads * head + heads * head * head
    inner, state = number("ssm.inner_size"), number("ssm.state_size")  # Mamba, Gated DeltaNet
    return conv * (inner + 2 * number("ssm.group_count") * state) + state * inner
