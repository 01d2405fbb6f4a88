"""The Modelfile grammar against recorded right values, and against arbitrary bytes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import ModelfileError, ModelfilesError
from modelfiles.modelfile import Command, Modelfile
from modelfiles.parser import parse

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "modelfile.jsonl").read_text("utf-8").splitlines()
]


def data_of(case: dict[str, Any]) -> bytes:
    if "modelfile_base64" in case:
        return base64.b64decode(case["modelfile_base64"])
    text: str = case["modelfile"]
    return text.encode()


def created(modelfile: Modelfile) -> dict[str, object]:
    fields = modelfile.create_fields()
    assert len(fields.from_) == 1
    return {"from": fields.from_[0], **fields.to_json()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_case(case: dict[str, Any]) -> None:
    expect = case["expect"]
    assert set(expect) <= {"commands", "error", "printed", "create", "create_error"}
    if "error" in expect:
        with pytest.raises(ModelfileError) as caught:
            parse(data_of(case))
        assert str(caught.value) == expect["error"]
        return
    modelfile = parse(data_of(case))
    assert [{"name": item.name, "args": item.args} for item in modelfile.commands] == expect["commands"]
    if "printed" in expect:
        assert str(modelfile) == expect["printed"]
    if "create" in expect:
        assert created(modelfile) == expect["create"]
    if "create_error" in expect:
        with pytest.raises(ModelfilesError) as refused:
            modelfile.create_fields()
        assert str(refused.value) == expect["create_error"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"', None),
        ('""', ""),
        ('"""', None),
        ('""""', None),
        ('"""""', None),
        ('""""""', ""),
        ('"""""""', '"'),
        ('"\n"', "\n"),
        ('"a\n""', 'a\n"'),
        ('"""a\n""\n"""', 'a\n""\n'),
        ('"a" b\nc"', 'a" b\nc'),
        ('  "a"\t ', "a"),
        ('\u200b"a"', "a"),
        ('"a"\u00a0', "a"),
        ("\ta\t", "a"),
        ("a\\", "a\\"),
        ('"\t"', "\t"),
        ("é\ud800", "é\ufffd"),
    ],
)
def test_value(text: str, value: str | None) -> None:
    if value is None:
        with pytest.raises(ModelfileError, match=r"^unexpected EOF$"):
            parse(f"FROM m\nSYSTEM {text}")
        return
    for tail in ("", "\n", "\r\n", "\nPARAMETER seed 1\n"):
        assert parse(f"FROM m\nSYSTEM {text}{tail}").commands[1] == Command("system", value)


def test_an_instruction_name_as_parameter_is_a_parameter() -> None:
    modelfile = parse("FROM m\nPARAMETER system loud\nPARAMETER model x\n")
    assert str(modelfile) == "FROM m\nPARAMETER system loud\nPARAMETER model x\n"
    assert modelfile.commands[1].is_parameter
    with pytest.raises(ModelfilesError, match="unknown parameter 'system'"):
        modelfile.create_fields()
    alone = parse("PARAMETER model x\n")
    assert alone.commands == (Command("model", "x", is_parameter=True),)
    with pytest.raises(ModelfilesError, match="unknown parameter 'model'"):
        alone.create_fields()


def test_lines_of_commands_are_those_of_an_editor() -> None:
    modelfile = parse('FROM m\r\n\r\n# note\r\nSYSTEM """a\r\nb\r\n"""\r\nPARAMETER seed 1\r\n')
    assert [command.line for command in modelfile.commands] == [1, 4, 7]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("FROM m\nPARAMETER top-k 3\n", 2),
        ("FROM m\r\n\r\nHOIST now\r\n", 3),
        ("FROM m\nSYSTEM\nPARAMETER seed 1\n", 2),
        ('FROM m\n\nSYSTEM """a\nb\nc\n', 3),
        ("FROM m\nMESSAGE tool x", 2),
        ("FROM m\nPARAM", 2),
        ("SYSTEM x", None),
    ],
)
def test_errors_carry_the_line_of_the_faulty_instruction(text: str, line: int | None) -> None:
    with pytest.raises(ModelfileError) as caught:
        parse(text)
    assert caught.value.line == line


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-16-le"])
def test_byte_order_marks(encoding: str) -> None:
    mark = {"utf-16-be": b"\xfe\xff", "utf-16-le": b"\xff\xfe"}.get(encoding, b"")
    data = mark + "# größer\r\nFROM 海\n".encode(encoding)
    assert parse(data).commands == (Command("model", "海"),)


def test_each_invalid_byte_is_one_replacement_character() -> None:
    assert (
        parse(b"FROM m\nSYSTEM a\xe2\x82b\xed\xa0\x80c\xff").commands[1].args
        == "a\ufffd\ufffdb\ufffd\ufffd\ufffdc\ufffd"
    )


def test_a_large_quoted_text_takes_linear_time() -> None:
    text = 'SYSTEM """' + "one line of a very long text\n" * 100_000 + '"""\nFROM m\n'
    assert len(parse(text).commands[0].args) > 2_000_000


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (
        b"",
        b"FROM m\nSYSTEM ",
        b'FROM m\nPARAMETER stop "',
        b"FROM m\nMESSAGE user ",
        b"\xff\xfe",
    ):
        try:
            modelfile = parse(start + data)
            modelfile.create_fields()
        except ModelfilesError:
            continue
        assert str(modelfile)


pieces = st.lists(
    st.sampled_from(["FROM m", "PARAMETER", "seed", "stop", "MESSAGE", "user", "SYSTEM", "LICENSE", "#", ": ",
                     '"', '"""', "\n", "\r", " ", "\t", "x", "\u200b", "é"]),
    max_size=25,
).map("".join)  # fmt: skip


@given(pieces)
def test_what_is_read_prints_and_reads_to_a_fixed_point(text: str) -> None:
    try:
        printed = str(parse("FROM m\n" + text))
        again = str(parse(printed))
    except ModelfileError:
        return  # values that begin with a quote are printed bare, and are not promised to survive
    assert str(parse(again)) == again


# What survives printing: nothing bare begins with a quote or has outer tabs, and inside a block no line ends
# in triple quotes.
printable = st.characters(exclude_categories=("C", "Z")) | st.sampled_from(" \n\t\"'#:")
texts = st.text(printable, max_size=40)


def survives(text: str) -> bool:
    quoted = "\n" in text or text != text.strip(" ")
    if not quoted:
        return text == text.strip() and not text.startswith('"')
    lines = text.split("\n")
    return not any(line.rstrip(" \t").endswith('"""') for line in lines[:-1]) and not (
        '"' in text and lines[0].startswith('"""')
    )


values = texts.filter(survives)
one_line = st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "), max_size=20).map(str.strip)
commands = st.one_of(
    st.builds(Command, st.just("model"), one_line.filter(lambda text: not text.startswith('"'))),
    st.builds(Command, st.sampled_from(["system", "template", "license", "adapter", "renderer"]), values),
    st.builds(
        lambda role, text: Command("message", f"{role}: {text}"), st.sampled_from(["system", "user"]), values
    ),
    st.builds(Command, st.from_regex(r"\A[A-Za-z0-9_]{0,9}\Z"), values, is_parameter=st.just(True)),
)


@given(st.lists(commands, max_size=6))
def test_printed_commands_are_read_back(others: list[Command]) -> None:
    modelfile = Modelfile((Command("model", "m"), *others))
    assert parse(str(modelfile)) == modelfile
    assert parse(str(modelfile).encode()) == modelfile
