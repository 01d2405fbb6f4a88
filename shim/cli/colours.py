"""Whether and how text is coloured: only on a terminal, and never where NO_COLOR is set (no-color.org)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

_CODES = {"red": "31", "green": "32", "yellow": "33", "dim": "2"}
_RESET = "\x1b[0m"


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def painted(text: str, colour: str, stream: TextIO) -> str:
    """The text with the codes for its colour around it, or as it is."""
    return f"\x1b[{_CODES[colour]}m{text}{_RESET}" if wants_colour(stream) else text
