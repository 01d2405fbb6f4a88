"""The documents say what is there: both languages alike, every parameter, the right version, good links."""

import re
import tomllib
from pathlib import Path

import pytest

from modelfiles.parameters import PARAMETERS

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def read(name: str) -> str:
    return (REPOSITORY / name).read_text()


def code_blocks(text: str) -> list[str]:
    """Fenced blocks without their comments, which are translated."""
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    return [re.sub(r" *# .*", "", block) for block in blocks]


def levels(text: str) -> list[int]:
    """The levels of all headings in order."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [len(match[1]) for match in re.finditer(r"^(#+) ", outside, re.MULTILINE)]


def test_both_readmes_have_the_same_parts() -> None:
    assert levels(read("README.md")) == levels(read("README.zh-CN.md"))


def test_both_readmes_have_the_same_commands() -> None:
    assert code_blocks(read("README.md")) == code_blocks(read("README.zh-CN.md"))


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_readme_lists_our_parameters(name: str) -> None:
    listed = set(re.findall(r"^\| `(\w+)`", read(name), re.MULTILINE))
    assert {parameter.name for parameter in PARAMETERS.values() if not parameter.ollama} <= listed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", read(name))
    assert [target for target in targets if not (REPOSITORY / target).exists()] == []


def test_make_knows_every_target_that_is_named() -> None:
    targets = set(re.findall(r"^(\w+):", read("Makefile"), re.MULTILINE))
    named = {word for name in DOCUMENTS for word in re.findall(r"\bmake ([a-z]+)\b", code_only(read(name)))}
    assert named
    assert named - targets == set()


def code_only(text: str) -> str:
    """What stands in backticks or fenced blocks."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


def test_the_changelog_knows_the_version() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert re.search(rf"^## {re.escape(version)} ", read("CHANGELOG.md"), re.MULTILINE)
