"""From settings to what the services are built with."""

from __future__ import annotations

from pathlib import Path

import pytest

from shim.errors import SettingsError
from shim.options import OptionDefaults
from shim.services import open_services, option_defaults, supervisor_settings
from shim.settings import Settings, read_settings


def test_option_defaults() -> None:
    assert option_defaults(Settings()) == OptionDefaults()
    given = Settings(context_length=8192, num_parallel=2, flash_attention=True, kv_cache_type="q8_0")
    assert option_defaults(given) == OptionDefaults(8192, 2, True, "q8_0")


def test_the_supervisors_settings() -> None:
    settings = supervisor_settings(
        Settings(keep_alive_seconds=-1, max_loaded=2, max_queue=5, load_timeout_seconds=9, engine="fake")
    )
    assert (settings.keep_alive_seconds, settings.max_loaded, settings.max_queue) == (-1, 2, 5)
    assert (settings.load_timeout_seconds, settings.num_parallel) == (9, 0)
    assert settings.worker_command[-2:] == ("--engine", "fake")


def test_values_that_mean_nothing_are_refused() -> None:
    with pytest.raises(SettingsError, match="SHIM_KV_CACHE_TYPE='q9' is unknown"):
        option_defaults(Settings(kv_cache_type="q9"))
    with pytest.raises(SettingsError, match="SHIM_ENGINE='magic' is unknown"):
        supervisor_settings(Settings(engine="magic"))


async def test_a_store_that_is_not_there_yet_is_no_fault_and_closing_twice_neither(tmp_path: Path) -> None:
    settings = read_settings({"OLLAMA_MODELS": str(tmp_path / "nowhere"), "SHIM_ENGINE": "fake"}, tmp_path)
    services = await open_services(settings)
    assert await services.models.summaries() == []
    await services.close()
    await services.close()


async def test_a_store_that_cannot_be_read_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    settings = read_settings({"OLLAMA_MODELS": str(tmp_path / "models"), "SHIM_ENGINE": "fake"}, tmp_path)
    services = await open_services(settings)
    await services.upkeep
    await services.close()
    assert "cannot tidy up the store" in caplog.text
