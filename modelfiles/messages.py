"""The vocabulary of a chat: messages, tool calls and tools, as every dialect and every template sees them.

Plain frozen values. Knows nothing of JSON bodies, templates or replies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# What a tool's description keeps, in the order in which it is written again; all other JSON Schema keywords
# are dropped, so that a model sees the same text whichever client sent the tool.
_PARAMETERS_KEYS = ("type", "$defs", "items", "required", "properties")
_PROPERTY_KEYS = ("anyOf", "type", "items", "description", "enum", "properties", "required")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool. `arguments` keeps the order in which the keys came."""

    name: str
    arguments: dict[str, object] = field(default_factory=dict)
    id: str | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat. `role` is lower case; images are the decoded files."""

    role: str
    content: str = ""
    thinking: str = ""
    images: tuple[bytes, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. `raw` is the JSON that a template sees, reduced to what is kept."""

    name: str
    raw: dict[str, object]


def tool_from_json(value: Mapping[str, object]) -> Tool:
    """Reduce a tool as clients send it to the keys that reach a model.

    Unknown keywords are dropped at every level and never an error; a part of the wrong shape is absent.
    """
    function = _mapping(value.get("function"))
    name = function.get("name")
    kept: dict[str, object] = {"name": name if isinstance(name, str) else ""}
    if isinstance(function.get("description"), str) and function["description"]:
        kept["description"] = function["description"]
    kept["parameters"] = _parameters(_mapping(function.get("parameters")))
    raw: dict[str, object] = {"type": value.get("type") or "function"}
    if value.get("items") is not None:
        raw["items"] = value["items"]
    raw["function"] = kept
    return Tool(str(kept["name"]), raw)


def _parameters(schema: Mapping[str, object]) -> dict[str, object]:
    kept = _kept(schema, _PARAMETERS_KEYS)
    # As in Go: an empty object stays one, and without any it is null.
    return {
        "type": kept.pop("type", ""),
        **kept,
        "properties": _keyword("properties", schema.get("properties")),
    }


def _kept(schema: Mapping[str, object], keys: tuple[str, ...]) -> dict[str, object]:
    kept = ((key, _keyword(key, schema.get(key))) for key in keys)
    return {key: value for key, value in kept if not _is_absent(key, value)}


def _is_absent(key: str, value: object) -> bool:
    """Empty lists and texts say nothing, but for keywords that may hold anything; empty objects do."""
    return value is None or (key not in ("items", "$defs") and value in ("", []))


def _keyword(key: str, value: object) -> object:
    match key, value:
        case "properties", Mapping():
            return {str(name): _kept(_mapping(inner), _PROPERTY_KEYS) for name, inner in value.items()}
        case "anyOf", list():
            return [_kept(_mapping(inner), _PROPERTY_KEYS) for inner in value]
        case "type", [str() as only]:
            return only
        case (("properties" | "anyOf"), _):
            return None
    return value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
