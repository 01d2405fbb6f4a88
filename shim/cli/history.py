"""The lines that were typed in chats: kept in a file of the user, where the arrow keys find them again.

One line of JSON for each entry, since an entry may have several lines. A history that cannot be read or
written is no reason to disturb a chat. Knows nothing of chats.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_MOST_ENTRIES = 1000
_ONLY_OWNER = 0o600


def history_file() -> Path:
    """Where the platform keeps such things."""
    from platformdirs import user_state_path

    return user_state_path("moe-shim") / "history"


class History:
    """`remember` hands an entry to the line editor; `enabled` is asked before anything is kept."""

    def __init__(self, file: Path, remember: Callable[[str], None], enabled: Callable[[], bool]) -> None:
        self._enabled = enabled
        self._file = file
        self._remember = remember

    def load(self) -> None:
        """Hand the entries of earlier chats over, oldest first, and drop what is too old."""
        if not self._enabled():
            return
        entries = self._read()
        for entry in entries[-_MOST_ENTRIES:]:
            self._remember(entry)
        if len(entries) > 2 * _MOST_ENTRIES:
            self._replace(entries[-_MOST_ENTRIES:])

    def add(self, line: str) -> None:
        """Keep what was typed; blank lines are not worth it."""
        if not self._enabled() or not line.strip():
            return
        self._remember(line)
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Appended at once and in one piece, so that chats side by side lose nothing of each other.
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _ONLY_OWNER)
            with open(descriptor, "ab") as file:
                file.write(_encoded(line))

    def _read(self) -> list[str]:
        try:
            lines = self._file.read_bytes().splitlines()
        except OSError:
            return []
        return [entry for line in lines if isinstance(entry := _decoded(line), str)]

    def _replace(self, entries: list[str]) -> None:
        fresh = self._file.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            fresh.touch(_ONLY_OWNER)
            fresh.write_bytes(b"".join(map(_encoded, entries)))
            fresh.replace(self._file)


def _encoded(entry: str) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _decoded(line: bytes) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(line)
    return None
