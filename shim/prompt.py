"""The messages of a request, with the content of the Modelfile merged in. Pure; knows no dialect."""

from __future__ import annotations

from dataclasses import replace

from modelfiles.messages import Message
from modelfiles.package import Package
from modelfiles.templates.tags import THINK

Messages = tuple[Message, ...]


_FORGETS_THINKING = ("qwen3",)


def merge_messages(package: Package, asked: Messages) -> Messages:
    """The model's SYSTEM and MESSAGE list in front; a request that begins with system text has its own."""
    asked = tuple(map(_known_role, asked))
    has_own = bool(asked) and asked[0].role == "system"
    opening = (Message("system", package.system),) if package.system and not has_own else ()
    merged = opening + package.messages + asked
    forgets = package.config.model_family in _FORGETS_THINKING or package.name.model == "deepseek-r1"
    return forget_thinking(merged) if forgets else merged


def generate_messages(package: Package, prompt: Message, system: str, *, with_history: bool) -> Messages:
    """A prompt as a conversation; a request's own system text replaces the model's."""
    text = system or package.system
    history = package.messages if with_history else ()
    return ((Message("system", text),) if text else ()) + history + (prompt,)


def go_on(before: str, prompt: str, bos: str) -> str:
    """`prompt` behind the text of an earlier context.

    `bos` is the token that vocabularies put in front of everything, empty for those that do not; it opens
    the earlier text already. For some models it is also what opens every message, and then it stays.
    """
    return before + prompt.removeprefix(bos) if before.startswith(bos) else before + prompt


def forget_thinking(messages: Messages) -> Messages:
    """Without the thinking that opens answers before the last user message."""
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    last = users[-1] if users else 0
    return tuple(
        replace(message, content=_without_thinking(message.content))
        if message.role == "assistant" and index < last
        else message
        for index, message in enumerate(messages)
    )


def _without_thinking(content: str) -> str:
    stripped = content.lstrip()
    if not stripped.startswith(THINK.open):
        return content
    return stripped.partition(THINK.close)[2].strip()


def _known_role(message: Message) -> Message:
    return replace(message, role="system") if message.role == "developer" else message
