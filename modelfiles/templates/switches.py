"""Switching thinking on and off: one setting in, every family's own variable out.

Each family's template listens to a variable of its own and ignores the others', so all are set at once. Only
`reasoning_effort` means different things to different templates; what it may be is read from the source.
"""

from typing import Literal, TypeAlias

Level: TypeAlias = Literal["low", "medium", "high", "max"]
# None leaves the template's default.
Thinking: TypeAlias = bool | Level | None


def thinking_variables(source: str, thinking: Thinking) -> dict[str, object]:
    """The variables for a template with this `source`."""
    if thinking is None:
        return {}
    on = thinking is not False
    variables: dict[str, object] = {
        "enable_thinking": on,
        "thinking": on,
        "thinking_mode": "enabled" if on else "disabled",
        "thinking_option": "on" if on else "off",
    }
    if not on:
        variables["thinking_budget"] = 0
    effort = _effort(source, thinking)
    if effort is not None:
        variables["reasoning_effort"] = effort
        variables["thinking_effort"] = effort
    return variables


def _effort(source: str, thinking: bool | Level) -> str | None:
    if isinstance(thinking, str):
        return "high" if thinking == "max" and not _knows(source, "max") else thinking
    if thinking:
        return "high" if _knows(source, "no_think") else None
    for off in ("no_think", "none", "minimal"):
        if "reasoning_effort" in source and _knows(source, off):
            return off
    return None


def _knows(source: str, word: str) -> bool:
    return f"'{word}'" in source or f'"{word}"' in source
