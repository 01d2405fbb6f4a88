"""Figures from measurements."""

import pytest

from bench.measures import Decoded, Stream, medians, ratios, table, tokens_per_second


def test_one_stream_is_timed_from_its_first_token_to_its_last() -> None:
    assert tokens_per_second(Decoded([Stream(5, [1.0, 1.5, 2.0, 2.5, 3.0])])) == pytest.approx(2)


def test_streams_count_while_all_of_them_run() -> None:
    """The late one's prompt slowed the early one down, and the early one ended first: neither counts."""
    early = Stream(5, [0.0, 4.0, 5.0, 6.0, 7.0])
    late = Stream(6, [4.0, 5.0, 6.0, 7.0, 7.5, 8.0])
    assert tokens_per_second(Decoded([early, late])) == pytest.approx(2)


def test_pieces_of_several_tokens_count_as_such() -> None:
    assert tokens_per_second(Decoded([Stream(6, [1.0, 2.0, 3.0])])) == pytest.approx(2)


def test_streams_that_never_ran_together_have_no_rate() -> None:
    assert tokens_per_second(Decoded([Stream(2, [0.0, 1.0]), Stream(2, [2.0, 3.0])])) == 0


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
