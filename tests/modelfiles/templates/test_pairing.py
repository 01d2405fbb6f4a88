"""Results find their calls by id, then name, then order; every call has an id."""

from modelfiles.messages import Message, ToolCall
from modelfiles.templates.pairing import pair_results, split_calls


def call(name: str, identity: str | None = None) -> ToolCall:
    return ToolCall(name, {}, id=identity)


def result(text: str, name: str = "", identity: str = "") -> Message:
    return Message("tool", text, tool_name=name, tool_call_id=identity)


def answered(*messages: Message, short_ids: bool = False) -> list[tuple[str, str, str]]:
    paired = pair_results(messages, short_ids=short_ids)
    return [(m.content, m.tool_name, m.tool_call_id) for m in paired if m.role == "tool"]


def test_by_id_before_anything_else() -> None:
    asking = Message("assistant", tool_calls=(call("f", "a"), call("g", "b")))
    assert answered(asking, result("1", "f", "b"), result("2", "g", "a")) == [
        ("1", "g", "b"),
        ("2", "f", "a"),
    ]


def test_by_name() -> None:
    asking = Message("assistant", tool_calls=(call("f"), call("g")))
    assert answered(asking, result("1", "g"), result("2", "f")) == [
        ("1", "g", "call_1"),
        ("2", "f", "call_0"),
    ]


def test_an_id_in_the_place_of_the_name() -> None:
    asking = Message("assistant", tool_calls=(call("f", "a"), call("g", "b")))
    assert answered(asking, result("1", "b")) == [("1", "g", "b")]


def test_by_order() -> None:
    asking = Message("assistant", tool_calls=(call("f"), call("f")))
    assert answered(asking, result("1"), result("2", "f"), result("3")) == [
        ("1", "f", "call_0"),
        ("2", "f", "call_1"),
        ("3", "", ""),
    ]


def test_ids_count_on_through_the_conversation() -> None:
    asking = Message("assistant", tool_calls=(call("f"),))
    messages = pair_results([asking, result("1"), asking, result("2")])
    assert [m.tool_calls[0].id for m in messages if m.tool_calls] == ["call_0", "call_1"]
    assert [m.tool_call_id for m in messages if m.role == "tool"] == ["call_0", "call_1"]


def test_short_ids_are_kept_or_made() -> None:
    asking = Message("assistant", tool_calls=(call("f", "a1B2c3D4e"), call("g", "call_xyz")))
    first, second, third = pair_results(
        [asking, result("1", identity="call_xyz"), result("2", identity="a1B2c3D4e")], short_ids=True
    )
    assert [c.id for c in first.tool_calls] == ["a1B2c3D4e", "000000001"]
    assert (second.tool_call_id, third.tool_call_id) == ("000000001", "a1B2c3D4e")


def test_split_gives_each_call_its_own_turn_and_result() -> None:
    asking = Message("assistant", "Both.", tool_calls=(call("f", "a"), call("g", "b")))
    messages = [
        Message("user", "go"),
        asking,
        result("1", "f", "a"),
        result("2", "g", "b"),
        Message("user", "?"),
    ]
    split = split_calls(messages)
    assert [(m.role, m.content) for m in split] == [
        ("user", "go"),
        ("assistant", "Both."),
        ("tool", "1"),
        ("assistant", ""),
        ("tool", "2"),
        ("user", "?"),
    ]
    assert [len(m.tool_calls) for m in split if m.role == "assistant"] == [1, 1]


def test_split_loses_no_result() -> None:
    asking = Message("assistant", tool_calls=(call("f", "a"), call("g", "b")))
    split = split_calls([asking, result("1", identity="zz"), result("2", identity="b")])
    assert sorted(m.content for m in split if m.role == "tool") == ["1", "2"]
