"""What a reply looks like on the terminal, and its timings."""

from collections.abc import Iterator

import pytest

from shim.cli.answers import JSON
from shim.cli.replies import ReplyWriter, timings, write_reply
from shim.cli.wrap import WordWrap

DIM, RESET = "\x1b[2m", "\x1b[0m"


def written(
    items: list[JSON], *, hide_thinking: bool = False, wrap: WordWrap | None = None
) -> tuple[str, ReplyWriter]:
    pieces: list[str] = []
    writer = ReplyWriter(pieces.append, hide_thinking=hide_thinking, wrap=wrap)
    write_reply(writer, items)
    return "".join(pieces), writer


def test_thinking_is_dimmed_and_fenced() -> None:
    items: list[JSON] = [
        {"message": {"role": "assistant", "content": "", "thinking": "Let me"}},
        {"message": {"role": "assistant", "content": "", "thinking": " see."}},
        {"message": {"role": "assistant", "content": "Four"}},
        {"message": {"role": "assistant", "content": "."}, "done": True},
    ]
    output, writer = written(items)
    assert output == f"{DIM}Thinking...\nLet me see.\n...done thinking.\n\n{RESET}Four."
    assert (writer.thinking, writer.content) == ("Let me see.", "Four.")


def test_hidden_thinking_is_kept_but_not_shown() -> None:
    output, writer = written([{"response": "", "thinking": "Hm\n"}, {"response": "Yes"}], hide_thinking=True)
    assert output == "Yes"
    assert writer.thinking == "Hm\n"


def test_a_reply_that_breaks_off_while_thinking_leaves_the_terminal_as_it_was() -> None:
    def items() -> Iterator[JSON]:
        yield {"response": "", "thinking": "Hm\n"}
        raise KeyboardInterrupt

    pieces: list[str] = []
    writer = ReplyWriter(pieces.append, hide_thinking=False, wrap=None)
    with pytest.raises(KeyboardInterrupt):
        write_reply(writer, items())
    assert "".join(pieces) == f"{DIM}Thinking...\nHm\n...done thinking.\n\n{RESET}"


def test_lines_are_broken_between_words() -> None:
    assert (
        written([{"response": "one two"}, {"response": " three"}], wrap=WordWrap(9))[0] == "one two \nthree"
    )


def test_a_tool_call_that_nobody_asked_for_is_told() -> None:
    call = {"function": {"name": "f", "arguments": {"城": "北京"}}}
    output, _ = written([{"message": {"role": "assistant", "content": "", "tool_calls": [call]}}])
    assert output == 'Model called a non-existent function \'f()\' with arguments: {"城": "北京"}\n'


def test_timings() -> None:
    last = {
        "total_duration": 4_535_599_167,
        "load_duration": 12_500_000,
        "prompt_eval_count": 26,
        "prompt_eval_duration": 130_000_000,
        "eval_count": 298,
        "eval_duration": 4_000_000_000,
    }
    assert timings(last) == (
        "total duration:       4.535599167s\n"
        "load duration:        12.5ms\n"
        "prompt eval count:    26 token(s)\n"
        "prompt eval duration: 130ms\n"
        "prompt eval rate:     200.00 tokens/s\n"
        "eval count:           298 token(s)\n"
        "eval duration:        4s\n"
        "eval rate:            74.50 tokens/s\n"
    )
    assert timings({"eval_count": 3}) == "eval count:           3 token(s)\n"
    assert timings({}) == ""
