"""Failures, sorted by check."""

import pytest

from modelfiles.messages import tool_from_json
from modelfiles.replies.checks import Check, failed_check
from modelfiles.replies.families import tags_of
from modelfiles.replies.stream import ReplyReader
from modelfiles.replies.toolcalls import STYLES

TOOLS = (tool_from_json({"function": {"name": "f"}}),)


@pytest.mark.parametrize(
    ("style", "text", "check"),
    [
        ("hermes", '<tool_call>{"name": "g"}</tool_call>', "name"),
        ("hermes", '<tool_call>{"name": "f", "arguments": 7}</tool_call>', "arguments"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a', "syntax"),
        ("qwen3_coder", "<tool_call><function=g></function></tool_call>", "name"),
        ("glm45", "<tool_call>g</tool_call>", "name"),
        ("deepseek_v31", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>[1]<｜tool▁call▁end｜>", "arguments"),
        ("deepseek_v31", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{", "syntax"),
        ("mistral", "[TOOL_CALLS]g[ARGS]{}", "name"),
        ("pythonic", "[g()]", "name"),
        ("llama3_json", '{"name": "f"}', "arguments"),
        ("openai", "<|channel|>commentary to=functions.g<|message|>{}<|call|>", "name"),
        ("openai", "<|channel|>commentary to=functions.f<|message|>{<|call|>", "syntax"),
    ],
)
def test_failed_check(style: str, text: str, check: Check) -> None:
    reader = ReplyReader(tags_of(style), STYLES[style], TOOLS)
    reader.feed(text)
    reader.finish()
    [reason] = reader.failures
    assert failed_check(reason) == check
