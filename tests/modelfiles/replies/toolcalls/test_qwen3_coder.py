"""Functions and parameters as tags."""

import pytest

from modelfiles.messages import ToolCall, tool_from_json
from modelfiles.replies.calls import CallScanner
from modelfiles.replies.toolcalls import STYLES
from tests.streams import cuts

PROPERTIES = {"sides": {"type": "integer"}, "label": {"type": "string"}}
TOOLS = tuple(
    tool_from_json({"function": {"name": name, "parameters": {"type": "object", "properties": properties}}})
    for name, properties in {"roll": PROPERTIES, "stop": {}}.items()
)
ROLL = "<function=roll>\n<parameter=sides>\n6\n</parameter>\n</function>"
Calls = list[tuple[str, dict[str, object]]]


def read(pieces: list[str]) -> tuple[str, Calls]:
    scanner = CallScanner(STYLES["qwen3_coder"], TOOLS)
    found = [item for piece in pieces for item in scanner.feed(piece)] + scanner.finish()
    calls = [(item.name, item.arguments) for item in found if isinstance(item, ToolCall)]
    return "".join(item for item in found if isinstance(item, str)), calls


def block(value: str) -> str:
    return (
        f"<tool_call>\n<function=roll>\n<parameter=label>\n{value}\n</parameter>\n</function>\n</tool_call>"
    )


SIX: Calls = [("roll", {"sides": 6})]
CASES: list[tuple[str, str, Calls]] = [
    (f"<tool_call>\n{ROLL}\n</tool_call>", "", SIX),
    (f"<tool_call>{ROLL}</tool_call><tool_call>{ROLL}</tool_call>", "", SIX * 2),
    (f"<tool_call>\n{ROLL}\n{ROLL}\n</tool_call>", "", SIX * 2),
    ("<tool_call>\n<function=stop>\n</function>\n</tool_call>", "", [("stop", {})]),
    ("<tool_call>\n<function=stop>\n</tool_call>", "", [("stop", {})]),
    (f"Rolling.\n\n<tool_call>\n{ROLL}\n</tool_call>\n\nDone.", "Rolling.\nDone.", SIX),
    ("<tool_call><function=roll><parameter=sides>6</parameter></function></tool_call>", "", SIX),
    (
        "<tool_call>\n< function = ROLL >\n< parameter = sides >\n6\n"
        "</ parameter >\n</ function >\n</tool_call>",
        "",
        SIX,
    ),
    # Values as they are
    (
        block("a < b && </p> \"q\" 'r' &lt;\n\n  indented\n"),
        "",
        [("roll", {"label": "a < b && </p> \"q\" 'r' &lt;\n\n  indented\n"})],
    ),
    (
        block("x </parameter> y </function> z </tool_call> w"),
        "",
        [("roll", {"label": "x </parameter> y </function> z </tool_call> w"})],
    ),
    (
        block("set <parameter=sides> to\n<parameter=colour>\nred"),
        "",
        [("roll", {"label": "set <parameter=sides> to\n<parameter=colour>\nred"})],
    ),
    (block("<parameter=label>\nagain"), "", [("roll", {"label": "<parameter=label>\nagain"})]),
    (block(""), "", [("roll", {"label": ""})]),
    (block("<function=stop>"), "", [("roll", {"label": "<function=stop>"})]),
    # Tags that are missing
    (ROLL, "", SIX),
    (f"Sure:\n{ROLL}\n</tool_call>", "Sure:", SIX),
    (f"  {ROLL} tail", "tail", SIX),
    (f"<tool_call>\n{ROLL}", "", SIX),
    ("<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</parameter>\n", "", SIX),
    ("<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</parameter>\n</func", "", SIX),
    ("<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</parameter>\n</tool_call> ok", "ok", SIX),
    ("<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</function>\n</tool_call>", "", SIX),
    (
        "<tool_call>\n<function=roll>\n<parameter=label>\nx\n<parameter=sides>\n6\n</parameter>\n</function>\n</tool_call>",
        "",
        [("roll", {"label": "x", "sides": 6})],
    ),
    # Keys
    (
        "<tool_call>\n<function=roll>\n<parameter=sides>\n6\n</parameter>\n<parameter=sides>\n7\n</parameter>\n"
        "<parameter=more>\n007\n</parameter>\n</function>\n</tool_call>",
        "",
        [("roll", {"sides": 6, "more": "007"})],
    ),
    (
        '<tool_call>\n<function=roll>\n<parameter=arguments>\n{"sides": 6}\n'
        "</parameter>\n</function>\n</tool_call>",
        "",
        SIX,
    ),
    (
        "<tool_call>\n<function=roll>\n<parameter=arguments>\nnot JSON\n"
        "</parameter>\n</function>\n</tool_call>",
        "",
        [("roll", {"arguments": "not JSON"})],
    ),
    # JSON instead
    ('<tool_call>\n{"name": "roll", "arguments": {"sides": 6}}\n</tool_call>', "", SIX),
    ('<tool_call>{"name": "roll", "arg', '<tool_call>{"name": "roll", "arg', []),
    # No calls
    ("Write <function=roll> in a line.", "Write <function=roll> in a line.", []),
    (
        "<function=fly>\n<parameter=x>\n1\n</parameter>\n</function>",
        "<function=fly>\n<parameter=x>\n1\n</parameter>\n</function>",
        [],
    ),
    ("<tool_call> is a tag.\n", "<tool_call> is a tag.\n", []),
    (
        "<tool_call>\n<function=roll>\n<parameter=sides>\n6",
        "<tool_call>\n<function=roll>\n<parameter=sides>\n6",
        [],
    ),
    ("<tool_call>\n<function=stop>", "<tool_call>\n<function=stop>", []),
    ("<tool_call>\n<function=stop", "<tool_call>\n<function=stop", []),
    (
        "<tool_call>\n<function=roll>\nsix sides\n</function>\n</tool_call>!",
        "<tool_call>\n<function=roll>\nsix sides\n</function>\n</tool_call>!",
        [],
    ),
    ("a <functio", "a <functio", []),
    # Siblings
    (
        f"<tool_call>\n<function=fly>\n<parameter=x>\n1\n</parameter>\n</function>\n{ROLL}\n</tool_call>",
        "<function=fly>\n<parameter=x>\n1\n</parameter>\n</function>",
        SIX,
    ),
    (
        f"<tool_call>\n<function=stop>\n</function>\nnoise\n</tool_call>\n<tool_call>\n{ROLL}\n</tool_call>",
        "noise\n</tool_call>",
        [("stop", {}), *SIX],
    ),
]


@pytest.mark.parametrize(("text", "content", "calls"), CASES)
def test_qwen3_coder(text: str, content: str, calls: Calls) -> None:
    for pieces in cuts(text):
        assert read(pieces) == (content, calls), pieces


def test_a_long_value_in_small_pieces_is_read_once() -> None:
    value = "x </parameter> y\n<parameter=q>\n" * 20_000 + "end"
    text = block(value)
    assert read([text[i : i + 7] for i in range(0, len(text), 7)]) == ("", [("roll", {"label": value})])
