"""What models can do, by their weights, chat template, config and projectors."""

from dataclasses import replace
from pathlib import Path

import pytest

from modelfiles.capabilities import capabilities, chat_template
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.names import parse_name
from modelfiles.package import Config, Package
from tests.modelfiles.gguf.building import BOOL, DENSE, STRING, U32, gguf

PACKAGE = Package(parse_name("m"), "0" * 64, 1, 0, Config("gguf", "llama"), Path("/blobs/x"))


def header(*, template: str = "", **keys: int) -> GGUF:
    metadata = {**DENSE, **{f"llama.{key.replace('__', '.')}": (U32, value) for key, value in keys.items()}}
    if template:
        metadata["tokenizer.chat_template"] = (STRING, template)
    raw = gguf(metadata)
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


def projector(**encoders: bool) -> GGUF:
    keys = {f"clip.has_{name}_encoder": (BOOL, value) for name, value in encoders.items()}
    raw = gguf({"general.architecture": (STRING, "clip"), **keys})
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", ("completion",)),
        ("{{ messages }}", ("completion",)),
        ("{% if tools %}", ("tools", "completion")),
        ("{{ message.tool_calls }}", ("tools", "completion")),
        ("<think></think>", ("thinking", "completion")),
        ("<think>", ("completion",)),
        ("{{ content.split('</think>')[-1] }}", ("thinking", "completion")),
        ('{{ content.split( "</think>" ) }}', ("thinking", "completion")),
        ("{{ content.split('</think>') or m.reasoning_content }}", ("completion",)),
        ("{% if tools %}<think></think>", ("tools", "thinking", "completion")),
    ],
)
def test_by_the_chat_template(template: str, expected: tuple[str, ...]) -> None:
    assert capabilities(PACKAGE, header(template=template)) == expected


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (header(pooling_type=1), ("embedding",)),
        (header(pooling_type=0), ("embedding",)),
        (header(vision__block_count=2), ("completion", "vision")),
        (header(vision__block_count=2, audio__block_count=2), ("completion", "vision", "audio")),
        (header(vision__block_count=0), ("completion",)),
    ],
)
def test_by_the_weights(weights: GGUF, expected: tuple[str, ...]) -> None:
    assert capabilities(PACKAGE, weights) == expected


@pytest.mark.parametrize(
    ("projectors", "expected"),
    [
        ((), ("completion", "vision")),
        ((projector(vision=True),), ("completion", "vision")),
        ((projector(audio=True),), ("completion", "audio")),
        ((projector(vision=True, audio=True),), ("completion", "vision", "audio")),
    ],
)
def test_by_the_projectors(projectors: tuple[GGUF, ...], expected: tuple[str, ...]) -> None:
    assert capabilities(replace(PACKAGE, projectors=(Path("/p"),)), header(), projectors) == expected


def test_by_the_config_each_once() -> None:
    package = replace(PACKAGE, config=Config(model_family="gptoss", capabilities=("vision", "completion")))
    assert capabilities(package, header()) == ("vision", "completion", "thinking")
    assert capabilities(package, None) == ("vision", "completion", "thinking")


def test_by_parsers_that_the_user_names() -> None:
    package = replace(PACKAGE, parameters={"tool_call_parser": "hermes", "reasoning_parser": "qwen3"})
    assert capabilities(package, header()) == ("tools", "thinking", "completion")
    package = replace(PACKAGE, parameters={"tool_call_parser": "false", "reasoning_parser": "none"})
    assert capabilities(package, header()) == ("completion",)


def test_the_template_that_is_shown() -> None:
    assert chat_template(PACKAGE, header(template="jinja")) == "jinja"
    assert chat_template(replace(PACKAGE, template="go"), header(template="jinja")) == "go"
    assert chat_template(replace(PACKAGE, template="go"), header(template="{{ tools }}")) == "{{ tools }}"
    assert chat_template(replace(PACKAGE, template="go"), header()) == "go"
    assert chat_template(PACKAGE, None) == "{{ .Prompt }}"


GO_TOOLS = "{{ range .Messages }}{{ .Content }}{{ .ToolCalls }}{{ end }}{{ .Tools }}"
GO_THINKS = "{{ range .Messages }}{{ if .Thinking }}<t>{{ .Thinking }}</t>{{ end }}{{ end }}"


@pytest.mark.parametrize(
    ("layer", "jinja", "config", "expected"),
    [
        (GO_TOOLS, "", Config(), ("completion", "tools")),
        (GO_THINKS, "", Config(), ("completion", "thinking")),
        ("{{ .Prompt }}{{ .Suffix }}", "", Config(), ("completion", "insert")),
        ("{{ .Prompt }}", "{{ tools }}", Config(), ("tools", "completion")),
        ("{{ if", "{{ tools }}", Config(), ("tools", "completion")),
        (GO_TOOLS, "{{ tools }}<think></think>", Config(), ("completion", "tools")),
        (GO_TOOLS, "{{ tool_calls }}<think></think>", Config(), ("tools", "thinking", "completion")),
        ("", "{{ tools }}", Config(parser="qwen3.5"), ("tools", "completion", "thinking")),
        ("", "", Config(parser="passthrough"), ("completion",)),
        ("", "", Config(model_family="gptoss"), ("completion", "thinking")),
    ],
)
def test_by_templates_and_parsers(layer: str, jinja: str, config: Config, expected: tuple[str, ...]) -> None:
    package = replace(PACKAGE, template=layer or None, config=config)
    assert capabilities(package, header(template=jinja)) == expected


def test_vocabularies_with_tokens_for_gaps_can_insert() -> None:
    keys = {f"tokenizer.ggml.fim_{part}_token_id": (U32, 0) for part in ("pre", "suf", "mid")}
    raw = gguf({**DENSE, **keys})
    found = parse_gguf(lambda at, count: raw[at : at + count], len(raw))
    assert capabilities(PACKAGE, found) == ("completion", "insert")
