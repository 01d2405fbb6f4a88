"""Events that wait for their reader, one backlog a request. Pure: no task is woken here.

A reader that is slower than the model must neither hold up the other requests of that model nor lose text,
so tokens that wait are joined: the number of waiting events stays small however long nobody reads, and the
text itself is bounded by what one request may generate.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from runtime.events import Embedded, Failed, Finished, Text, Token, Tokens

Answer: TypeAlias = Token | Finished | Failed | Embedded | Tokens | Text
JOIN_AT = 512  # single tokens that may wait before they are joined to one


class Backlog:
    """A queue of answers in order."""

    __slots__ = ("_joined", "_waiting")

    def __init__(self) -> None:
        self._joined: list[Answer] = []
        self._waiting: deque[Answer] = deque()

    def __len__(self) -> int:
        return len(self._joined) + len(self._waiting)

    def put(self, answer: Answer) -> None:
        """Add to the end."""
        waiting = self._waiting
        waiting.append(answer)
        if len(waiting) >= JOIN_AT:
            self._joined.append(join_tokens([item for item in waiting if isinstance(item, Token)]))
            self._waiting = deque(item for item in waiting if not isinstance(item, Token))

    def take(self) -> list[Answer]:
        """Everything that waits, in order; afterwards it is empty."""
        answers = [*self._joined, *self._waiting]
        self._joined.clear()
        self._waiting.clear()
        return answers


def join_tokens(tokens: list[Token]) -> Token:
    """One event with the text, the count and the log probabilities of all of ``tokens`` (at least one)."""
    return Token(
        tokens[0].id,
        "".join(token.text for token in tokens),
        sum(token.count for token in tokens),
        [entry for token in tokens for entry in token.logprobs],
    )
