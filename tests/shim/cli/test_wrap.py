"""Lines are broken between words, whatever pieces the text comes in."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.cli.formats import width
from shim.cli.wrap import WordWrap


def screen(output: str) -> list[str]:
    """What a terminal shows: carries out "back" and "erase to the end of the line"."""
    lines = [""]
    for token in re.findall(r"\x1b\[[0-9]*[DK]|\n|[^\x1b\n]", output):
        if token == "\n":
            lines.append("")
        elif token.endswith("D") and token.startswith("\x1b"):
            lines[-1] = lines[-1][: len(lines[-1]) - int(token[2:-1])]
        elif not token.startswith("\x1b"):
            lines[-1] += token
    return lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two ", "three"]),
        ("one two\nthree four", ["one two", "three ", "four"]),
        ("exactly10 x", ["exactly10", "x"]),
        ("a verylongwordindeed b", ["a ", "verylongw", "ordindeed", "b"]),
        ("专家混合模型的回答", ["专家混合", "模型的回", "答"]),
        ("use 专家 now", ["use 专家 ", "now"]),
        ("a model专家", ["a model专", "家"]),
    ],
)
def test_lines(text: str, lines: list[str]) -> None:
    assert screen(WordWrap(10).feed(text)) == lines


@given(st.text(st.sampled_from("ab 专\n"), max_size=60), st.integers(3, 20), st.integers(1, 7))
def test_pieces_do_not_matter_and_no_line_is_too_long(text: str, columns: int, size: int) -> None:
    whole = WordWrap(columns).feed(text)
    wrap = WordWrap(columns)
    pieces = "".join(wrap.feed(text[start : start + size]) for start in range(0, len(text), size))
    assert pieces == whole
    assert all(width(line) < columns for line in screen(whole))
    assert "".join(screen(whole)).replace(" ", "") == text.replace("\n", "").replace(" ", "")
