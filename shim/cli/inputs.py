"""Reads the file that a command was given, `-` being stdin. Bytes as they are."""

from __future__ import annotations

import sys
from pathlib import Path

from shim.cli.errors import CommandError

STDIN = "-"


def read_input(file: str) -> bytes:
    """All of the file. Raises CommandError where it cannot be read."""
    if file == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(file).expanduser().read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror or error}") from error
