"""The prompt that a template makes of a request, without any model.

Requests have the shapes of /api/chat and /api/generate; a `response` beside a prompt is the answer so far.
Pure. Knows no store and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from modelfiles.errors import TemplateError
from modelfiles.messages import Message, Tool
from modelfiles.templates.go import parse_template
from modelfiles.templates.jinja import ChatTemplate, Conversation
from modelfiles.templates.switches import Thinking
from shim.cli.request_files import RequestFile
from shim.requests import ChatRequest

Language = Literal["go", "jinja"]
Stage = Literal["parse", "exec"]

_NO_SUFFIX = "a Jinja template has no place for a suffix"


class RenderFailed(Exception):
    """The template is at fault: when it is read ("parse") or when it is rendered ("exec")."""

    def __init__(self, stage: Stage, message: str) -> None:
        super().__init__(message)
        self.stage = stage


@dataclass(frozen=True, slots=True)
class Asked:
    """What a template is given. With `insert`, prompt and suffix take the place of messages."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    think: Thinking = None
    insert: tuple[str, str] | None = None


def asked(file: RequestFile) -> Asked:
    """A prompt with a suffix is inserted; without one it is a conversation of one turn."""
    request = file.request
    if isinstance(request, ChatRequest):
        return Asked(request.messages, request.tools, request.think)
    if {"prompt", "suffix"} <= file.given:
        return Asked((), think=request.think, insert=(request.prompt, request.suffix))
    texts = (
        ("system", "system", request.system),
        ("prompt", "user", request.prompt),
        ("response", "assistant", file.response),
    )
    return Asked(
        tuple(Message(role, text) for key, role, text in texts if key in file.given), think=request.think
    )


def language_of(source: str, name: str) -> Language:
    """By the file's name, else by what only Jinja has."""
    return "jinja" if name.endswith((".jinja", ".jinja2", ".j2")) or "{%" in source else "go"


def render(source: str, language: Language, asked: Asked, now: datetime) -> str:
    """The prompt's text. Raises RenderFailed."""
    if language == "go":
        return _render_go(source, asked, now)
    try:
        template = ChatTemplate(source)
    except TemplateError as error:
        raise RenderFailed("parse", str(error)) from error
    if asked.insert is not None:
        raise RenderFailed("exec", _NO_SUFFIX)
    try:
        return template.render(Conversation(asked.messages, now, asked.tools, asked.think))
    except TemplateError as error:
        raise RenderFailed("exec", str(error)) from error


def _render_go(source: str, asked: Asked, now: datetime) -> str:
    try:
        template = parse_template(source)
    except TemplateError as error:
        raise RenderFailed("parse", str(error)) from error
    try:
        if asked.insert is not None:
            return template.render_insert(*asked.insert, today=now.date(), think=asked.think)
        return template.render(asked.messages, today=now.date(), tools=asked.tools, think=asked.think)
    except TemplateError as error:
        raise RenderFailed("exec", str(error)) from error
