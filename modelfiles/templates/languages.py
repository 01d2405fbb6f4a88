"""Which template of a model renders its prompts: the Go template of its TEMPLATE, or the Jinja template
inside its weights.

As in Ollama, the one that can do more wins, and of equals the TEMPLATE. Pure; compiles nothing but Go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from modelfiles.errors import TemplateError
from modelfiles.templates.go.template import GoTemplate, parse_template

Language: TypeAlias = Literal["go", "jinja"]

# What Ollama writes for a model without any template; a model that has one in its weights is better off.
BARE = "{{ .Prompt }}"
_SPLITS_THINKING = re.compile(r"split\(\s*['\"]</think>['\"]")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a template can do, in the words of Ollama's capabilities.

    `answers_calls`: it writes tool calls of earlier answers, so that their results make sense.
    """

    capabilities: tuple[str, ...]
    answers_calls: bool


def parsed(text: str | None) -> GoTemplate | None:
    """The template of a TEMPLATE layer; None where there is none that can be used."""
    try:
        return parse_template(text) if text else None
    except TemplateError:
        return None


def is_bare(text: str) -> bool:
    """Whether a TEMPLATE says nothing that no TEMPLATE would not say."""
    return text.strip() == BARE


def abilities_of_go(template: GoTemplate) -> Abilities:
    named = template.variables
    found = {"tools": "tools" in named, "insert": "suffix" in named, "thinking": bool(template.thinking_tags)}
    return Abilities(tuple(name for name, there in found.items() if there), "toolcalls" in named)


def abilities_of_jinja(source: str) -> Abilities:
    tools = "tools" in source or "tool_call" in source
    found = {"tools": tools, "thinking": _thinks(source)}
    return Abilities(tuple(name for name, there in found.items() if there), "tool_calls" in source)


def winner(
    layer: str | None,
    go: GoTemplate | None,
    jinja: str,
    *,
    setting: bool | None = None,
    renders_itself: bool = False,
) -> Language | None:
    """The language of the template that counts, None for a model without any.

    `layer` is the TEMPLATE's text and `go` the same, parsed; `jinja` the source inside the weights or empty.
    `setting` True asks for Go and False for Jinja; where only one is there, that is taken. `renders_itself`:
    the model names a renderer, for which only its own template can stand.
    """
    if not layer:
        return "jinja" if jinja else None
    if not jinja:
        return None if is_bare(layer) and not setting else "go"
    if renders_itself or setting is not None:
        return "go" if setting and not renders_itself else "jinja"
    if go is None or is_bare(layer):
        return "jinja"
    return "jinja" if _does_more(abilities_of_jinja(jinja), abilities_of_go(go)) else "go"


def _does_more(one: Abilities, other: Abilities) -> bool:
    can, could = set(one.capabilities), set(other.capabilities)
    if can == could:
        return one.answers_calls and not other.answers_calls
    return can > could and (one.answers_calls or not other.answers_calls)


def _thinks(source: str) -> bool:
    if "<think>" in source and "</think>" in source:
        return True
    return "reasoning_content" not in source and bool(_SPLITS_THINKING.search(source))
