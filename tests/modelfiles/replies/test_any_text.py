"""Replies that are damaged in every way: none is an error, and how they arrive changes nothing."""

import random
from collections.abc import Iterator

import pytest

from tests.modelfiles.replies.toolcalls.test_families import CASES, read

PLACED = "{}[]\"<>\n \\'`|:,=()"


def damaged(text: str, chance: random.Random) -> str:
    """With something left out, written twice, cut off or put in."""
    for _ in range(chance.randrange(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = start + chance.randrange(1, 25)
        text = chance.choice((
            text[:start] + text[end:],
            text[:end] + text[start:],
            text[:end],
            text[:start] + chance.choice(PLACED) + text[start:],
        ))  # fmt: skip
    return text


def pieces_of(text: str, chance: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = chance.randrange(1, 8)
        yield text[at : at + size]
        at += size


@pytest.mark.parametrize("style", sorted({style for style, *_ in CASES}))
def test_damaged_replies(style: str) -> None:
    chance = random.Random(style)
    texts = [text for named, text, *_ in CASES if named == style]
    for _ in range(25):
        text = damaged(chance.choice(texts) + chance.choice(["", *texts]), chance)
        inside = chance.random() < 0.2
        whole = repr(read(style, [text], inside=inside))
        assert repr(read(style, list(text), inside=inside)) == whole, text
        assert repr(read(style, list(pieces_of(text, chance)), inside=inside)) == whole, text


def test_half_a_tag_before_a_whole_one_ends() -> None:
    text = "<function=lis<function=stop>\n</function>"
    assert read("qwen3_coder", [text]) == (text, "", [])


def test_no_text_of_thinking_is_lost_beside_a_call() -> None:
    fly = '<tool_call>{"name": "fly"}{"name": "stop"}'
    assert read("hermes", [fly], inside=True) == ("", '{"name": "fly"}', [("stop", {})])
