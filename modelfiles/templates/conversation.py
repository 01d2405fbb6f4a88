"""Messages and tools in the shape that chat templates expect: plain dicts like those of OpenAI's API.

Every call makes fresh dicts, because templates may change what they are given. Knows nothing of Jinja.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from modelfiles.messages import Message, Tool, ToolCall


@dataclass(frozen=True, slots=True)
class Form:
    """What differs between templates and cannot be told from a failure: found by trying (`probe`)."""

    arguments_as_text: bool = False
    content_as_parts: bool = False
    tools_as_list: bool = False


def message_variables(messages: Iterable[Message], form: Form) -> list[dict[str, object]]:
    return [_message(message, form) for message in messages]


def tool_variables(tools: Sequence[Tool], form: Form) -> dict[str, object]:
    """Without tools, None is what most templates are tested with. `functions` is for one old family."""
    raw = [_copied(tool.raw) for tool in tools]
    none: list[object] | None = [] if form.tools_as_list else None
    return {"tools": raw or none, "functions": json.dumps(raw, ensure_ascii=False) if raw else ""}


def described(tool: Tool) -> Tool:
    """The same tool with an empty description and properties wherever they are missing, which a few templates
    insist on.
    """
    return Tool(tool.name, {**tool.raw, "function": _described(tool.raw.get("function"))})


def opened(tool: Tool) -> Tool:
    """The same tool, `described`, whose parameters that are objects say that they may hold anything."""
    function = _described(tool.raw.get("function"))
    parameters = function.get("parameters") if isinstance(function, dict) else None
    if isinstance(parameters, dict):
        for part in parameters["properties"].values():
            _open(part)
    return Tool(tool.name, {**tool.raw, "function": function})


def _open(part: object) -> None:
    while isinstance(part, dict):
        if part.get("type") == "object":
            part.setdefault("additionalProperties", {"type": None})
        part = part.get("items")


def _described(value: object) -> object:
    if not isinstance(value, dict):
        return value
    inner = {key: _described(part) for key, part in value.items()}
    properties = inner.get("properties")
    if isinstance(properties, dict):
        inner["properties"] = {
            name: {"description": "", **part} if isinstance(part, dict) else part
            for name, part in properties.items()
        }
    elif "properties" in inner:
        inner["properties"] = {}
    return {"description": "", **inner} if "parameters" in inner else inner


def _message(message: Message, form: Form) -> dict[str, object]:
    content: object = message.content
    if form.content_as_parts:
        content = [{"type": "text", "text": message.content}]
    made: dict[str, object] = {"role": message.role, "content": content}
    if message.thinking:
        # Templates read one of the two; nobody minds the other.
        made["reasoning_content"] = message.thinking
        made["thinking"] = message.thinking
    if message.tool_calls:
        made["tool_calls"] = [_call(call, form) for call in message.tool_calls]
    if message.role == "tool":
        made["name"] = message.tool_name
        made["tool_call_id"] = message.tool_call_id
    return made


def _call(call: ToolCall, form: Form) -> dict[str, object]:
    arguments: object = _copied(call.arguments)
    if form.arguments_as_text:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}}


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
