"""The prompts of every family, written out by hand after their publishers' descriptions."""

from __future__ import annotations

from datetime import date

import pytest

from modelfiles.messages import Message, Tool, ToolCall, tool_from_json
from modelfiles.templates.catalog import families
from modelfiles.templates.go import GoTemplate, parse_template
from modelfiles.templates.switches import Thinking
from modelfiles.templates.tags import THINK

SYSTEM, ASKED = Message("system", "Sys."), Message("user", "One?")
TOLD, AGAIN = Message("assistant", "Uno."), Message("user", "Two?")
CODER = (
    "You are an exceptionally intelligent coding assistant that consistently delivers accurate and reliable "
    "responses to user instructions.\n\n"
)

# (name, a question alone, system, question, answer and question)
PROMPTS = [
    (
        "alfred",
        "<start_user>One?<end_message><start_assistant>",
        "<start_system>Sys.<end_message><start_user>One?<end_message><start_assistant>Uno.<end_message>"
        "<start_user>Two?<end_message><start_assistant>",
    ),
    (
        "alpaca",
        "### Instruction:\nOne?\n\n### Response:\n",
        "Sys.\n\n### Instruction:\nOne?\n\n### Response:\nUno.\n\n### Instruction:\nTwo?\n\n### Response:\n",
    ),
    (
        "chatml",
        "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nSys.<|im_end|>\n<|im_start|>user\nOne?<|im_end|>\n"
        "<|im_start|>assistant\nUno.<|im_end|>\n<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\n",
    ),
    (
        "chatqa",
        "User: One?\n\nAssistant:",
        "System: Sys.\n\nUser: One?\n\nAssistant: Uno.\n\nUser: Two?\n\nAssistant:",
    ),
    (
        "codellama-70b-instruct",
        "Source: user\n\n One? <step> Source: assistant\nDestination: user\n\n ",
        "Source: system\n\n Sys. <step> Source: user\n\n One? <step> Source: assistant\n\n Uno. <step> "
        "Source: user\n\n Two? <step> Source: assistant\nDestination: user\n\n ",
    ),
    (
        "command-r",
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>One?<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Sys.<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>One?<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>Uno.<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Two?<|END_OF_TURN_TOKEN|>"
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    ),
    (
        "falcon-instruct",
        "User: One?\nFalcon:",
        "System: Sys.\nUser: One?\nFalcon: Uno.\nUser: Two?\nFalcon:",
    ),
    (
        "gemma-instruct",
        "<start_of_turn>user\nOne?<end_of_turn>\n<start_of_turn>model\n",
        "<start_of_turn>user\nSys.\n\nOne?<end_of_turn>\n<start_of_turn>model\nUno.<end_of_turn>\n"
        "<start_of_turn>user\nTwo?<end_of_turn>\n<start_of_turn>model\n",
    ),
    (
        "gemma3-instruct",
        "<start_of_turn>user\nOne?<end_of_turn>\n<start_of_turn>model\n",
        "<start_of_turn>user\nSys.\n\nOne?<end_of_turn>\n<start_of_turn>model\nUno.<end_of_turn>\n"
        "<start_of_turn>user\nTwo?<end_of_turn>\n<start_of_turn>model\n",
    ),
    (
        "granite-instruct",
        "Question:\nOne?\n\nAnswer:\n",
        "System:\nSys.\n\nQuestion:\nOne?\n\nAnswer:\nUno.\n\nQuestion:\nTwo?\n\nAnswer:\n",
    ),
    (
        "llama2-chat",
        "[INST] One? [/INST]",
        "[INST] <<SYS>>\nSys.\n<</SYS>>\n\nOne? [/INST] Uno. </s><s>[INST] Two? [/INST]",
    ),
    (
        "llama3-instruct",
        "<|start_header_id|>user<|end_header_id|>\n\nOne?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|start_header_id|>system<|end_header_id|>\n\nSys.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nOne?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nUno.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nTwo?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    (
        "magicoder",
        f"{CODER}@@ Instruction\nOne?\n\n@@ Response\n",
        "Sys.\n\n@@ Instruction\nOne?\n\n@@ Response\nUno.\n\n@@ Instruction\nTwo?\n\n@@ Response\n",
    ),
    (
        "mistral-instruct",
        "[INST] One? [/INST]",
        "[INST] Sys.\n\nOne? [/INST] Uno.</s>[INST] Two? [/INST]",
    ),
    (
        "openchat",
        "GPT4 Correct User: One?<|end_of_turn|>GPT4 Correct Assistant:",
        "GPT4 Correct System: Sys.<|end_of_turn|>GPT4 Correct User: One?<|end_of_turn|>"
        "GPT4 Correct Assistant: Uno.<|end_of_turn|>GPT4 Correct User: Two?<|end_of_turn|>"
        "GPT4 Correct Assistant:",
    ),
    (
        "phi-3",
        "<|user|>\nOne?<|end|>\n<|assistant|>\n",
        "<|system|>\nSys.<|end|>\n<|user|>\nOne?<|end|>\n<|assistant|>\nUno.<|end|>\n"
        "<|user|>\nTwo?<|end|>\n<|assistant|>\n",
    ),
    (
        "solar-instruct",
        "### User:\nOne?\n\n### Assistant:\n",
        "### System:\nSys.\n\n### User:\nOne?\n\n### Assistant:\nUno.</s>\n\n"
        "### User:\nTwo?\n\n### Assistant:\n",
    ),
    (
        "starcoder2-instruct",
        f"{CODER}### Instruction\nOne?\n\n### Response\n",
        "Sys.\n\n### Instruction\nOne?\n\n### Response\nUno.<|endoftext|>\n\n"
        "### Instruction\nTwo?\n\n### Response\n",
    ),
    (
        "vicuna",
        "USER: One?\nASSISTANT:",
        "Sys.\n\nUSER: One?\nASSISTANT: Uno.</s>\nUSER: Two?\nASSISTANT:",
    ),
    (
        "zephyr",
        "<|user|>\nOne?</s>\n<|assistant|>\n",
        "<|system|>\nSys.</s>\n<|user|>\nOne?</s>\n<|assistant|>\nUno.</s>\n"
        "<|user|>\nTwo?</s>\n<|assistant|>\n",
    ),
    (
        "qwen2.5-instruct",
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nSys.<|im_end|>\n<|im_start|>user\nOne?<|im_end|>\n"
        "<|im_start|>assistant\nUno.<|im_end|>\n<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\n",
    ),
    (
        "qwen3",
        "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nSys.<|im_end|>\n<|im_start|>user\nOne?<|im_end|>\n"
        "<|im_start|>assistant\nUno.<|im_end|>\n<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\n",
    ),
    (
        "deepseek-r1",
        "<｜User｜>One?<｜Assistant｜><think>\n",
        "Sys.<｜User｜>One?<｜Assistant｜>Uno.<｜end▁of▁sentence｜><｜User｜>Two?<｜Assistant｜><think>\n",
    ),
]
NAMES = [name for name, _, _ in PROMPTS]


def template(name: str) -> GoTemplate:
    return parse_template(next(family for family in families() if family.name == name).template)


def show(name: str, *messages: Message, tools: tuple[Tool, ...] = (), think: Thinking = None) -> str:
    return template(name).render(messages, today=date(2026, 11, 30), tools=tools, think=think)


def test_every_family_is_written_out_here() -> None:
    assert sorted(family.name for family in families()) == sorted(NAMES)


@pytest.mark.parametrize(("name", "question", "chat"), PROMPTS, ids=NAMES)
def test_prompts(name: str, question: str, chat: str) -> None:
    assert show(name, ASKED) == question
    assert show(name, SYSTEM, ASKED, TOLD, AGAIN) == chat


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_has_begun_is_left_open(name: str) -> None:
    begun = show(name, ASKED, Message("assistant", "Uno. Or"))
    assert begun.endswith("Uno. Or")
    # A blank may follow the colon in front of an answer that is there.
    opened = show(name, ASKED).removesuffix("<think>\n")
    assert begun.replace(" ", "") == f"{opened}Uno.Or".replace(" ", "")


@pytest.mark.parametrize("name", NAMES)
def test_system_text_without_a_question_is_not_lost(name: str) -> None:
    assert "Sys." in show(name, SYSTEM)


@pytest.mark.parametrize("name", NAMES)
def test_stop_texts_are_given(name: str) -> None:
    family = next(family for family in families() if family.name == name)
    assert family.stop
    assert all(family.stop)


ROLL = tool_from_json(
    {
        "type": "function",
        "function": {
            "name": "roll",
            "description": "Rolls.",
            "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}},
        },
    }
)
CALLS = Message(
    "assistant",
    "I roll.",
    thinking="A die.",
    tool_calls=(ToolCall("roll", {"sides": 6}), ToolCall("roll", {"sides": 20})),
)
RESULTS = (Message("tool", "4", tool_name="roll"), Message("tool", "17", tool_name="roll"))
TOOLS_TEXT = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type":"function","function":{"name":"roll","description":"Rolls.","parameters":{"type":"object",\
"properties":{"sides":{"type":"integer"}}}}}
</tools>

For each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
"""
CALLS_TEXT = """I roll.
<tool_call>
{"name": "roll", "arguments": {"sides":6}}
</tool_call>
<tool_call>
{"name": "roll", "arguments": {"sides":20}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
4
</tool_response>
<tool_response>
17
</tool_response><|im_end|>
"""


def test_qwen_with_tools() -> None:
    assert show("qwen2.5-instruct", SYSTEM, ASKED, CALLS, *RESULTS, tools=(ROLL,)) == (
        f"<|im_start|>system\nSys.\n\n{TOOLS_TEXT}<|im_start|>user\nOne?<|im_end|>\n"
        f"<|im_start|>assistant\n{CALLS_TEXT}<|im_start|>assistant\n"
    )
    assert show("qwen3", ASKED, tools=(ROLL,)) == (
        f"<|im_start|>system\n{TOOLS_TEXT}<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_qwen_keeps_its_thinking_while_tools_answer() -> None:
    working = show("qwen3", ASKED, CALLS, *RESULTS)
    assert f"<|im_start|>assistant\n<think>\nA die.\n</think>\n\n{CALLS_TEXT}" in working
    later = show("qwen3", ASKED, CALLS, *RESULTS, TOLD, AGAIN)
    assert "A die." not in later
    assert f"{CALLS_TEXT}<|im_start|>assistant\nUno.<|im_end|>\n<|im_start|>user\nTwo?" in later


def test_calls_without_results_end_their_turn() -> None:
    silent = Message("assistant", tool_calls=CALLS.tool_calls[:1])
    assert show("qwen3", ASKED, silent).endswith(
        '<|im_start|>assistant\n<tool_call>\n{"name": "roll", "arguments": {"sides":6}}\n</tool_call>'
        "<|im_end|>\n<|im_start|>assistant\n"
    )


def test_thinking_is_switched() -> None:
    assert show("qwen3", ASKED, think=True).endswith("assistant\n")
    assert show("qwen3", ASKED, think=False).endswith("assistant\n<think>\n\n</think>\n\n")
    assert show("deepseek-r1", ASKED, think="high").endswith("<｜Assistant｜><think>\n")
    assert show("deepseek-r1", ASKED, think=False).endswith("<｜Assistant｜><think>\n\n</think>\n\n")


def test_what_the_families_can_do_is_seen_in_their_templates() -> None:
    assert {name for name in NAMES if "tools" in template(name).variables} == {"qwen2.5-instruct", "qwen3"}
    assert {name for name in NAMES if template(name).thinking_tags == THINK} == {"qwen3", "deepseek-r1"}
