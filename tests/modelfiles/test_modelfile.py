"""What a Modelfile asks a create request for."""

import pytest

from modelfiles.errors import ModelfileError, ParameterError
from modelfiles.messages import Message
from modelfiles.modelfile import Command, CreateFields, Modelfile
from modelfiles.parser import parse


def test_fields_of_every_instruction() -> None:
    fields = parse(
        "FROM ./a.gguf\nFROM ./b.gguf\nADAPTER ./one\nADAPTER ./two\nDRAFT ./d.gguf\n"
        "RENDERER r1\nRENDERER r2\nPARSER p\nREQUIRES v0.14\nMESSAGE user a: b\n"
        "LICENSE L\nPARAMETER low_vram yes\nSYSTEM s\nTEMPLATE t\n"
    ).create_fields()
    assert fields == CreateFields(
        from_=("./a.gguf", "./b.gguf"), adapter="./two", drafts=("./d.gguf",), renderer="r2", parser="p",
        requires="0.14", messages=(Message("user", "a: b"),), licenses=("L",), system="s", template="t",
        warnings=("parameter low_vram is deprecated",),
    )  # fmt: skip
    assert list(fields.to_json()) == [
        "template",
        "license",
        "system",
        "messages",
        "renderer",
        "parser",
        "requires",
    ]


def test_empty_texts_are_not_sent() -> None:
    assert parse('FROM m\nSYSTEM ""\nTEMPLATE ""\n').create_fields().to_json() == {}


def test_our_parameters() -> None:
    fields = parse(
        "FROM m\nPARAMETER num_experts 32\nPARAMETER num_experts_used 2\nPARAMETER ctx_size 32768\n"
        'PARAMETER tool_call_parser true\nPARAMETER chat_template_kwargs {"a": 1}\n'
    ).create_fields()
    assert fields.parameters == {
        "num_experts": 32,
        "num_experts_used": 2,
        "num_ctx": 32768,
        "tool_call_parser": "true",
        "chat_template_kwargs": {"a": 1},
    }


def test_a_bad_parameter_names_its_line() -> None:
    with pytest.raises(ParameterError) as caught:
        parse("FROM m\n\nPARAMETER num_ctx 4k\n").create_fields()
    assert (str(caught.value), caught.value.line) == ("invalid int value [4k]", 3)


@pytest.mark.parametrize(
    "version",
    ["1", "v1.2", "0.14.0", "v1.2.3-rc.1", "1.2.3+build.5", "1.2.3-a+01", "1.2.3-0", "1.2.3-0a.x-y"],
)
def test_versions(version: str) -> None:
    assert parse(f"FROM m\nREQUIRES {version}").create_fields().requires == version.removeprefix("v")


@pytest.mark.parametrize(
    "version", ["", "v", "vv1", "01.2", "1.2.3.4", "1.2.3-", "1.2.3-01", "1.2-rc", "1.2.3-a..b", "1 2"]
)
def test_bad_versions(version: str) -> None:
    with pytest.raises(ModelfileError, match=r"requires must be a valid semver \(e\.g\. 0\.14\.0\)"):
        parse(f"FROM m\nREQUIRES {version}\n").create_fields()


def test_quotes_appear_only_where_needed() -> None:
    commands = (
        Command("model", " m "),
        Command("system", "two\nlines"),
        Command("system", 'two\n"lines"'),
        Command("license", " padded"),
        Command("stop", 'say "x"', is_parameter=True),
        Command("message", "user: a: b "),
    )
    assert str(Modelfile(commands)) == (
        'FROM  m \nSYSTEM "two\nlines"\nSYSTEM """two\n"lines""""\nLICENSE " padded"\n'
        'PARAMETER stop say "x"\nMESSAGE user "a: b "\n'
    )
