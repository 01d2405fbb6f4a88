"""Which tool result answers which call, and the ids that templates want to see on both.

Clients name a result by the call's id, by the tool's name, by an id in the place of the name, or not at all;
so the id is tried first, then the name, then the order. Calls without an id get one made from their place.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from modelfiles.messages import Message, ToolCall

_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


@dataclass(slots=True)
class _Open:
    """A call that no result has answered yet."""

    id: str
    name: str


def pair_results(messages: Iterable[Message], *, short_ids: bool = False) -> tuple[Message, ...]:
    """Messages in which every call has an id and every result the id and the name of its call.

    `short_ids` makes every id nine letters or digits, which some templates insist on.
    """
    paired: list[Message] = []
    waiting: list[_Open] = []
    shortened: dict[str, str] = {}
    count = 0
    for message in messages:
        if message.tool_calls:
            calls = []
            for call in message.tool_calls:
                wanted = call.id or f"call_{count}"
                identity = _shortened(wanted, count, shortened) if short_ids else wanted
                calls.append(replace(call, id=identity))
                count += 1
            waiting = [_Open(call.id or "", call.name) for call in calls]
            paired.append(replace(message, tool_calls=tuple(calls)))
        elif message.role == "tool":
            paired.append(_answered(message, waiting, shortened))
        else:
            paired.append(message)
    return tuple(paired)


def _shortened(wanted: str, count: int, shortened: dict[str, str]) -> str:
    short = wanted if _SHORT_ID.fullmatch(wanted) else f"{count:09d}"
    shortened[wanted] = short
    return short


def _answered(message: Message, waiting: list[_Open], shortened: dict[str, str]) -> Message:
    call = _find(message, waiting, shortened)
    if call is None:
        return message
    waiting.remove(call)
    return replace(message, tool_call_id=call.id, tool_name=call.name)


def _find(message: Message, waiting: list[_Open], shortened: dict[str, str]) -> _Open | None:
    named = [shortened.get(text, text) for text in (message.tool_call_id, message.tool_name) if text]
    for text in named:
        for call in waiting:
            if call.id == text:
                return call
    for call in waiting:
        if call.name == message.tool_name:
            return call
    # A name that no call has is one that was never asked for, unless it is only an id gone astray.
    return waiting[0] if waiting else None


def split_calls(messages: Iterable[Message]) -> tuple[Message, ...]:
    """One call a turn, each followed by its result, for templates that know no parallel calls."""
    return tuple(part for turn in _turns(messages) for part in _single_file(turn))


def _turns(messages: Iterable[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and turns and turns[-1][0].tool_calls:
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _single_file(turn: list[Message]) -> list[Message]:
    asking, *results = turn
    if len(asking.tool_calls) < 2:
        return turn
    split: list[Message] = []
    for number, call in enumerate(asking.tool_calls):
        kept = asking if number == 0 else replace(asking, content="", thinking="")
        split.append(replace(kept, tool_calls=(call,)))
        split += [result for result in results if _answers(result, call)]
    return split + [result for result in results if not any(_answers(result, c) for c in asking.tool_calls)]


def _answers(result: Message, call: ToolCall) -> bool:
    return result.tool_call_id == call.id
