"""JSON as models write it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.replies.lenient import read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1.0, "b": [true, null]}', {"a": 1.0, "b": [True, None]}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("{'a': 'it\"s', \"b\": \"it's\"}", {"a": 'it"s', "b": "it's"}),
        ("{'a': True, 'b': False, 'c': None, 'd': true}", {"a": True, "b": False, "c": None, "d": True}),
        ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
        ('{"a": 1, // one\n "b": /* two */ 2}', {"a": 1, "b": 2}),
        ('{"a": "http://x/*no*/", }', {"a": "http://x/*no*/"}),
        ('{"a": "line\none\ttab"}', {"a": "line\none\ttab"}),
        (r'{"a": "it\'s \x41"}', {"a": "it's x41"}),
        (r"""{'a': 'it\'s \u00fc\n'}""", {"a": "it's ü\n"}),
        (r'{"a": "\ud83d\ude00 \ud83d."}', {"a": "😀 \ufffd."}),
        (r"""{'a': '\ud83d\ude00'}""", {"a": "😀"}),
        ("{'n': -12, 'f': 1.5e3, 'big': 123456789012345678901234567890}",
         {"n": -12, "f": 1500.0, "big": 123456789012345678901234567890}),
        ("{ }", {}),
        ("[ {}, ]", [{}]),
    ],
)  # fmt: skip
def test_read(text: str, value: object) -> None:
    assert read_json(text) == (value, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"name": "f", "arguments": {"a": 1}', {"name": "f", "arguments": {"a": 1}}),
        ('{"name": "f", "arguments": {"a": [1]},', {"name": "f", "arguments": {"a": [1]}}),
        ('[{"name": "f"}', [{"name": "f"}]),
        ('[{"name": "f", "arguments": {}', [{"name": "f", "arguments": {}}]),
    ],
)
def test_a_missing_end_is_supplied_and_told(text: str, value: object) -> None:
    assert read_json(text) == (value, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[",
        '{"a": "cut',
        '{"a": {"b": 1',
        '{"a": {"b": [1, 2]',
        '{"a": 12',
        '{"a"',
        '{"a":',
        '{"a": tru',
        '[{"a": 1}, {"b": "x"',
        '{"a": 1} and more',
        '{"a": NaN}',
        "{'a': Infinity}",
        '{"a": "say "hi" now"}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{a: 1}",
        '{"a": 01}',
        '{"a": truely}',
        "{'a': undefined}",
        "[" * 5000,
        "{'a':" * 5000,
    ],
)
def test_what_is_not_guessed(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_valid_json_is_never_altered(value: object) -> None:
    assert read_json(json.dumps(value)) == (value, False)
