"""The request bodies of OpenAI's dialect, as tables of fields. Knows nothing of what the fields mean.

Beside OpenAI's own fields stand those that vLLM, llama.cpp's server and LM Studio have added; all others are
dropped. Values whose types differ between clients are read where they are used.
"""

from __future__ import annotations

from shim.bodies import Field, Struct
from shim.bodykinds import ANY, BOOL, INT, KEEP_ALIVE, STRING, JsonObject, ListOf

_OBJECT = JsonObject()
_OBJECTS = ListOf(_OBJECT, "[]map[string]interface {}", zero=None)

SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "frequency_penalty", "presence_penalty",
    "repeat_penalty", "repetition_penalty", "logit_bias", "stop",
)  # fmt: skip
STRUCTURE = (
    "response_format", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs",
    "grammar", "json_schema",
)  # fmt: skip

# What chats and completions share.
_GENERATION = [
    Field("model", STRING),
    Field("stream", BOOL),
    Field("stream_options", Struct("StreamOptions", [Field("include_usage", BOOL)])),
    Field("n", INT),
    Field("max_tokens", INT),
    Field("options", _OBJECT, empty_is_absent=True),
    Field("keep_alive", KEEP_ALIVE, empty_is_absent=True),
    *(Field(name, ANY, empty_is_absent=True) for name in (*SAMPLING, *STRUCTURE)),
]

CHAT = Struct(
    "ChatCompletionRequest",
    [
        *_GENERATION,
        Field("messages", _OBJECTS),
        Field("tools", _OBJECTS, empty_is_absent=True),
        Field("tool_choice", ANY, empty_is_absent=True),
        Field("parallel_tool_calls", BOOL),
        Field("max_completion_tokens", INT),
        Field("logprobs", BOOL),
        Field("top_logprobs", INT),
        Field("reasoning", _OBJECT, empty_is_absent=True),
        Field("reasoning_effort", STRING),
        Field("chat_template_kwargs", _OBJECT, empty_is_absent=True),
        Field("extra_body", _OBJECT, empty_is_absent=True),
    ],
)

COMPLETION = Struct(
    "CompletionRequest",
    [*_GENERATION, Field("prompt", ANY), Field("suffix", STRING), Field("logprobs", INT)],
)

RESPONSES = Struct(
    "ResponseRequest",
    [
        Field("model", STRING),
        Field("input", ANY),
        Field("instructions", STRING),
        Field("max_output_tokens", INT),
        Field("previous_response_id", STRING),
        Field("store", BOOL),
        Field("stream", BOOL),
        Field("tools", _OBJECTS, empty_is_absent=True),
        Field("tool_choice", ANY, empty_is_absent=True),
        Field("parallel_tool_calls", BOOL),
        Field("reasoning", _OBJECT, empty_is_absent=True),
        Field("text", _OBJECT, empty_is_absent=True),
        Field("truncation", ANY),
        Field("metadata", _OBJECT, empty_is_absent=True),
        Field("chat_template_kwargs", _OBJECT, empty_is_absent=True),
        Field("extra_body", _OBJECT, empty_is_absent=True),
        Field("keep_alive", KEEP_ALIVE, empty_is_absent=True),
        *(Field(name, ANY, empty_is_absent=True) for name in SAMPLING),
    ],
)

EMBEDDINGS = Struct(
    "EmbeddingRequest",
    [
        Field("model", STRING),
        Field("input", ANY),
        Field("dimensions", INT),
        Field("encoding_format", STRING),
        Field("keep_alive", KEEP_ALIVE, empty_is_absent=True),
    ],
)
