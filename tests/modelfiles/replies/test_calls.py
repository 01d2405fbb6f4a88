"""When text goes out while calls are looked for. What the calls are is tested with their styles."""

from hypothesis import given
from hypothesis import strategies as st

from modelfiles.messages import ToolCall, tool_from_json
from modelfiles.replies.calls import CallScanner
from modelfiles.replies.toolcalls import STYLES

TOOLS = (tool_from_json({"function": {"name": "f"}}),)
CALL = '<tool_call>{"name": "f"}</tool_call>'


def scanner(style: str = "hermes") -> CallScanner:
    return CallScanner(STYLES[style], TOOLS)


def test_plain_text_goes_out_at_once() -> None:
    reader = scanner()
    assert reader.feed("Hello") == ["Hello"]
    assert reader.feed(" wor") == [" wor"]
    assert reader.feed("ld \n") == ["ld"]
    assert reader.feed("!") == [" \n!"]
    assert reader.finish() == []


def test_beginnings_of_markers_are_held() -> None:
    reader = scanner()
    assert reader.feed("a <tool") == ["a"]
    assert reader.feed("_box>") == [" <tool_box>"]
    assert reader.feed(" <tool_call") == []
    assert reader.finish() == [" <tool_call"]


def test_a_call_comes_out_when_it_is_complete() -> None:
    reader = scanner()
    assert reader.feed("Now\n" + CALL[:-1]) == ["Now"]
    assert reader.feed(">") == [ToolCall("f")]
    assert reader.feed("\n\n") == []
    assert reader.feed("Done") == ["\nDone"]


def test_line_markers_count_at_the_beginning_of_a_line_only() -> None:
    call = "<function=f>\n</function>"
    for before, is_call in {
        "": True,
        "  ": True,
        "x\n": True,
        "x\n \t": True,
        "x ": False,
        "\nx": False,
    }.items():
        for pieces in ([before + call], [before, call], list(before + call)):
            reader = scanner("qwen3_coder")
            found = [item for piece in pieces for item in reader.feed(piece)] + reader.finish()
            assert any(isinstance(item, ToolCall) for item in found) is is_call, (before, pieces)


WORDS = st.lists(
    st.sampled_from(
        [
            "<tool_call>",
            "</tool_call>",
            CALL,
            '{"name": "f"',
            "}",
            '"',
            "<function=f>",
            "</function>",
            "<",
            " ",
            "\n",
            "<parameter=x>",
            "</parameter>",
            "text",
            "[",
            "```\n",
        ]
    ),
    max_size=14,
)


@given(WORDS, st.sampled_from(sorted(STYLES)), st.lists(st.integers(1, 9), max_size=60))
def test_any_cut_gives_the_same_and_text_without_calls_is_unchanged(
    words: list[str], style: str, lengths: list[int]
) -> None:
    text = "".join(words)
    pieces, rest = [], text
    for length in lengths:
        pieces.append(rest[:length])
        rest = rest[length:]
    whole, cut = read([text], style), read([*pieces, rest], style)
    assert whole == cut
    if not any(isinstance(item, ToolCall) for item in whole):
        assert "".join(item for item in whole if isinstance(item, str)) == text


def read(pieces: list[str], style: str) -> list[str | ToolCall]:
    """Everything found, with neighbouring texts joined."""
    reader = scanner(style)
    joined: list[str | ToolCall] = []
    for item in [item for piece in pieces for item in reader.feed(piece)] + reader.finish():
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        else:
            joined.append(item)
    return joined
