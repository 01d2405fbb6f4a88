"""Marks around the answer."""

import pytest

from modelfiles.replies.answer_marks import MarkDropper
from tests.streams import cuts


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<answer>\nIt is noon.\n</answer>", "It is noon."),
        ("<answer></answer>", ""),
        ("a < b <ans", "a < b <ans"),
        ("a \n <answer> b", "ab"),
        (" plain \n", " plain \n"),
        ("", ""),
    ],
)
def test_marks_go_with_the_white_space_around_them(text: str, kept: str) -> None:
    for pieces in cuts(text):
        dropper = MarkDropper(("<answer>", "</answer>"))
        assert "".join([dropper.feed(piece) for piece in pieces] + [dropper.finish()]) == kept
