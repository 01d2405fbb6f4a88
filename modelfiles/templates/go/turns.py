"""Messages as the turns of a conversation, for templates that see them all and for older ones that see one
turn.

Knows nothing of templates.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from modelfiles.messages import Message


@dataclass(frozen=True, slots=True)
class Turn:
    """What an older template is given. Empty texts are not there."""

    system: str = ""
    prompt: str = ""
    response: str = ""


def collated(messages: Iterable[Message]) -> list[Message]:
    """Neighbours of one role become one message, but results of tools never do.

    Only their text is joined: thinking, calls and images of the later ones are lost, as in Ollama.
    """
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role != "tool":
            merged[-1] = replace(merged[-1], content=f"{merged[-1].content}\n\n{message.content}")
        else:
            merged.append(message)
    return merged


def system_text(messages: Iterable[Message]) -> str:
    """The text of all system messages."""
    return "\n\n".join(message.content for message in messages if message.role == "system")


def turns(messages: Iterable[Message]) -> Iterator[Turn]:
    """The turns of collated messages; the last one, which may be empty, is still to be answered."""
    turn = Turn()
    for message in messages:
        match message.role:
            case "system":
                if turn.prompt or turn.response:
                    yield turn
                    turn = Turn()
                turn = replace(turn, system=message.content)
            case "user":
                if turn.response:
                    yield turn
                    turn = Turn()
                turn = replace(turn, prompt=message.content)
            case "assistant":
                turn = replace(turn, response=message.content)
    yield turn
