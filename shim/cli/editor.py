"""Reads lines from the terminal, with editing, history and completion where the system has readline."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType

from shim.cli.history import History, history_file


class LineEditor:
    """`read_line` may raise EOFError and KeyboardInterrupt, as `input` does."""

    def __init__(self, commands: Sequence[str], *, keeps_history: Callable[[], bool]) -> None:
        readline = _readline()
        self._commands = commands
        self._has_history = readline is not None
        remember: Callable[[str], None] = readline.add_history if readline else _forget
        self.history = History(history_file(), remember, keeps_history)
        if readline is not None:
            self._set_up(readline)
            self.history.load()

    def read_line(self, prompt: str) -> str:
        line = input(prompt)
        if self._has_history:
            self.history.add(line)
        return line

    def _set_up(self, readline: ModuleType) -> None:
        readline.set_auto_history(False)
        readline.set_completer_delims("")
        readline.set_completer(self._complete)
        # libedit, which macOS has, is told otherwise than GNU readline.
        is_libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")

    def _complete(self, typed: str, state: int) -> str | None:
        matching = completions(typed, self._commands)
        return matching[state] if state < len(matching) else None


def completions(typed: str, commands: Sequence[str]) -> list[str]:
    """Commands that begin like the line so far; other lines are left alone."""
    return [command for command in commands if typed.startswith("/") and command.startswith(typed)]


def _readline() -> ModuleType | None:
    """Importing it changes what `input` does."""
    try:
        return importlib.import_module("readline")
    except ImportError:
        return None


def _forget(line: str) -> None:
    """There is nothing that could remember."""
