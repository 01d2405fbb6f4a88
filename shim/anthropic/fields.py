"""The request bodies of Anthropic's dialect, as tables of fields. Knows nothing of what the fields mean."""

from __future__ import annotations

from shim.bodies import Field, Struct
from shim.bodykinds import ANY, BOOL, INT, STRING, JsonObject, ListOf

_OBJECT = JsonObject()
_OBJECTS = ListOf(_OBJECT, "[]map[string]interface {}", zero=None)

_PROMPT = [
    Field("model", STRING),
    Field("messages", _OBJECTS),
    Field("system", ANY, empty_is_absent=True),
    Field("tools", _OBJECTS, empty_is_absent=True),
    Field("tool_choice", _OBJECT, empty_is_absent=True),
    Field("thinking", _OBJECT, empty_is_absent=True),
    Field("output_config", _OBJECT, empty_is_absent=True),
]

SAMPLING = ("temperature", "top_p", "top_k")
MESSAGES = Struct(
    "MessagesRequest",
    [
        *_PROMPT,
        Field("max_tokens", INT),
        Field("stream", BOOL),
        Field("stop_sequences", ListOf(STRING, "[]string", zero=""), empty_is_absent=True),
        *(Field(name, ANY, empty_is_absent=True) for name in SAMPLING),
    ],
)
COUNT_TOKENS = Struct("CountTokensRequest", _PROMPT)
