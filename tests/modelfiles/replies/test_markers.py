"""What is held back of a text that goes on."""

import pytest

from modelfiles.replies.markers import sendable, unfinished


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("abc", 0),
        ("abc<", 1),
        ("abc<to", 3),
        ("abc<tool", 5),
        ("abc<tool>", 0),
        ("a<<t", 2),
        ("<tool><fu", 3),
        ("<tx", 0),
    ],
)
def test_unfinished(text: str, length: int) -> None:
    assert unfinished(text, ("<tool>", "<function")) == length


def test_white_space_before_a_beginning_is_held_too() -> None:
    assert sendable("abc \n<to", ("<tool>",)) == 3
    assert sendable("abc \n", ("<tool>",)) == 3
    assert sendable("abc \nd", ("<tool>",)) == 6
