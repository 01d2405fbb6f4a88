"""The request bodies of Ollama's dialect, as tables of fields in their declared order.

Types are named as in Go, because its error messages name them. Knows nothing of what the fields mean.
"""

from __future__ import annotations

from shim.bodies import Field, Struct
from shim.bodykinds import (
    ANY,
    ARGUMENTS,
    BOOL,
    INT,
    KEEP_ALIVE,
    LOWER_STRING,
    RAW,
    STRING,
    THINK,
    Base64,
    JsonObject,
    ListOf,
    MapOf,
)

_IMAGES = ListOf(Base64("api.ImageData"), "[]api.ImageData")
_TEXTS_BY_NAME = MapOf(STRING, "map[string]string")
_OPTIONS = JsonObject()

_CALL = Struct(
    "ToolCall",
    [
        Field("id", STRING),
        Field(
            "function",
            Struct(
                "ToolCallFunction",
                [Field("index", INT), Field("name", STRING), Field("arguments", ARGUMENTS)],
            ),
        ),
    ],
)

_MESSAGE = Struct(
    "Message",
    [
        Field("role", LOWER_STRING),
        Field("content", STRING),
        Field("thinking", STRING),
        Field("images", _IMAGES, empty_is_absent=True),
        Field("tool_calls", ListOf(_CALL, "[]api.ToolCall"), empty_is_absent=True),
        Field("tool_name", STRING),
        Field("tool_call_id", STRING),
    ],
    own_decoder="Alias",
)
_MESSAGES = ListOf(_MESSAGE, "[]api.Message")

# What a schema says below `parameters` is reduced to the known keywords later, and never an error.
_TOOL = Struct(
    "Tool",
    [
        Field("type", STRING),
        Field("items", ANY),
        Field(
            "function",
            Struct(
                "ToolFunction",
                [
                    Field("name", STRING),
                    Field("description", STRING),
                    Field("parameters", JsonObject("api.ToolFunctionParameters")),
                ],
            ),
        ),
    ],
)

# Both generation requests end in these.
_GENERATION = [
    Field("stream", BOOL),
    Field("format", RAW, empty_is_absent=True),
    Field("keep_alive", KEEP_ALIVE, empty_is_absent=True),
    Field("options", _OPTIONS, empty_is_absent=True),
    Field("think", THINK, empty_is_absent=True),
    Field("truncate", BOOL),
    Field("shift", BOOL),
    Field("_debug_render_only", BOOL),
    Field("logprobs", BOOL),
    Field("top_logprobs", INT),
]

GENERATE = Struct(
    "GenerateRequest",
    [
        Field("model", STRING),
        Field("prompt", STRING),
        Field("suffix", STRING),
        Field("system", STRING, empty_is_absent=True),
        Field("template", STRING, empty_is_absent=True),
        Field("context", ListOf(INT, "[]int", zero=None)),
        Field("raw", BOOL),
        Field("images", _IMAGES, empty_is_absent=True),
        *_GENERATION,
    ],
)

CHAT = Struct(
    "ChatRequest",
    [
        Field("model", STRING),
        Field("messages", _MESSAGES),
        Field("tools", ListOf(_TOOL, "api.Tools"), empty_is_absent=True),
        *_GENERATION,
    ],
)

CREATE = Struct(
    "CreateRequest",
    [
        Field("model", STRING),
        Field("stream", BOOL),
        Field("quantize", STRING),
        Field("draft_quantize", STRING),
        Field("from", STRING),
        Field("remote_host", STRING),
        Field("files", _TEXTS_BY_NAME),
        Field("draft_files", _TEXTS_BY_NAME),
        Field("adapters", _TEXTS_BY_NAME),
        Field("template", STRING, empty_is_absent=True),
        Field("license", ANY, empty_is_absent=True),
        Field("system", STRING, empty_is_absent=True),
        Field("parameters", JsonObject(), empty_is_absent=True),
        Field("messages", _MESSAGES),
        Field("renderer", STRING),
        Field("parser", STRING),
        Field("requires", STRING),
        Field("info", JsonObject(), empty_is_absent=True),
        Field("name", STRING),
        Field("quantization", STRING),
        Field("quantize_experts", STRING),
        Field("tensor_types", _TEXTS_BY_NAME),
        Field("imatrix", STRING),
        Field("allow_requantize", BOOL),
    ],
)

EMBED = Struct(
    "EmbedRequest",
    [
        Field("model", STRING),
        Field("input", ANY),
        Field("keep_alive", KEEP_ALIVE, empty_is_absent=True),
        Field("truncate", BOOL),
        Field("dimensions", INT),
        Field("options", _OPTIONS, empty_is_absent=True),
    ],
)

EMBEDDINGS = Struct(
    "EmbeddingRequest",
    [
        Field("model", STRING),
        Field("prompt", STRING),
        Field("keep_alive", KEEP_ALIVE, empty_is_absent=True),
        Field("options", _OPTIONS, empty_is_absent=True),
    ],
)

SHOW = Struct(
    "ShowRequest",
    [
        Field("model", STRING),
        Field("system", STRING, empty_is_absent=True),
        Field("template", STRING),
        Field("verbose", BOOL),
        Field("options", _OPTIONS, empty_is_absent=True),
        Field("name", STRING),
    ],
)

DELETE = Struct("DeleteRequest", [Field("model", STRING), Field("name", STRING)])

COPY = Struct("CopyRequest", [Field("source", STRING), Field("destination", STRING)])

_TRANSFER = [
    Field("model", STRING),
    Field("insecure", BOOL),
    Field("username", STRING),
    Field("password", STRING),
    Field("stream", BOOL),
    Field("name", STRING),
]
PULL = Struct("PullRequest", _TRANSFER)
PUSH = Struct("PushRequest", _TRANSFER)
