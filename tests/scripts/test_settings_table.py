"""The READMEs' tables of settings say what the code reads."""

import re
from pathlib import Path

import pytest

from scripts.settings_table import table, updated
from shim.variables import VARIABLES

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_readme_has_the_table_of_today() -> None:
    """If this fails: python -m scripts.settings_table --write, and the same rows in README.zh-CN.md."""
    readme = (REPOSITORY / "README.md").read_text()
    assert table() in readme
    assert updated(readme) == readme


def test_both_readmes_name_the_same_variables() -> None:
    expected = {name for known in VARIABLES for name in known.names if not known.without_effect}
    for name in ("README.md", "README.zh-CN.md"):
        rows = re.findall(r"^\| (`(?:OLLAMA|SHIM)_.*?) \|", (REPOSITORY / name).read_text(), re.MULTILINE)
        assert {found for row in rows for found in re.findall(r"`(\w+)`", row)} == expected, name


def test_an_old_table_is_replaced_and_nothing_else() -> None:
    old = "before\n\n" + table().replace("`5m`", "`6m`") + "\nafter\n"
    assert updated(old) == "before\n\n" + table() + "\nafter\n"


def test_a_text_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table"):
        updated("nothing here")
