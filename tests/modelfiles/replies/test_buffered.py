"""Blocks that are read with grammars: early decisions, and work in proportion to the text."""

import pytest

from modelfiles.replies.calls import CallScanner
from modelfiles.replies.toolcalls import STYLES
from tests.modelfiles.replies.toolcalls.test_families import TOOLS, read


def test_prose_about_a_mark_is_not_held_to_the_end() -> None:
    scanner = CallScanner(STYLES["glm45"], TOOLS)
    words = ("Use <tool_call>", " and so on,", " for it", " and for more. ", "Then")
    assert "".join(str(item) for word in words for item in scanner.feed(word)) == "".join(words)


def test_a_call_comes_with_its_closing_tag() -> None:
    scanner = CallScanner(STYLES["glm45"], TOOLS)
    text = "<tool_call>roll\n<arg_key>sides</arg_key>\n<arg_value>6</arg_value>\n</tool_call>"
    assert not [item for char in text[:-1] for item in scanner.feed(char)]
    [call] = scanner.feed(text[-1])
    assert not isinstance(call, str)
    assert call.arguments == {"sides": 6}


@pytest.mark.parametrize(
    ("style", "form", "bait"),
    [
        ("mistral", '[TOOL_CALLS]roll[ARGS]{"label": "%s"}', "} ] "),
        ("gemma4", '<|tool_call>call:roll{label:<|"|>%s<|"|>}<tool_call|>', "}<tool_call|> "),
        ("deepseek_v31", '<｜tool▁call▁begin｜>roll<｜tool▁sep｜>{"label": "%s"}', "<｜tool▁call▁end｜> "),
        ("olmo3", '<function_calls>\nroll(label="%s")\n', "</function_calls> "),
        ("openai", '<|channel|>commentary to=functions.roll<|message|>{"label": "%s"}', "<|call|> "),
        ("glimmer", ' to=roll<|message|><atem:function_calls><atem:invoke name="roll"><atem:parameter '
         'name="label">%s</atem:parameter></atem:invoke></atem:function_calls>', "<|eot|> "),
    ],
)  # fmt: skip
def test_a_value_full_of_closing_marks(style: str, form: str, bait: str) -> None:
    value = bait * 20_000
    text = form.replace("%s", value)
    content, _, calls = read(style, [text[at : at + 7] for at in range(0, len(text), 7)])
    assert (content, calls) == ("", [("roll", {"label": value})])
