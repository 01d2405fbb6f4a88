"""Where the grammar begins, and what may stand before it."""

from __future__ import annotations

import pytest

from runtime.matching import Grant
from runtime.options import Constraint
from tests.runtime.vocabularies import Walk

YES_NO = '["yes","no"]'
AFTER = Constraint("choice", YES_NO, "</think>")
OPENED = Constraint("choice", YES_NO, "</think>", "<think>")


def test_at_once() -> None:
    walk = Walk(Constraint("choice", YES_NO))
    assert walk.allowed() == {b"y", b"n", b"yes", b"no"}
    assert walk.take(b"y", b"e").allowed() == {b"s"}
    assert walk.take(b"s").grant is Grant.END


def test_end_is_allowed_where_the_grammar_may_end() -> None:
    walk = Walk(Constraint("regex", "a+"))
    assert b"<|end|>" not in walk.allowed()
    assert {b"a", b"<|end|>"} == walk.take(b"a").allowed()


def test_all_is_free_before_the_closing_tag() -> None:
    walk = Walk(AFTER)
    assert walk.grant is Grant.ANY
    assert walk.write(b"no yes {").grant is Grant.ANY


@pytest.mark.parametrize(
    "tokens",
    [
        (b"</", b"think", b">"),
        (b"<", b"/", b"t", b"h", b"i", b"n", b"k", b">"),
        (b"<", b"</", b"think", b"</", b"think", b">"),
    ],
)
def test_the_closing_tag_may_span_tokens(tokens: tuple[bytes, ...]) -> None:
    walk = Walk(AFTER).write(b"hm ").take(*tokens)
    assert {b"y", b"n", b"yes", b"no"} < walk.allowed()
    assert b"m" not in walk.allowed()
    assert walk.take(b"yes").grant is Grant.END


def test_one_token_of_blanks_may_follow_the_closing_tag() -> None:
    walk = Walk(AFTER).take(b"</", b"think", b">")
    assert {b"\n\n", b"\n", b" "} < walk.allowed()
    assert walk.take(b"\n\n").allowed() == {b"y", b"n", b"yes", b"no"}


def test_blanks_in_the_tags_own_token() -> None:
    walk = Walk(AFTER).take(b"</", b"think", b">\n")
    assert walk.allowed() == {b"y", b"n", b"yes", b"no"}


def test_no_token_closes_and_goes_on_unchecked() -> None:
    walk = Walk(AFTER).take(b"</", b"think")
    assert walk.grant is Grant.MASK
    assert b">{" not in walk.allowed()
    assert {b">", b">\n", b"x"} < walk.allowed()


def test_blanks_that_the_grammar_wants_are_the_grammars() -> None:
    walk = Walk(Constraint("regex", "\n\nab", "</think>")).take(b"</", b"think", b">", b"\n\n")
    assert walk.allowed() == {b"a"}


def test_with_an_opening_tag_an_answer_may_come_at_once() -> None:
    walk = Walk(OPENED)
    assert walk.allowed() == {b"y", b"n", b"yes", b"no", b"<", b"<think>"}
    assert walk.take(b"n").allowed() == {b"o"}


@pytest.mark.parametrize("tokens", [(b"<think>",), (b"<", b"think", b">\n")])
def test_with_an_opening_tag_thinking_is_free(tokens: tuple[bytes, ...]) -> None:
    walk = Walk(OPENED).take(*tokens)
    assert walk.grant is Grant.ANY
    assert walk.write(b"no?</think>").allowed() > {b"yes", b"no"}


def test_once_begun_the_opening_tag_has_to_go_on() -> None:
    assert Walk(OPENED).take(b"<").allowed() == {b"t", b"think"}


def test_what_may_be_tag_or_answer_stays_both() -> None:
    walk = Walk(Constraint("regex", "<th(is)+", "</think>", "<think>")).write(b"<thi")
    assert walk.allowed() == {b"n", b"s"}
    assert walk.take(b"s").allowed() == {b"i", b"<|end|>"}


def test_an_answer_that_is_the_start_of_the_tag_may_end() -> None:
    walk = Walk(Constraint("choice", '["<"]', "</think>", "<think>")).take(b"<")
    assert b"<|end|>" in walk.allowed()
    assert b"t" in walk.allowed()


def test_an_opening_without_a_closing_tag_is_nothing() -> None:
    assert Walk(Constraint("choice", YES_NO, "", "<think>")).allowed() == {b"y", b"n", b"yes", b"no"}


def test_a_tag_of_one_character() -> None:
    assert Walk(Constraint("choice", YES_NO, "|")).write(b"a|").take(b"no").grant is Grant.END
