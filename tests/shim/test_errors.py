"""The statuses and texts that clients match on, and Go's way of quoting."""

from __future__ import annotations

import pytest

from shim import errors


def test_busy_has_two_blanks_after_the_full_stop() -> None:
    error = errors.busy()
    assert (error.status, error.message) == (
        503,
        "server busy, please try again.  maximum pending requests exceeded",
    )


def test_model_not_found_repeats_the_requested_string() -> None:
    error = errors.model_not_found("Foo")
    assert (error.status, str(error)) == (404, "model 'Foo' not found")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("tab\there", '"tab\\there"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("中 é", '"中 é"'),
        ("\u200b\u2028", '"\\u200b\\u2028"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_go_quoted(text: str, quoted: str) -> None:
    assert errors.go_quoted(text) == quoted
