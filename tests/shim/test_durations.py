"""Durations against what Go 1.26 makes of the same texts (`go_durations.jsonl`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shim.durations import parse_duration

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "go_durations.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["text"]))
def test_as_in_go(case: dict[str, Any]) -> None:
    error: str | None
    try:
        nanoseconds, error = parse_duration(case["text"]), None
    except ValueError as problem:
        nanoseconds, error = 0, str(problem)
    assert (nanoseconds, error) == (case["nanoseconds"], case.get("error"))


def test_a_number_without_end_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration("9" * 100_000 + "s")
