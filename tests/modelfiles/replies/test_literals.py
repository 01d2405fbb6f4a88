"""Calls in Python's notation."""

from typing import Any

import pytest

from modelfiles.replies.literals import BadLiteral, LiteralReader, Unfinished


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-1_000", -1000),
        ("2.50", 2.5),
        (".5e-1", 0.05),
        ("True", True),
        ("null", None),
        ("'it\\'s'", "it's"),
        ('"a\nb"', "a\nb"),
        ("'''a'b'''", "a'b"),
        (r"'\x41\u00e9\t\101\q\\'", "A\u00e9\tA\\q\\"),
        (r"r'\n'", r"\n"),
        (r"'\ud83d\ude00 \ud83d'", "\U0001f600 \ufffd"),
        ("[1, (2, 3), {'a': []},]", [1, [2, 3], {"a": []}]),
        ("{}", {}),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = LiteralReader(f"f(x={text})").call()
    assert found == ("f", {"x": value})
    assert type(found[1]["x"]) is type(value)


def test_calls() -> None:
    assert LiteralReader(" a.b-c ( x = 1 , **{'y': 2}, )").call() == ("a.b-c", {"x": 1, "y": 2})


@pytest.mark.parametrize(
    "text", ["f(1)", "f(x=y)", "f(x=1 y=2)", "f(x=g())", "f(x==1)", "7", "f(**3)", "f{}"]
)
def test_anything_else_is_no_call(text: str) -> None:
    with pytest.raises(BadLiteral) as told:
        LiteralReader(f"{text} and more text)").call()
    assert not isinstance(told.value, Unfinished)


@pytest.mark.parametrize("end", range(len("f(x=[1, 'a'], **{'b': None})")))
def test_every_beginning_is_unfinished(end: int) -> None:
    with pytest.raises(Unfinished):
        LiteralReader("f(x=[1, 'a'], **{'b': None})"[:end]).call()


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadLiteral, match="nested"):
        LiteralReader("f(x=" + "[" * 10_000).call()
