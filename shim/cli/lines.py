"""Reads what a user says in a chat: one line, or several between triple quotes."""

from __future__ import annotations

from collections.abc import Callable

PROMPT = ">>> "
CONTINUATION = "... "
QUOTES = '"""'


def read_message(read_line: Callable[[str], str]) -> str:
    """The next message, without the quotes around several lines.

    `read_line` shows a prompt and returns a line; its EOFError passes through, except in the middle of a
    message of several lines, which is then taken as it is.
    """
    line = read_line(PROMPT)
    command, start = _split_command(line)
    if not start.startswith(QUOTES):
        return line
    lines = [start.removeprefix(QUOTES)]
    try:
        while not lines[-1].rstrip().endswith(QUOTES):
            lines.append(read_line(CONTINUATION))
    except EOFError:
        return command + "\n".join(lines)
    lines[-1] = lines[-1].rstrip().removesuffix(QUOTES)
    return command + "\n".join(lines).strip("\n")


def _split_command(line: str) -> tuple[str, str]:
    """`/set system` may be followed by a message of several lines too."""
    words = "/set system "
    return (words, line[len(words) :].lstrip()) if line.startswith(words) else ("", line.lstrip())
