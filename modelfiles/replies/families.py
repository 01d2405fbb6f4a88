"""Which thinking goes with which style of tool calls, where only the style's name is known. Pure facts."""

from modelfiles.templates.tags import REASONING_PARSERS, THINK, ThinkingTags

# Families that do not think, or whose template alone tells.
_NONE = frozenset((
    "llama3_json", "llama4_json", "llama4_pythonic", "pythonic", "jamba", "phi4_mini_json", "functiongemma",
    "granite-20b-fc", "gigachat3",
))  # fmt: skip
_OTHER_NAMES = {"openai": "openai_gptoss", "solar_open2": "solar_open", "deepseek_v31": "deepseek_v3"}


def tags_of(style: str) -> ThinkingTags | None:
    """The thinking tags of the families that write calls in this style."""
    if style in _NONE:
        return None
    return REASONING_PARSERS.get(_OTHER_NAMES.get(style, style), THINK)
