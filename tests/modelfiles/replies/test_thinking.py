"""The splitter, on each case whole, by characters and cut at each position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.replies.pieces import Content, Thinking
from modelfiles.replies.thinking import Part, ThinkingSplitter
from modelfiles.templates.tags import THINK, ThinkingTags
from tests.streams import cuts

GEMMA = ThinkingTags("<|channel>thought\n", "<channel|>")


def split(pieces: list[str], *, inside: bool, tags: ThinkingTags = THINK) -> tuple[str, str]:
    splitter = ThinkingSplitter(tags, inside=inside)
    parts: list[Part] = [part for piece in pieces for part in splitter.feed(piece)]
    parts += splitter.finish()
    assert all(part.text for part in parts)
    kinds = [type(part) for part in parts]
    assert kinds == sorted(kinds, key=(Thinking, Content).index), "thinking comes first"
    return (
        "".join(part.text for part in parts if isinstance(part, Thinking)),
        "".join(part.text for part in parts if isinstance(part, Content)),
    )


CASES = [
    # text, inside, thinking, content
    ("<think>\nhm\n</think>\n\nYes.", False, "hm", "Yes."),
    ("  \n<think>a b</think>c", False, "a b", "c"),
    ("Hello <think>x</think>", False, "", "Hello <think>x</think>"),
    ("  Hello ", False, "", "  Hello "),
    (" \n ", False, "", " \n "),
    ("<thin air", False, "", "<thin air"),
    ("  <think", False, "", "  <think"),
    ("hm\n</think>\n\nYes.", True, "hm", "Yes."),
    ("\n\n</think>\n\nYes.\n", True, "", "Yes.\n"),
    ("<think>\nhm</think>Yes.", True, "hm", "Yes."),
    ("<think><think>x</think>y", True, "<think>x", "y"),
    ("a  \n b \n\n", True, "a  \n b", ""),
    ("a </thi", True, "a </thi", ""),
    ("a </thi> b </think> c", True, "a </thi> b", "c"),
    ("a</think></think>\nc", True, "a", "c"),
    ("a</think>\n</think>\n</think>c", True, "a", "</think>c"),
    ("a</think> </thi", True, "a", "</thi"),
    ("a</think>b <think>c</think>", True, "a", "b <think>c</think>"),
    ("a</think>  ", True, "a", ""),
    ("", True, "", ""),
    ("", False, "", ""),
    ("<think></think>ok", False, "", "ok"),
    ("x < y and <b> </think> 好", True, "x < y and <b>", "好"),
]


@pytest.mark.parametrize(("text", "inside", "thinking", "content"), CASES)
def test_split(text: str, inside: bool, thinking: str, content: str) -> None:
    for pieces in cuts(text):
        assert split(pieces, inside=inside) == (thinking, content), pieces


def test_tags_of_another_family() -> None:
    text = "<|channel>thought\nhm <channel| <channel|>\nYes."
    for pieces in cuts(text):
        assert split(pieces, inside=False, tags=GEMMA) == ("hm <channel|", "Yes.")


def test_text_goes_out_at_once_where_nothing_is_in_doubt() -> None:
    splitter = ThinkingSplitter(THINK, inside=True)
    assert splitter.feed("Let me") == [Thinking("Let me")]
    assert splitter.feed(" see") == [Thinking(" see")]
    assert splitter.feed(" <") == []
    assert splitter.feed("3") == [Thinking(" <3")]
    assert splitter.feed("</think>") == []
    assert splitter.feed(" So") == [Content("So")]
    assert splitter.feed(" <think>") == [Content(" <think>")]


@pytest.mark.parametrize(
    ("text", "past"), [("a", False), ("a</think", False), ("a</think>", True), ("a</think>b", True)]
)
def test_past_thinking(text: str, past: bool) -> None:
    splitter = ThinkingSplitter(THINK, inside=True)
    splitter.feed(text)
    assert splitter.past_thinking is past


WORDS = st.lists(st.sampled_from(["<think>", "</think>", "<th", "</", " ", "\n", "a", "ü<"]), max_size=12)


@given(WORDS, st.booleans(), st.lists(st.integers(1, 5), max_size=40))
def test_any_cut_gives_the_same(words: list[str], inside: bool, lengths: list[int]) -> None:
    text = "".join(words)
    pieces, rest = [], text
    for length in lengths:
        pieces.append(rest[:length])
        rest = rest[length:]
    assert split([*pieces, rest], inside=inside) == split([text], inside=inside)
