"""From settings to what the services are built with."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from modelfiles.store import Store
from shim.bridge import Threads
from shim.errors import SettingsError
from shim.options import OptionDefaults
from shim.services import keep_tidy, open_services, option_defaults, supervisor_settings
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


async def test_blobs_that_no_model_needs_go_after_a_day(tmp_path: Path) -> None:
    store, threads = Store(tmp_path / "models"), Threads()
    old, new = store.write_blob([b"two days old"]), store.write_blob([b"two hours old"])
    now = time.time()
    for digest, hours in ((old, 48), (new, 2)):
        os.utime(store.blob_path(digest), (now - hours * 3600, now - hours * 3600))
    tidying = asyncio.create_task(keep_tidy(store, threads, prune=True, every_seconds=0.0))
    async with asyncio.timeout(30):
        while store.has_blob(old):  # noqa: ASYNC110  another thread removes it, without a sign
            await asyncio.sleep(0)
    tidying.cancel()
    assert store.has_blob(new)
    threads.close()
