"""Messages and tools as the values that Ollama gives to its templates: which fields they have, of which
types.

Knows nothing of templates.
"""

from collections.abc import Iterable, Mapping

from modelfiles.messages import Message, Tool, ToolCall
from modelfiles.templates.go.quoting import clean
from modelfiles.templates.go.values import (
    ANY,
    ANY_LIST,
    IMAGE,
    INT,
    STRING,
    STRINGS,
    GoField,
    GoType,
    Map,
    Pointer,
    Slice,
    Struct,
    Value,
    slice_of,
)

ARGUMENTS = GoType("template.templateArgs", "map", ANY)
_CALL_FUNCTION = GoType(
    "template.templateToolCallFunction",
    "struct",
    fields=(GoField("Index", INT), GoField("Name", STRING), GoField("Arguments", ARGUMENTS)),
)
_CALL = GoType(
    "template.templateToolCall",
    "struct",
    fields=(GoField("ID", STRING), GoField("Function", _CALL_FUNCTION)),
)
_CALLS = GoType("[]template.templateToolCall", "slice", _CALL)
_IMAGES = GoType("[]api.ImageData", "slice", IMAGE)
_MESSAGE = GoType(
    "template.templateMessage",
    "struct",
    fields=(
        GoField("Role", STRING),
        GoField("Content", STRING),
        GoField("Thinking", STRING),
        GoField("Images", _IMAGES),
        GoField("ToolCalls", _CALLS),
        GoField("ToolName", STRING),
        GoField("ToolCallID", STRING),
    ),
)
_MESSAGE_POINTER = GoType("*template.templateMessage", "pointer", _MESSAGE)
_MESSAGES = GoType("[]*template.templateMessage", "slice", _MESSAGE_POINTER)

PROPERTY_TYPE = GoType("api.PropertyType", "slice", STRING)
PROPERTY_MAP = GoType("*api.ToolPropertiesMap", "pointer", GoType("api.ToolPropertiesMap", "struct"))
# A property holds others of its type, which a constant cannot say.
_ALTERNATIVES = GoType("[]api.ToolProperty", "slice", GoType("api.ToolProperty", "struct"))
PROPERTY = GoType(
    "api.ToolProperty",
    "struct",
    fields=(
        GoField("AnyOf", _ALTERNATIVES, "anyOf", omitted=True),
        GoField("Type", PROPERTY_TYPE, "type", omitted=True),
        GoField("Items", ANY, "items", omitted=True),
        GoField("Description", STRING, "description", omitted=True),
        GoField("Enum", ANY_LIST, "enum", omitted=True),
        GoField("Properties", PROPERTY_MAP, "properties", omitted=True),
        GoField("Required", STRINGS, "required", omitted=True),
    ),
)
PROPERTIES = GoType("template.templateProperties", "map", PROPERTY)
_PARAMETERS = GoType(
    "template.templateToolFunctionParameters",
    "struct",
    fields=(
        GoField("Type", STRING, "type"),
        GoField("Defs", ANY, "$defs", omitted=True),
        GoField("Items", ANY, "items", omitted=True),
        GoField("Required", STRINGS, "required", omitted=True),
        GoField("Properties", PROPERTIES, "properties"),
    ),
)
_TOOL_FUNCTION = GoType(
    "template.templateToolFunction",
    "struct",
    fields=(
        GoField("Name", STRING, "name"),
        GoField("Description", STRING, "description"),
        GoField("Parameters", _PARAMETERS, "parameters"),
    ),
)
TOOL = GoType(
    "template.templateTool",
    "struct",
    fields=(
        GoField("Type", STRING, "type"),
        GoField("Items", ANY, "items", omitted=True),
        GoField("Function", _TOOL_FUNCTION, "function"),
    ),
)
TOOLS = GoType("template.templateTools", "slice", TOOL)


def messages_value(messages: Iterable[Message]) -> Slice:
    return slice_of(_MESSAGES, [_message(message) for message in messages])


def tools_value(tools: Iterable[Tool]) -> Slice:
    """Nil where there are none, as a request without tools has it."""
    return slice_of(TOOLS, [_tool(tool) for tool in tools] or None)


def json_value(value: object) -> Value:
    """What Go's decoder makes of JSON: numbers are floats, text has no halves of surrogate pairs."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [json_value(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return _float(value)
    return value


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _message(message: Message) -> Struct:
    fields: dict[str, Value] = {
        "Role": clean(message.role),
        "Content": clean(message.content),
        "Thinking": clean(message.thinking),
        "Images": slice_of(_IMAGES, list(message.images) or None),
        "ToolCalls": slice_of(_CALLS, [_call(call) for call in message.tool_calls] or None),
        "ToolName": clean(message.tool_name),
        "ToolCallID": clean(message.tool_call_id),
    }
    return Struct(_MESSAGE, fields, _MESSAGE_POINTER)


def _call(call: ToolCall) -> Struct:
    function: dict[str, Value] = {
        "Index": call.index or 0,
        "Name": clean(call.name),
        "Arguments": Map(ARGUMENTS, _entries(call.arguments)),
    }
    return Struct(_CALL, {"ID": clean(call.id or ""), "Function": Struct(_CALL_FUNCTION, function)})


def _tool(tool: Tool) -> Struct:
    function = _mapping(tool.raw.get("function"))
    parameters = _mapping(function.get("parameters"))
    properties = parameters.get("properties")
    made_parameters: dict[str, Value] = {
        "Type": _text(parameters.get("type")),
        "Defs": json_value(parameters.get("$defs")),
        "Items": json_value(parameters.get("items")),
        "Required": _strings(parameters.get("required")),
        "Properties": Map(PROPERTIES, _properties(properties) if isinstance(properties, dict) else None),
    }
    made_function: dict[str, Value] = {
        "Name": _text(function.get("name")),
        "Description": _text(function.get("description")),
        "Parameters": Struct(_PARAMETERS, made_parameters),
    }
    fields: dict[str, Value] = {
        "Type": _text(tool.raw.get("type")),
        "Items": json_value(tool.raw.get("items")),
        "Function": Struct(_TOOL_FUNCTION, made_function),
    }
    return Struct(TOOL, fields)


def _properties(raw: Mapping[str, object]) -> dict[str, Value]:
    return {clean(name): _property(_mapping(inner)) for name, inner in raw.items()}


def _property(raw: Mapping[str, object]) -> Struct:
    kind, alternatives, inner = raw.get("type"), raw.get("anyOf"), raw.get("properties")
    choices = raw.get("enum")
    fields: dict[str, Value] = {
        "AnyOf": slice_of(
            _ALTERNATIVES,
            [_property(_mapping(item)) for item in alternatives] if isinstance(alternatives, list) else None,
        ),
        "Type": slice_of(PROPERTY_TYPE, [clean(kind)] if isinstance(kind, str) else _texts(kind)),
        "Items": json_value(raw.get("items")),
        "Description": _text(raw.get("description")),
        "Enum": slice_of(
            ANY_LIST, [json_value(item) for item in choices] if isinstance(choices, list) else None
        ),
        "Properties": Pointer(PROPERTY_MAP, _properties(inner) if isinstance(inner, dict) else None),
        "Required": _strings(raw.get("required")),
    }
    return Struct(PROPERTY, fields)


def _entries(raw: Mapping[str, object]) -> dict[str, Value]:
    return {clean(str(key)): json_value(inner) for key, inner in raw.items()}


def _strings(value: object) -> Slice:
    return slice_of(STRINGS, _texts(value))


def _texts(value: object) -> list[Value] | None:
    return [clean(str(item)) for item in value] if isinstance(value, list) else None


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
