"""Cuts a text in every way that a stream may, so that no reader can depend on how it arrives."""

from collections.abc import Iterator


def cuts(text: str) -> Iterator[list[str]]:
    """`text` whole, character by character, in threes, and in two at each position."""
    yield [text]
    yield list(text)
    yield [text[i : i + 3] for i in range(0, len(text), 3)]
    for position in range(1, len(text)):
        yield [text[:position], text[position:]]
