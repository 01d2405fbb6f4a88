"""Counts of tool calls."""

from shim.tally import ReplyTally


def test_counts() -> None:
    tally = ReplyTally()
    tally.add(2, ["hermes: no tool of the name 'g'", "hermes: a value does not end"])
    tally.add(1, ["hermes: arguments that are no object"])
    assert tally.calls == 3
    assert tally.failed == {"syntax": 1, "name": 1, "arguments": 1}


def test_each_model_is_new_once() -> None:
    tally = ReplyTally()
    assert [tally.first_to_think(model) for model in ("a", "b", "a")] == [True, True, False]
