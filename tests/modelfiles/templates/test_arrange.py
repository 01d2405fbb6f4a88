"""Arrangements: each gives in to one more demand, in a fixed order, and none loses text."""

from modelfiles.messages import Message, ToolCall
from modelfiles.templates.arrange import Losses, arrangements

SYSTEM = Message("system", "S")
USER = Message("user", "U")
CALLS = Message("assistant", "A", tool_calls=(ToolCall("f", {"x": 1}, id="1"), ToolCall("g", {}, id="2")))
RESULTS = (Message("tool", "R1", tool_call_id="1"), Message("tool", "R2", tool_call_id="2"))


def shapes(*messages: Message) -> list[str]:
    return [" ".join(f"{m.role[0]}:{m.content}" for m in tried) for tried in arrangements(messages)]


def test_what_is_accepted_as_it_is_stays() -> None:
    assert next(arrangements([USER, SYSTEM])) == (USER, SYSTEM)


def test_system_text_moves_to_the_front_and_into_the_user() -> None:
    second = Message("system", "T")
    assert shapes(SYSTEM, USER, second) == ["s:S u:U s:T", "s:S\n\nT u:U", "u:S\n\nT\n\nU"]


def test_neighbours_are_joined_and_a_user_opens() -> None:
    assert shapes(USER, USER) == ["u:U u:U", "u:U\n\nU"]
    assert shapes(Message("assistant", "A"), USER) == ["a:A u:U", "u: a:A u:U"]
    assert shapes(SYSTEM) == ["s:S", "s:S u:", "u:S"]


def test_calls_go_in_single_file_and_become_text_at_last() -> None:
    tried = shapes(USER, CALLS, *RESULTS, USER)
    assert tried[0] == "u:U a:A t:R1 t:R2 u:U"
    assert tried[1] == "u:U a:A t:R1 a: t:R2 u:U"
    assert tried[2] == "u:U a:A t:R1 a: t:R2 a: u:U"
    assert tried[-1] == (
        'u:U a:A\n{"name": "f", "arguments": {"x": 1}} u:R1 a:{"name": "g", "arguments": {}} u:R2\n\nU'
    )


def test_thinking_is_dropped_only_when_nothing_else_helps() -> None:
    answer = Message("assistant", "A", thinking="T")
    tried = list(arrangements([USER, answer, USER]))
    assert [[m.thinking for m in messages if m.role == "assistant"] for messages in tried] == [["T"], [""]]


def test_what_would_be_lost_is_told_elsewhere_from_the_first() -> None:
    def first(*messages: Message, **losses: bool) -> str:
        made = next(arrangements(messages, Losses(**losses)))
        return " ".join(f"{m.role[0]}:{m.content}" for m in made)

    assert first(SYSTEM, USER, late_system=True) == "s:S u:U"
    assert first(USER, SYSTEM, USER, late_system=True) == "s:S u:U u:U"
    assert first(USER, SYSTEM, system=True) == "u:S\n\nU"
    assert first(USER, system=True, results=True) == "u:U"
    assert first(SYSTEM, USER, system_before_results=True) == "s:S u:U"
    single = (Message("assistant", tool_calls=(ToolCall("f", {}),)), Message("tool", "R"))
    assert first(SYSTEM, USER, *single, system_before_results=True) == "u:S\n\nU a: t:R"
    assert first(SYSTEM, USER, *single, results=True) == 's:S u:U a:{"name": "f", "arguments": {}} u:R'
