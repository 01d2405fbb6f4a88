"""OpenAI's messages as inner ones. Pure; the texts of what is refused are Ollama's."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from modelfiles.messages import Message, Tool, ToolCall, tool_from_json
from shim.errors import ApiError, bad_request

Json = Mapping[str, object]

_IMAGES = tuple(f"data:{kind};base64," for kind in ("image/jpeg", "image/jpg", "image/png", "image/webp", ""))
_GO_TYPES = ((bool, "bool"), (int | float, "float64"), (dict, "map[string]interface {}"))


def messages(given: object) -> tuple[Message, ...]:
    """All of them. ApiError."""
    if not isinstance(given, list) or not given:
        raise bad_request("[] is too short - 'messages'")
    found: list[Message] = []
    for at, item in enumerate(given):
        if not isinstance(item, Mapping) or not isinstance(item.get("role"), str) or not item["role"]:
            raise bad_request(f"messages[{at}].role must be a text, such as user or assistant")
        found.append(_message(item, found))
        if found[-1].role == "tool" and not any(message.tool_calls for message in found):
            raise bad_request(f"messages[{at}].tool_call_id: a result, and no tool was called before")
    return tuple(found)


def _message(item: Json, before: Sequence[Message]) -> Message:
    content = item.get("content")
    calls = tuple(tool_call(call) for call in _objects(item.get("tool_calls")))
    whole = Message(
        role=str(item["role"]).lower(),
        thinking=_text(item, "reasoning") or _text(item, "reasoning_content"),
        tool_calls=calls,
        tool_name=_text(item, "name") or _called(_text(item, "tool_call_id"), before),
        tool_call_id=_text(item, "tool_call_id"),
    )
    if whole.role != "tool":
        whole = replace(whole, tool_name="", tool_call_id="")
    if isinstance(content, str):
        return replace(whole, content=content)
    if isinstance(content, list):
        return _of_parts(whole, content)
    if content is None and (calls or whole.thinking or whole.role == "assistant"):
        return whole
    raise bad_request(f"invalid message content type: {_go_type(content)}")


def _of_parts(whole: Message, parts: Sequence[object]) -> Message:
    """Texts are joined by newlines: several messages in a row would not be what the client has said."""
    texts: list[str] = []
    images: list[bytes] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping):
            raise bad_request("invalid message format")
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            texts.append(str(part["text"]))
        elif kind == "refusal":
            texts.append(str(part.get("refusal", "")))
        elif kind in ("image_url", "input_image"):
            images.append(image(part.get("image_url")))
        elif kind == "input_audio":
            raise bad_request("audio input is not supported by this version; send text only")
        else:
            raise bad_request("invalid message format")
    return replace(whole, content="\n".join(texts), images=tuple(images))


def image(given: object) -> bytes:
    """The bytes behind a data URL, given as it is or as an object with a `url`. ApiError."""
    url = given.get("url") if isinstance(given, Mapping) else given
    if not isinstance(url, str):
        raise bad_request("invalid message format")
    if url.startswith(("http://", "https://")):
        raise bad_request(
            "image URLs are not currently supported, please use base64 encoded data instead"
        )
    prefix = next((prefix for prefix in _IMAGES if url.startswith(prefix)), None)
    if prefix is None:
        raise bad_request("invalid image input")
    try:
        return base64.b64decode(url.removeprefix(prefix), validate=True)
    except (binascii.Error, ValueError):
        raise bad_request("invalid image input") from None


def tool_call(item: Json) -> ToolCall:
    """A call that an earlier answer made. ApiError."""
    function = item.get("function")
    function = function if isinstance(function, Mapping) else {}
    identity, name = item.get("id"), function.get("name")
    if not isinstance(name, str) or not name:
        raise bad_request("tool_calls[].function.name must be a text")
    arguments = parsed_arguments(function.get("arguments"), bad_request("invalid tool call arguments"))
    return ToolCall(name, arguments, id=identity if isinstance(identity, str) and identity else None)


def parsed_arguments(given: object, refused: ApiError) -> dict[str, object]:
    """The object that arguments hold, which are a text. `refused` is raised for all others."""
    if isinstance(given, Mapping):
        return dict(given)
    if given is None or given == "":
        return {}
    try:
        value = msgspec.json.decode(given.encode("utf-8", "replace")) if isinstance(given, str) else None
    except (msgspec.DecodeError, RecursionError):
        raise refused from None
    if not isinstance(value, dict):
        raise refused
    return value


def tools(given: object) -> tuple[Tool, ...]:
    """Tools that are functions; other kinds have no meaning here. ApiError."""
    found: list[Tool] = []
    for at, item in enumerate(_objects(given)):
        if item.get("type", "function") != "function":
            continue
        function = item.get("function")
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise bad_request(f"tools[{at}].function.name must be a text")
        if not isinstance(function.get("parameters", {}), Mapping | None):
            raise bad_request(f"tools[{at}].function.parameters must be a JSON schema, which is an object")
        found.append(tool_from_json(item))
    return tuple(found)


def _called(identity: str, before: Sequence[Message]) -> str:
    """The name of the tool that the call with this id was for."""
    calls = (call for message in reversed(before) for call in message.tool_calls)
    return next((call.name for call in calls if identity and call.id == identity), "")


def _objects(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(item: Json, key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _go_type(value: object) -> str:
    return next((name for kind, name in _GO_TYPES if isinstance(value, kind)), "<nil>")
