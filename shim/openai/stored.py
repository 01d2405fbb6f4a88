"""The conversations behind the last responses, for clients that send only what is new.

In memory, and bounded: a server that starts again knows none of them. Knows nothing of JSON.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from modelfiles.messages import Message

_MOST_RESPONSES = 256
_MOST_CHARACTERS = 16_000_000


class StoredResponses:
    """Conversations by the response's id; the one that was used longest ago goes first."""

    def __init__(self, most: int = _MOST_RESPONSES, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most = most
        self._most_characters = most_characters
        self._kept: OrderedDict[str, tuple[tuple[Message, ...], int]] = OrderedDict()
        self._characters = 0

    def put(self, identity: str, messages: tuple[Message, ...]) -> None:
        """Keep a conversation, its answer included, unless it is larger than all may be."""
        size = sum(map(_size, messages))
        if size > self._most_characters:
            return
        self._kept[identity] = messages, size
        self._characters += size
        while len(self._kept) > self._most or self._characters > self._most_characters:
            _, (_, gone) = self._kept.popitem(last=False)
            self._characters -= gone

    def get(self, identity: str) -> tuple[Message, ...] | None:
        """The conversation; None where it is not known, or no longer."""
        found = self._kept.get(identity)
        if found is None:
            return None
        self._kept.move_to_end(identity)
        return found[0]


def _size(message: Message) -> int:
    images: Iterable[int] = map(len, message.images)
    calls = sum(len(str(call.arguments)) for call in message.tool_calls)
    return len(message.content) + len(message.thinking) + calls + sum(images)
