"""The environment as settings: two names for each variable, forgiving values, warnings for replaced ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim.errors import SettingsError
from shim.settings import Settings, choose_libraries, read_settings

HOME = Path("/home/someone")


def settings(**variables: str) -> Settings:
    return read_settings(variables, HOME)


def test_nothing_set_gives_the_defaults() -> None:
    assert settings() == Settings(models=HOME / ".ollama" / "models")


def test_ours_wins_over_ollamas() -> None:
    both = settings(OLLAMA_HOST="1.1.1.1", SHIM_HOST="2.2.2.2", OLLAMA_MAX_QUEUE="3", SHIM_MAX_QUEUE=" ")
    assert (both.host.host, both.max_queue) == ("2.2.2.2", 3)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5m", 300.0), ("90", 90.0), ("0", 0.0), ("-1", -1.0), ("-5m", -1.0), ('"1h30m"', 5400.0),
        ("1.5", 300.0), ("soon", 300.0), ("9" * 30, 300.0),
    ],
)  # fmt: skip
def test_keep_alive(text: str, seconds: float) -> None:
    assert settings(OLLAMA_KEEP_ALIVE=text).keep_alive_seconds == seconds


def test_a_load_timeout_below_zero_is_none() -> None:
    assert settings(OLLAMA_LOAD_TIMEOUT="-1").load_timeout_seconds == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("yes", True), ("0", False), ("FALSE", False), ("", False), ("'0'", False)],
)
def test_flags(text: str, value: bool) -> None:
    assert settings(OLLAMA_NOPRUNE=text).no_prune is value


def test_flash_attention_is_unset_unless_said() -> None:
    assert settings().flash_attention is None
    assert settings(OLLAMA_FLASH_ATTENTION="0").flash_attention is False
    assert settings(OLLAMA_FLASH_ATTENTION="1").flash_attention is True


def test_what_cannot_be_read_is_named_with_its_default() -> None:
    found = settings(OLLAMA_NUM_PARALLEL="-2", SHIM_KEEP_ALIVE="soon", OLLAMA_VULKAN="1")
    assert (found.num_parallel, found.keep_alive_seconds) == (0, 300.0)
    assert found.warnings == (
        "SHIM_KEEP_ALIVE='soon' is not a duration such as 5m, or seconds; using 300",
        "OLLAMA_NUM_PARALLEL='-2' is not a whole number that is not negative; using 0",
        "OLLAMA_VULKAN has no effect: the engine's build decides which devices exist",
    )


def test_lists_and_paths() -> None:
    found = settings(OLLAMA_ORIGINS="https://a.b, *", SHIM_API_KEYS="k1,,k2 ", OLLAMA_MODELS="~/m")
    assert found.origins == ("https://a.b", "*")
    assert found.api_keys == ("k1", "k2")
    assert found.models == HOME / "m"


@pytest.mark.parametrize("text", ["example.com", "https://*.a.*", "**"])
def test_bad_origins_end_the_start(text: str) -> None:
    with pytest.raises(SettingsError, match="is no origin"):
        settings(OLLAMA_ORIGINS=text)


def test_importing_it_is_cheap() -> None:
    heavy = "'aiohttp', 'msgspec', 'asyncio'"
    code = f"import sys, shim.settings; print(*[name for name in ({heavy}) if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_other_libraries_come_first_for_workers(tmp_path: Path) -> None:
    name = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
    environ = {name: "/elsewhere"}
    choose_libraries("", environ)
    assert environ == {name: "/elsewhere"}
    choose_libraries(str(tmp_path), environ)
    assert environ == {name: f"{tmp_path}{os.pathsep}/elsewhere"}
    with pytest.raises(SettingsError, match="is no folder"):
        choose_libraries(str(tmp_path / "missing"), environ)
