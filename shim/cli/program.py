"""By what name the command was called: `shim`, or `ollama` where it is installed under that name.

Texts are written with `shim` in them; here they are turned into those of the other name.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from pathlib import PurePath

import click

SHIM, OLLAMA = "shim", "ollama"


def program_name(path: str) -> str:
    """The name for a process that was started as `path`."""
    return OLLAMA if PurePath(path.replace("\\", "/")).stem.lower() == OLLAMA else SHIM


def called_as() -> str:
    """The name in the present invocation; `shim` outside of any."""
    context = click.get_current_context(silent=True)
    return (context.find_root().info_name or SHIM) if context else SHIM


def renamed(text: str, name: str, commands: Iterable[str]) -> str:
    """The text with `shim COMMAND` as `name COMMAND`; paths and other words stay as they are."""
    if name == SHIM:
        return text
    words = "|".join(map(re.escape, commands))
    return re.sub(rf"(?<![\w./-])shim(?= (?:{words}|-)\b| -)", name, text)


def command_for(command: click.Command, name: str, commands: Iterable[str]) -> click.Command:
    """The command with its examples for that name; columns after the examples stay where they are."""
    if name == SHIM or not command.epilog:
        return command
    changed = copy.copy(command)
    changed.epilog = "\n".join(
        _aligned(line, renamed(line, name, commands)) for line in command.epilog.splitlines()
    )
    return changed


def _aligned(before: str, after: str) -> str:
    """A longer name takes its columns from the gap before the explanation, if there is one."""
    extra = len(after) - len(before)
    gap = re.search(r"(?<=\S) {3,}(?=\S)", after)
    if extra <= 0 or gap is None:
        return after
    kept = max(len(gap[0]) - extra, 2)
    return after[: gap.start()] + " " * kept + after[gap.end() :]
