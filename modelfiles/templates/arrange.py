"""Other arrangements of the same messages, for templates that refuse what clients send.

Templates insist on things that no API demands: system text only in front, roles that take turns, a user who
speaks first, one call a turn, no system text at all, no thinking beside text, no tools. Each arrangement
gives in to one more of these. None loses any text but past thinking. Other templates leave out what they do
not know instead of refusing it; what that is must be told. Knows nothing of Jinja.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from modelfiles.messages import Message
from modelfiles.templates.pairing import split_calls

Messages = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Losses:
    """What a template leaves out without a word: system texts at the front, further back, or in front of
    results of tools, and those results themselves.
    """

    system: bool = False
    late_system: bool = False
    system_before_results: bool = False
    results: bool = False


NO_LOSSES = Losses()


def arrangements(messages: Sequence[Message], losses: Losses = NO_LOSSES) -> Iterator[Messages]:
    """The messages as they are, unless some would be lost, then every other arrangement that differs."""
    seen: list[Messages] = []
    current = _saved(tuple(messages), losses)
    for step in _STEPS:
        current = step(current)
        if current not in seen:
            seen.append(current)
            yield current


def _saved(messages: Messages, losses: Losses) -> Messages:
    """The arrangement in which nothing is lost that can be told in another place."""
    roles = [message.role for message in messages]
    if losses.results and "tool" in roles:
        messages = _tools_as_text(messages)
    if losses.system or (losses.system_before_results and "tool" in roles):
        return _system_in_user(_system_first(messages))
    return _system_first(messages) if losses.late_system and "system" in roles[1:] else messages


def _unchanged(messages: Messages) -> Messages:
    return messages


def _system_first(messages: Messages) -> Messages:
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    others = tuple(message for message in messages if message.role != "system")
    return (Message("system", system), *others) if system else others


def _taking_turns(messages: Messages) -> Messages:
    """Neighbours of one role become one message; empty ones stand where a user or an answer is missing."""
    turns: list[Message] = []
    for message in messages:
        if turns and _joinable(turns[-1], message):
            turns[-1] = _joined(turns[-1], message)
            continue
        if turns and turns[-1].role == "tool" and message.role == "user":
            turns.append(Message("assistant"))
        turns.append(message)
    first = 1 if turns and turns[0].role == "system" else 0
    if first == len(turns) or turns[first].role != "user":
        turns.insert(first, Message("user", ""))
    return tuple(turns)


def _joinable(left: Message, right: Message) -> bool:
    return left.role == right.role and left.role in ("user", "assistant") and not left.tool_calls


def _joined(left: Message, right: Message) -> Message:
    return replace(
        right,
        content="\n\n".join(filter(None, (left.content, right.content))),
        thinking="\n\n".join(filter(None, (left.thinking, right.thinking))),
        images=left.images + right.images,
    )


def _system_in_user(messages: Messages) -> Messages:
    """The system text opens the first user message."""
    if len(messages) < 2 or messages[0].role != "system" or messages[1].role != "user":
        return messages
    return (_joined(replace(messages[0], role="user"), messages[1]), *messages[2:])


def _no_thinking(messages: Messages) -> Messages:
    return tuple(replace(message, thinking="") for message in messages)


def _tools_as_text(messages: Messages) -> Messages:
    """Calls are told in the assistant's words, and their results by the user."""
    told = (_told(message) for message in messages)
    return _taking_turns(tuple(message for message in told if message.content or message.role == "user"))


def _told(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", message.content)
    calls = [
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for call in message.tool_calls
    ]
    content = "\n".join(filter(None, (message.content, *calls)))
    return replace(message, content=content, tool_calls=())


_STEPS = (
    _unchanged,
    _system_first,
    split_calls,
    _taking_turns,
    _system_in_user,
    _no_thinking,
    _tools_as_text,
)
