"""Which style a template shows."""

import pytest

from modelfiles.replies import detection
from modelfiles.replies.detection import style_of_architecture, style_shown
from modelfiles.replies.toolcalls import STYLES


@pytest.mark.parametrize(
    ("source", "style"),
    [
        ("<|tools_prefix|>", "apertus"),
        ("<|tool_call>call:", "gemma4"),
        ("<|channel|>analysis<|message|>", "openai"),
        ("<|channel|><|message|>", None),
        ("<|tool_calls_section_begin|>", "kimi_k2"),
        ("{%- set dsml_token = '｜DSML｜' %}function_calls", "deepseek_v32"),
        ("｜DSML｜ tool_calls", "deepseek_v4"),
        ("<｜tool▁calls▁begin｜>```json", "deepseek_v3"),
        ("<｜tool▁calls▁begin｜>", "deepseek_v31"),
        ("<tool_call>{name}<arg_key>", "glm45"),
        ("<tool_call>{name}<arg_key> clear_thinking", "glm47"),
        ("<available_tools><tool_call><arg_key>", "poolside_v1"),
        ("<tool_call><function=x><parameter=y>", "qwen3_coder"),
        ("<function=x></function>", "functionary_v3_1"),
        ("[TOOL_CALLS]", "mistral"),
        ("<|START_ACTION|><|START_TEXT|>", "cohere_command4"),
        ("<|START_ACTION|>", "cohere_command3"),
        ("<tool_calls><answer>", "hunyuan_a13b"),
        ("<tool_call><|start_of_role|>", "granite4"),
        ("<|tool_call|><|start_of_role|>", "granite"),
        ("<tool_call>", "hermes"),
        ('ipython {"name": "x", "parameters": {}}', "llama3_json"),
        ("<|python_start|><|python_tag|>", "llama4_pythonic"),
        ("{{ messages }}{{ tools }}", None),
        ("", None),
    ],
)
def test_style_shown(source: str, style: str | None) -> None:
    assert style_shown(source) == style


@pytest.mark.parametrize(
    ("architecture", "style"),
    [("glm4moelite", "glm47"), ("GLM4moe", "glm45"), ("deepseek2", "deepseek_v3"), ("x", None), ("", None)],
)
def test_style_of_architecture(architecture: str, style: str | None) -> None:
    assert style_of_architecture(architecture) == style


def test_every_style_that_can_be_shown_can_be_read() -> None:
    assert {row.style for row in detection.ROWS} <= STYLES.keys()
    assert {style for _, style in detection.ARCHITECTURES} <= STYLES.keys()
