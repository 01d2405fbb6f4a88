"""The templates of one model, ready to render, and which of them a request gets.

Those that cannot be used are kept as the error that says why, for the request that would need them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from modelfiles.errors import TemplateError
from modelfiles.templates.go_prompt import GoPrompt
from modelfiles.templates.jinja import ChatTemplate
from modelfiles.templates.languages import Language

PromptTemplate: TypeAlias = GoPrompt | ChatTemplate
Found = TypeVar("Found", GoPrompt, ChatTemplate)


@dataclass(frozen=True, slots=True)
class JinjaTemplates:
    """Those inside the weights; `with_tools` is for requests that bring some."""

    default: ChatTemplate | TemplateError | None = None
    with_tools: ChatTemplate | TemplateError | None = None

    def choose(self, *, tools: bool) -> ChatTemplate | None:
        """None where there is none. Raises TemplateError."""
        return usable(self.with_tools if tools and self.with_tools is not None else self.default)


@dataclass(frozen=True, slots=True)
class Templates:
    """All of a model's, and the language of those that count; None for a model without any that says more
    than the prompt itself.
    """

    language: Language | None = None
    go: GoPrompt | TemplateError | None = None
    jinja: JinjaTemplates = JinjaTemplates()

    def choose(self, *, tools: bool) -> PromptTemplate | None:
        """The template for such a request, None where there is none. Raises TemplateError."""
        if self.language == "go":
            return usable(self.go)
        return self.jinja.choose(tools=tools) if self.language == "jinja" else None

    def inserting(self) -> GoPrompt | None:
        """The template that asks for text between two others; only Go templates can."""
        return self.go if isinstance(self.go, GoPrompt) and self.go.inserts else None


def compiled_go(source: str | None) -> GoPrompt | TemplateError | None:
    try:
        return GoPrompt(source) if source else None
    except TemplateError as error:
        return error


def compiled_jinja(source: object) -> ChatTemplate | TemplateError | None:
    """`source` is what the weights' metadata say; anything but text is no template."""
    try:
        return ChatTemplate(source) if isinstance(source, str) and source else None
    except TemplateError as error:
        return error


def usable(found: Found | TemplateError | None) -> Found | None:
    if isinstance(found, TemplateError):
        raise found
    return found
