"""`shim modelfile`: what it prints for recorded right values and for further files of the same kinds."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.shim.cli.scripted import Shim

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "modelfile.jsonl").read_text("utf-8").splitlines()
]


def data_of(case: dict[str, Any]) -> bytes:
    encoded = case.get("modelfile_base64")
    return base64.b64decode(encoded) if encoded else str(case["modelfile"]).encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_case(shim: Shim, tmp_path: Path, case: dict[str, Any]) -> None:
    file = tmp_path / "Modelfile"
    file.write_bytes(data_of(case))
    result = shim("modelfile", str(file), "--json")
    expect = case["expect"]
    if "error" in expect:
        assert (result.code, json.loads(result.out)) == (1, {"error": expect["error"]})
    else:
        assert (result.code, json.loads(result.out)) == (0, {"commands": expect["commands"]})
    assert result.err == ""
    assert shim("modelfile", "-", "--json", stdin=data_of(case)).out == result.out


def commands(shim: Shim, data: bytes) -> list[tuple[str, str]]:
    result = shim("modelfile", "--json", "-", stdin=data)
    assert result.code == 0, result.out
    return [(item["name"], item["args"]) for item in json.loads(result.out)["commands"]]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("FROM m\nSYSTEM 你好".encode("utf-16"), [("model", "m"), ("system", "你好")]),
        (b"\xfe\xff" + "FROM m\r\nSYSTEM é\r\n".encode("utf-16-be"), [("model", "m"), ("system", "é")]),
        (b"\xef\xbb\xbfFROM m", [("model", "m")]),
        (b"FROM m\nSYSTEM \xff\xc3", [("model", "m"), ("system", "��")]),
        (b"FROM m\rSYSTEM a\rSYSTEM b", [("model", "m"), ("system", "a"), ("system", "b")]),
        (b'FROM m\r\nSYSTEM """a\r\nb"""\r\n', [("model", "m"), ("system", "a\r\nb")]),
        (b"FROM m\nSYSTEM 'a' \"b\"", [("model", "m"), ("system", "'a' \"b\"")]),
        (b'FROM m\nSYSTEM "a\\n\\"b"', [("model", "m"), ("system", 'a\\n\\"b')]),
        (b'FROM m\nSYSTEM ""\nSYSTEM """"""', [("model", "m"), ("system", ""), ("system", "")]),
        ("FROM m\nSYSTEM a\u200db\u00a0c\u3000d\u00ade".encode(), [("model", "m"), ("system", "abcde")]),
        (b"FROM m\nSYSTEM a\x00\x07b", [("model", "m"), ("system", "ab")]),
        (b"FROM m # not a comment\n#SYSTEM x\n\t# nor this\n", [("model", "m # not a comment")]),
        (b"FROM m\nMESSAGE user a: b: c", [("model", "m"), ("message", "user: a: b: c")]),
        (b'FROM m\nMESSAGE\tassistant\t"x\ny"', [("model", "m"), ("message", "assistant: x\ny")]),
        (b"FROM m\nPARAMETER  stop x", [("model", "m"), ("", "stop x")]),
        (b"PARAMETER model x", [("model", "x")]),
        (b"FROM m\nSYSTEM \n", [("model", "m"), ("system", "")]),
    ],
)
def test_further_files(shim: Shim, data: bytes, expected: list[tuple[str, str]]) -> None:
    assert commands(shim, data) == expected


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "no FROM line"),
        (b"# FROM m", "no FROM line"),
        (b"FROM", "unexpected EOF"),
        (b'FROM m\nSYSTEM """a""', "unexpected EOF"),
        (b"FROM m\nPARAMETER top-k 3", "unexpected EOF: top"),
        (b"FROM m\nMESSAGE us3r hi", "unexpected EOF: us"),
        (
            b"FROM m\r\nMESSAGE tool hi",
            '(line 3): message role must be one of "system", "user", or "assistant"',
        ),
        ("FROM m\n\u3000\nSYSTEM x".encode(), None),
        ("FR\u200bOM m".encode(), None),
        (b"FROM m\nEVAL x", None),
    ],
)
def test_further_mistakes(shim: Shim, data: bytes, error: str | None) -> None:
    result = shim("modelfile", "--json", "-", stdin=data)
    assert result.code == 1
    said = json.loads(result.out)["error"]
    assert said == error if error else "command must be one of" in said


def test_the_table(shim: Shim) -> None:
    text = 'FROM m\n\nPARAMETER seed 1\nPARAMETER mirostat 1\nSYSTEM """回答\n要简短"""\n'
    result = shim("modelfile", "-", stdin=text.encode())
    assert (result.code, result.err) == (0, "warning: parameter mirostat is deprecated\n")
    assert result.out == (
        "LINE    NAME        ARGS\n"
        "1       model       m\n"
        "3       seed        1\n"
        "4       mirostat    1\n"
        "5       system      回答\\n要简短\n"
    )


def test_what_create_would_refuse_is_an_error_without_json(shim: Shim) -> None:
    data = b"FROM m\nPARAMETER num_cxt 1\n"
    result = shim("modelfile", "-", stdin=data)
    assert (result.code, "num_cxt" in result.out) == (1, True)
    assert result.err == (
        "Error: unknown parameter 'num_cxt'\nhint: -, line 2: PARAMETER num_cxt 1; did you mean num_ctx?\n"
    )
    assert shim("modelfile", "--json", "-", stdin=data).code == 0


def test_a_file_that_is_not_there(shim: Shim, tmp_path: Path) -> None:
    missing = str(tmp_path / "Modelfile")
    error = f"cannot read {missing}: No such file or directory"
    assert shim("modelfile", missing).err == f"Error: {error}\n"
    result = shim("modelfile", missing, "--json")
    assert (result.code, json.loads(result.out)) == (1, {"error": error})
