"""Parsers by name and by template."""

import pytest

from modelfiles.errors import ParameterError
from modelfiles.replies.choice import check_parsers, choose_style, choose_tags
from modelfiles.replies.toolcalls import STYLES
from modelfiles.templates.tags import THINK

HERMES = "{{ '<tool_call>' ~ call|tojson ~ '</tool_call>' }}"
CODER = "<tool_call>\n<function=x>\n<parameter=y>"


@pytest.mark.parametrize(
    ("setting", "template", "builtin", "style"),
    [
        (None, HERMES, "", "hermes"),
        ("auto", HERMES, "", "hermes"),
        ("True", HERMES, "", "hermes"),
        (None, CODER, "", "qwen3_coder"),
        (None, "{{ tools }}", "", None),
        (None, "<tool_call>{name}\n<arg_key>", "", "glm45"),
        ("none", CODER, "qwen3-coder", None),
        ("OFF", CODER, "", None),
        ("false", CODER, "", None),
        ("hermes", CODER, "", "hermes"),
        ("Qwen3-Coder", "", "", "qwen3_coder"),
        ("qwen3.6", "", "", "qwen3_coder"),
        ("qwen3_6", "", "", "qwen3_coder"),
        ("qwen25", "", "", "hermes"),
        (None, "", "qwen3.5", "qwen3_coder"),
        (None, HERMES, "no-such-parser", "hermes"),
        ("hermes", "", "qwen3.5", "hermes"),
    ],
)
def test_choose_style(setting: str | None, template: str, builtin: str, style: str | None) -> None:
    chosen = choose_style(setting, template, builtin=builtin)
    assert chosen is (STYLES[style] if style else None)


def test_the_architecture_tells_where_the_template_does_not() -> None:
    assert choose_style(None, "{{ tools }}", architecture="qwen3moe") is STYLES["hermes"]
    assert choose_style(None, CODER, architecture="gemma4") is STYLES["qwen3_coder"]
    assert choose_style(None, "{{ tools }}", architecture="llama") is None
    assert choose_style("none", "", architecture="qwen3") is None


def test_choose_tags() -> None:
    source = "<think></think>"
    assert choose_tags(None, source) == choose_tags("auto", source) == THINK
    assert choose_tags("none", source) is None
    assert choose_tags("DeepSeek-R1", "") == THINK
    assert choose_tags("mistral", source) != THINK
    assert choose_tags(None, "") is None


@pytest.mark.parametrize(
    "value", ["auto", "true", "none", "off", "hermes", "Qwen3-Coder", "qwen3.5", "", None]
)
def test_known_parsers_pass(value: str | None) -> None:
    check_parsers({"tool_call_parser": value, "temperature": 1})


def test_unknown_parsers_are_refused_with_those_that_are_known() -> None:
    with pytest.raises(ParameterError, match=r"'hermit': did you mean hermes\? .* hermes, .* qwen3_coder"):
        check_parsers({"tool_call_parser": "hermit"})
    with pytest.raises(ParameterError, match=r"unknown reasoning_parser 'x': .* deepseek_r1, .* qwen3"):
        check_parsers({"reasoning_parser": "x"})
