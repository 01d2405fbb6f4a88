"""The three checks that a call must pass, and which of them a failure is of.

Readers say in words why a block is no call; here the words are sorted, for whoever counts.
"""

from typing import Literal, TypeAlias

# In the order in which they are made: it can be read; the tool is declared; the arguments are an object.
Check: TypeAlias = Literal["syntax", "name", "arguments"]
CHECKS: tuple[Check, ...] = ("syntax", "name", "arguments")

_NAME = ("no tool of the name", "a call of another tool", "no declared tool")
_ARGUMENTS = ("arguments that are no object", "an object without arguments")


def failed_check(reason: str) -> Check:
    """Which check the failure `reason`, as a `ReplyReader` tells it, is of."""
    if any(words in reason for words in _NAME):
        return "name"
    return "arguments" if any(words in reason for words in _ARGUMENTS) else "syntax"
