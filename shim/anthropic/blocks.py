"""Anthropic's messages, which are made of blocks, as inner ones. Pure; texts of errors are Ollama's.

Blocks of an unknown kind mean nothing to a local model and are left out, and so are messages of nothing else.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from modelfiles.messages import Message, ToolCall
from shim.errors import bad_request

Block = Mapping[str, object]


def messages(given: object, system: object) -> tuple[Message, ...]:
    """All of them, the system text first. ApiError."""
    if not isinstance(given, list) or not given:
        raise bad_request("messages is required")
    opening = _text_of(system)
    found = [Message("system", opening)] if opening else []
    for at, item in enumerate(given):
        found += _messages(at, item, found)
    return tuple(found)


@dataclass(slots=True)
class _Gathered:
    """What the blocks of one message say."""

    texts: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)


def _messages(at: int, item: object, before: Sequence[Message]) -> Iterable[Message]:
    role = item.get("role") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(role, str) or not role:
        raise bad_request(f"messages[{at}].role must be user or assistant")
    content = item.get("content")
    if isinstance(content, str):
        return [Message(role.lower(), content)] if content else []
    if content is not None and not isinstance(content, list):
        raise bad_request(f"messages[{at}].content must be a text or a list of blocks")
    found = _Gathered()
    for block in content or []:
        if not isinstance(block, Mapping):
            raise bad_request(f"messages[{at}].content must be a text or a list of blocks")
        _add(found, block, at, before)
    own = Message(
        role.lower(),
        "".join(found.texts),
        "".join(found.thinking),
        tuple(found.images),
        tuple(found.calls),
    )
    said = [own] if own != Message(own.role) else []
    # A user's text comes behind the results that it speaks about.
    return [*found.results, *said] if own.role == "user" else [*said, *found.results]


def _add(found: _Gathered, block: Block, at: int, before: Sequence[Message]) -> None:
    match block.get("type"):
        case "text":
            found.texts.append(_string(block, "text"))
        case "thinking":
            found.thinking.append(_string(block, "thinking"))
        case "image":
            found.images.append(_image(block, "invalid image source"))
        case "tool_use" | "server_tool_use":
            found.calls.append(_call(block))
        case "tool_result":
            found.results.append(_result(block, at, before))


def _call(block: Block) -> ToolCall:
    for key in ("id", "name"):
        if not _string(block, key):
            raise bad_request(f"tool_use block missing required '{key}' field")
    given = block.get("input")
    arguments = dict(given) if isinstance(given, Mapping) else {}
    return ToolCall(_string(block, "name"), arguments, _string(block, "id"))


def _result(block: Block, at: int, before: Sequence[Message]) -> Message:
    identity = _string(block, "tool_use_id")
    calls = [call for message in reversed(before) for call in message.tool_calls]
    if not calls:
        raise bad_request(f"messages[{at}].content: a tool_result, and no tool was called before")
    name = next((call.name for call in calls if call.id == identity), "")
    result = Message("tool", tool_name=name, tool_call_id=identity)
    content = block.get("content")
    if not isinstance(content, list):
        return replace(result, content=_text_of(content))
    images = [
        _image(part, "invalid tool_result image source")
        for part in content
        if isinstance(part, Mapping) and part.get("type") == "image"
    ]
    return replace(result, content=_text_of(content), images=tuple(images))


def _text_of(given: object) -> str:
    """A text, or the texts of blocks, one behind the other."""
    if isinstance(given, str):
        return given
    blocks = given if isinstance(given, list) else []
    return "".join(
        _string(block, "text")
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "text"
    )


def _image(block: Block, refusal: str) -> bytes:
    source = block.get("source")
    if not isinstance(source, Mapping):
        raise bad_request(refusal)
    kind, data = source.get("type"), source.get("data")
    if kind != "base64":
        raise bad_request(f"invalid image source type: {kind}. Only base64 images are supported.")
    try:
        return base64.b64decode(data if isinstance(data, str) else "!", validate=True)
    except (binascii.Error, ValueError) as error:
        raise bad_request(f"invalid base64 image data: {error}") from None


def _string(block: Block, key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""
