"""What `--think` and `/set think` take."""

from __future__ import annotations

LEVELS = ("high", "medium", "low", "max")


def read_think(text: str) -> bool | str:
    """`true` and `false` as booleans, a level as it is. Raises ValueError with Ollama's text."""
    if text in ("true", "false"):
        return text == "true"
    if text in LEVELS:
        return text
    quoted = ", ".join(f'"{level}"' for level in LEVELS)
    raise ValueError(f'invalid think value: "{text}" (must be {quoted}, true, or false)')
