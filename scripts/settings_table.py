"""Prints the README's table of settings, made from the variables that the code declares."""

from __future__ import annotations

from shim.variables import VARIABLES, Variable


def table() -> str:
    """Markdown: one row a variable that has an effect, and a sentence about the others."""
    rows = [_row(known) for known in VARIABLES if not known.without_effect]
    idle = ", ".join(f"`{known.ollamas}`" for known in VARIABLES if known.without_effect)
    head = "| variable | meaning | default |\n|---|---|---|\n"
    return (
        head
        + "\n".join(rows)
        + f"\n\nKnown, but without effect here, as the log says when one is set: {idle}.\n"
    )


def _row(known: Variable) -> str:
    names = "`, `".join(reversed(known.names))
    in_words = " " in known.default or known.default == "none"
    default = known.default if in_words else f"`{known.default}`"
    return f"| `{names}` | {known.meaning} | {default} |"


if __name__ == "__main__":
    print(table(), end="")
