"""The texts that are measured with: the same for every contender, another one in every round.

A prompt that was never seen before cannot be answered from a cache. Values in, values out.
"""

import random

WORDS = ("river", "stone", "garden", "window", "letter", "bridge", "winter", "market", "silver", "engine")


def counting(round_: int, stream: int) -> str:
    """A short text that models go on with for long: it counts upwards."""
    start = 1000 * (round_ + 1) + 37 * stream
    return " ".join(f"{start + step}," for step in range(4))


def reading(round_: int, words: int) -> str:
    """A text of so many words, which comes to somewhat more tokens."""
    chosen = random.Random(round_)
    return " ".join(chosen.choice(WORDS) for _ in range(words))
