"""Figures from measurements."""

import pytest

from bench.measures import Decoded, Stream, medians, ratios, table, tokens_per_second


def test_rates_of_streams_add_up() -> None:
    decoded = Decoded([Stream(1.0, 3.0, 21), Stream(1.0, 2.0, 11)])
    assert tokens_per_second(decoded) == pytest.approx(20)


def test_a_stream_of_one_token_has_no_rate() -> None:
    assert tokens_per_second(Decoded([Stream(1.0, 1.0, 1)])) == 0


def test_medians_skip_rounds_without_the_figure() -> None:
    assert medians([{"a": 1.0}, {"a": 3.0, "b": 5.0}, {"a": 2.0}]) == {"a": 2.0, "b": 5.0}


def test_a_ratio_is_taken_within_its_round() -> None:
    """Whole rounds that were slow for both do not count against either."""
    mine = [{"a": 10.0}, {"a": 1.0}, {"a": 9.0}]
    theirs = [{"a": 10.0}, {"a": 1.0}, {"a": 10.0}]
    assert ratios(mine, theirs) == {"a": 1.0}


def test_figures_that_only_one_has_get_no_ratio() -> None:
    assert ratios([{"a": 1.0, "own": 2.0}], [{"a": 2.0}]) == {"a": 0.5}


def test_the_table_lines_up() -> None:
    columns = {"llama.cpp": {"decode": 20.0}, "engine": {"decode": 19.5, "own": 1234.5}}
    lines = table(columns, {"engine": {"decode": 0.975}}).splitlines()
    assert lines == [
        "        llama.cpp  engine",
        "decode  20.0       19.5 (0.975x)",
        "own     -          1234",
    ]
