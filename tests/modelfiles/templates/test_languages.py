"""Which of two templates counts."""

import pytest

from modelfiles.templates.languages import BARE, parsed, winner

PLAIN = "{{ .System }}{{ .Prompt }}"
TOOLS = "{{ range .Messages }}{{ .Content }}{{ end }}{{ .Tools }}"
ROUND = "{{ range .Messages }}{{ .Content }}{{ .ToolCalls }}{{ end }}{{ .Tools }}"
J_PLAIN = "{{ messages }}"
J_TOOLS = "{{ tools }}"
J_ROUND = "{{ tools }}{{ m.tool_calls }}"
J_BOTH = "{{ tools }}<think></think>"
J_ALL = J_BOTH + "{{ m.tool_calls }}"


@pytest.mark.parametrize(
    ("layer", "jinja", "setting", "language"),
    [
        ("", "", None, None),
        ("", J_PLAIN, None, "jinja"),
        ("", J_PLAIN, True, "jinja"),
        (PLAIN, "", None, "go"),
        (PLAIN, "", False, "go"),
        (BARE, "", None, None),
        (BARE, "", True, "go"),
        (BARE, J_PLAIN, None, "jinja"),
        (BARE, J_PLAIN, True, "go"),
        ("{{ if", "", None, "go"),
        ("{{ if", J_PLAIN, None, "jinja"),
        ("{{ if", J_PLAIN, True, "go"),
        (PLAIN, J_PLAIN, None, "go"),
        (PLAIN, J_PLAIN, False, "jinja"),
        (PLAIN, J_TOOLS, None, "jinja"),
        (PLAIN, J_TOOLS, True, "go"),
        (TOOLS, J_PLAIN, None, "go"),
        (TOOLS, J_TOOLS, None, "go"),
        (TOOLS, J_ROUND, None, "jinja"),
        (ROUND, J_TOOLS, None, "go"),
        (ROUND, J_ROUND, None, "go"),
        (ROUND, J_BOTH, None, "go"),
        (ROUND, J_ALL, None, "jinja"),
        ("{{ .Suffix }}" + ROUND, J_ALL, None, "go"),
    ],
)
def test_the_one_that_does_more_and_of_equals_the_layer(
    layer: str, jinja: str, setting: bool | None, language: str | None
) -> None:
    assert winner(layer, parsed(layer), jinja, setting=setting) == language


def test_a_renderer_stands_above_a_layer() -> None:
    assert winner(ROUND, parsed(ROUND), J_PLAIN, renders_itself=True) == "jinja"
    assert winner(ROUND, parsed(ROUND), J_PLAIN, renders_itself=True, setting=True) == "jinja"
    assert winner(ROUND, parsed(ROUND), "", renders_itself=True) == "go"
