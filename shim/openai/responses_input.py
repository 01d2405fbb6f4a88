"""The input of `/v1/responses`: items to messages, flat tools to nested ones. Pure; texts are Ollama's.

An answer is told as several items (thinking, text, calls), which belong into one message again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from modelfiles.messages import Message, ToolCall
from shim.errors import bad_request, go_quoted
from shim.openai.messages import image, parsed_arguments

Json = Mapping[str, object]

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def messages(given: object, before: Sequence[Message] = ()) -> tuple[Message, ...]:
    """The messages of `input`, behind those of earlier answers. ApiError."""
    if isinstance(given, str):
        return (*before, Message("user", given))
    if not isinstance(given, list):
        raise bad_request("input must be a string or array")
    found = [*before]
    thinking = ""
    for at, item in enumerate(given):
        if not isinstance(item, Mapping):
            raise bad_request(f"input[{at}]: input item must be an object")
        kind = item.get("type") or ("message" if "role" in item else "")
        match kind:
            case "message":
                message = replace(_message(at, item), thinking=thinking)
                thinking = "" if message.role == "assistant" else thinking
                _add(found, message)
            case "reasoning":
                thinking = _thought(item)
            case "function_call":
                _add(found, Message("assistant", thinking=thinking, tool_calls=(_call(at, item),)))
                thinking = ""
            case "function_call_output":
                found.append(_result(at, item, found))
            case "web_search_call" | "item_reference":
                pass  # nothing that a local model could use
            case "":
                raise bad_request(f"input[{at}]: input item missing required 'type' field")
            case _:
                raise bad_request(f"input[{at}]: unknown input item type: {go_quoted(str(kind))}")
    return tuple(found)


def _add(found: list[Message], message: Message) -> None:
    """Into the assistant's last message, where this one goes on with it: text, then calls."""
    last = found[-1] if found else None
    if last is None or message.role != "assistant" or last.role != "assistant":
        found.append(message if message.role == "assistant" else replace(message, thinking=""))
    elif message.tool_calls or not last.tool_calls:
        found[-1] = replace(
            last,
            content="\n".join(filter(None, (last.content, message.content))),
            thinking="\n".join(filter(None, (last.thinking, message.thinking))),
            tool_calls=(*last.tool_calls, *message.tool_calls),
        )
    else:  # text behind calls, whose results follow
        found[-1] = replace(last, content="\n".join(filter(None, (last.content, message.content))))


def _message(at: int, item: Json) -> Message:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise bad_request(f"input[{at}].role must be a text")
    content = item.get("content")
    if isinstance(content, str):
        return Message(role.lower(), content)
    if not isinstance(content, list):
        raise bad_request(f"input[{at}].content must be a text or a list of parts")
    text, images = _parts(at, content)
    return Message(role.lower(), text, images=images)


def _parts(at: int, parts: Sequence[object]) -> tuple[str, tuple[bytes, ...]]:
    texts: list[str] = []
    images: list[bytes] = []
    for place, part in enumerate(parts):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping):
            raise bad_request(f"input[{at}]: content[{place}]: must be an object")
        if kind in _TEXTS:
            texts.append(str(part.get("text", "")))
        elif kind == "refusal":
            texts.append(str(part.get("refusal", "")))
        elif kind == "input_image":
            images.append(image(part.get("image_url")))
        elif kind == "input_file":
            raise bad_request("file inputs are not currently supported")
        else:
            raise bad_request(f"input[{at}]: content[{place}]: unknown content type: {kind}")
    return "".join(texts), tuple(images)


def _thought(item: Json) -> str:
    """What the model thought: our answers carry it in `encrypted_content`, which is not encrypted here."""
    given = item.get("encrypted_content")
    if isinstance(given, str) and given:
        return given
    for key in ("content", "summary"):
        parts = item.get(key)
        if isinstance(parts, list) and parts:
            return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
    return ""


def _call(at: int, item: Json) -> ToolCall:
    name, identity = item.get("name"), item.get("call_id")
    if not isinstance(name, str) or not name:
        raise bad_request(f"input[{at}].name must be a text")
    refused = bad_request(f"failed to parse function call arguments: input[{at}].arguments is no JSON object")
    arguments = parsed_arguments(item.get("arguments"), refused)
    return ToolCall(name, arguments, id=identity if isinstance(identity, str) else None)


def _result(at: int, item: Json, before: Sequence[Message]) -> Message:
    identity = str(item.get("call_id", ""))
    calls = [call for message in reversed(before) for call in message.tool_calls]
    if not calls:
        raise bad_request(f"input[{at}].call_id: an output, and no function was called before")
    output = item.get("output")
    text, images = _parts(at, output) if isinstance(output, list) else (str(output or ""), ())
    name = next((call.name for call in calls if call.id == identity), "")
    return Message("tool", text, images=images, tool_name=name, tool_call_id=identity)


def nested_tools(given: object) -> list[dict[str, object]]:
    """Flat tools as chats have them; those in a namespace get its name in front. ApiError.

    Kinds that only a cloud could carry out, such as a search of the web, are left out.
    """
    return [*_nested(given if isinstance(given, list) else [], "")]


def _nested(tools: Sequence[object], prefix: str) -> Iterable[dict[str, object]]:
    for at, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            raise bad_request(f"tools[{at}] must be an object")
        inner, name = tool.get("tools"), str(tool.get("name", ""))
        if tool.get("type") == "namespace" and isinstance(inner, list):
            yield from _nested(inner, f"{name}.")
        elif tool.get("type") == "function":
            function = dict(tool.get("function") or tool)
            own = str(function.get("name", ""))
            if not own:
                raise bad_request(f"tools[{at}].name must be a text")
            function["name"] = own if own.startswith(prefix) else prefix + own
            yield {"type": "function", "function": function}
