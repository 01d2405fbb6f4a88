"""One message, on one line or on several between triple quotes."""

from collections.abc import Callable

import pytest

from shim.cli.lines import read_message


def reader(lines: list[str], prompts: list[str] | None = None) -> Callable[[str], str]:
    rest = iter(lines)

    def read_line(prompt: str) -> str:
        if prompts is not None:
            prompts.append(prompt)
        try:
            return next(rest)
        except StopIteration:
            raise EOFError from None

    return read_line


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["hello"], "hello"),
        ([""], ""),
        (['"""one', "two", 'three"""'], "one\ntwo\nthree"),
        (['"""', "one", "", "two", '"""  '], "one\n\ntwo"),
        (['"""all of it"""'], "all of it"),
        (['"""one', "two"], "one\ntwo"),
        (['say """x"""'], 'say """x"""'),
        (['/set system """You', 'are brief."""'], "/set system You\nare brief."),
        (["/set system You are brief."], "/set system You are brief."),
    ],
)
def test_messages(lines: list[str], message: str) -> None:
    assert read_message(reader(lines)) == message


def test_prompts() -> None:
    prompts: list[str] = []
    read_message(reader(['"""one', "two", '"""'], prompts))
    assert prompts == [">>> ", "... ", "... "]


def test_the_end_of_the_input_is_passed_on() -> None:
    with pytest.raises(EOFError):
        read_message(reader([]))
