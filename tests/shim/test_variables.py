"""The table of variables says what the code reads: no more, no less, and the right defaults."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from shim.settings import Settings, read_settings
from shim.variables import VARIABLES, Variable

REPOSITORY = Path(__file__).resolve().parents[2]
HOME = Path("/home/someone")
NAMES = re.compile(r"(?:SHIM|OLLAMA)_([A-Z][A-Z_]+)")


class Asked(Mapping[str, str]):
    """An empty environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.names.append(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_the_server_reads_every_variable_under_its_names_and_no_other() -> None:
    asked = Asked()
    read_settings(asked, HOME)
    listed = {name for known in VARIABLES for name in known.names}
    assert set(asked.names) == listed


def test_every_name_in_the_code_is_listed() -> None:
    listed = {known.name for known in VARIABLES}
    found: dict[str, str] = {}
    for path in sorted((REPOSITORY / "shim").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {name: str(path) for name in NAMES.findall(node.value)}
    assert {name: path for name, path in found.items() if name not in listed} == {}


@pytest.mark.parametrize(
    "known", [known for known in VARIABLES if known.without_effect], ids=lambda v: v.name
)
def test_what_has_no_effect_is_told_at_the_start(known: Variable) -> None:
    found = read_settings({known.names[-1]: "1"}, HOME)
    assert found.warnings == (f"{known.names[-1]} has no effect: {known.without_effect}",)


def settings(**variables: str) -> Settings:
    return read_settings(variables, HOME)


@pytest.mark.parametrize(
    "name",
    ["HOST", "MODELS", "KEEP_ALIVE", "LOAD_TIMEOUT", "NUM_PARALLEL", "MAX_LOADED_MODELS", "MAX_QUEUE",
     "KV_CACHE_TYPE", "NOPRUNE", "NO_CLOUD", "DEBUG", "DEBUG_LOG_REQUESTS", "MAX_BODY_BYTES", "ENGINE"],
)  # fmt: skip
def test_setting_the_default_changes_nothing(name: str) -> None:
    (known,) = (known for known in VARIABLES if known.name == name)
    assert settings(**{known.ours: known.default}) == settings()


@pytest.mark.parametrize(
    ("text", "value"), [("", None), ("1", True), ("0", False), ("false", False), ("x", True)]
)
def test_which_template_is_preferred(text: str, value: bool | None) -> None:
    assert settings(OLLAMA_GO_TEMPLATE=text).go_template is value
