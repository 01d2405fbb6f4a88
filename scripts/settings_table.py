"""The README's table of settings, made from the variables that the code declares.

`python -m scripts.settings_table` prints it; with `--write` it replaces the one in README.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shim.variables import VARIABLES, Variable

_HEAD = "| variable | meaning | default |\n|---|---|---|\n"
_IDLE = "Known, but without effect here, as the log says when one is set:"


def table() -> str:
    """Markdown: one row a variable that has an effect, and a sentence about the others."""
    rows = [_row(known) for known in VARIABLES if not known.without_effect]
    idle = ", ".join(f"`{known.ollamas}`" for known in VARIABLES if known.without_effect)
    return _HEAD + "\n".join(rows) + f"\n\n{_IDLE} {idle}.\n"


def _row(known: Variable) -> str:
    names = "`, `".join(reversed(known.names))
    in_words = " " in known.default or known.default == "none"
    default = known.default if in_words else f"`{known.default}`"
    return f"| `{names}` | {known.meaning} | {default} |"


def updated(readme: str) -> str:
    """The text with its table replaced; it ends with the sentence about what has no effect."""
    before, head, rest = readme.partition(_HEAD)
    _, found, after = rest.partition(_IDLE)
    if not head or not found:
        raise ValueError("README.md has no table of settings")
    return before + table() + after.partition("\n")[2]


if __name__ == "__main__":
    if "--write" in sys.argv:
        path = Path(__file__).resolve().parent.parent / "README.md"
        path.write_text(updated(path.read_text()))
    else:
        print(table(), end="")
