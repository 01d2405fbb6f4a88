"""GBNF in the words of llguidance's converter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.gbnf import plain_gbnf


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('root ::= "a" # why\n', 'root ::= "a" \n'),
        ('root ::= "#" [#] # "quoted" comment', 'root ::= "#" [#] '),
        (r'root ::= "caf\u00e9" [\u4e00-\u9fff]', 'root ::= "café" [一-\u9fff]'),
        (r'root ::= "\U0001F642\xe9"', 'root ::= "🙂é"'),
        (r'root ::= "\x41\x0A\x22\u0041" [\x5D]', r'root ::= "\x41\x0A\x22\u0041" [\x5D]'),
        (r'root ::= "a\"b" [^"\\] # c', r'root ::= "a\"b" [^"\\] '),
        (r'root ::= "\\u00e9"', r'root ::= "\\u00e9"'),
        ('root ::= "open', 'root ::= "open'),
    ],
)
def test_plain(text: str, plain: str) -> None:
    assert plain_gbnf(text) == plain


@given(st.text(alphabet='ab"[]#\\nxuU0041f \n|:=', max_size=40))
def test_any_text_is_read(text: str) -> None:
    try:
        plain = plain_gbnf(text)
    except ValueError:
        return  # a code point beyond Unicode
    assert len(plain) <= len(text)
