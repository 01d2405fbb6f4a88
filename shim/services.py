"""Builds everything that the handlers use, once, from the settings: the only place that does."""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import dataclass

from modelfiles.errors import ModelfilesError
from modelfiles.parameters import CACHE_TYPES
from modelfiles.store import Store
from modelfiles.store.unused import HOUR_NS
from runtime.canary import Canary
from runtime.supervisor import Supervisor, SupervisorSettings
from shim.bridge import Threads
from shim.chat import ChatService
from shim.complete import CompletionService
from shim.embedding import EmbeddingService
from shim.errors import SettingsError
from shim.fetching import Fetching, open_fetching
from shim.generation import Generations
from shim.headers import Headers
from shim.models import Models
from shim.options import OptionDefaults
from shim.rerank import RerankService
from shim.resolve import Resolver
from shim.settings import Settings, choose_libraries

LOG = logging.getLogger("shim.services")

_DAY_NS = 24 * HOUR_NS
_DEFAULT_CONTEXT = 4096
_NATIVE, _FAKE = "llama", "fake"


@dataclass(frozen=True, slots=True)
class Services:
    """What a server is made of. `close` must be awaited in the end."""

    settings: Settings
    threads: Threads
    store: Store
    models: Models
    supervisor: Supervisor
    resolver: Resolver
    chat: ChatService
    completion: CompletionService
    embeddings: EmbeddingService
    rerank: RerankService
    fetching: Fetching
    upkeep: asyncio.Task[None]
    tidying: asyncio.Task[None]

    async def close(self) -> None:
        """End streams and workers, and let go of threads; twice is no error."""
        self.upkeep.cancel()
        self.tidying.cancel()
        await self.fetching.close()
        await self.supervisor.close()
        self.threads.close()


async def open_services(settings: Settings) -> Services:
    """Everything for these settings, in the running event loop. Opens no socket and loads no model."""
    choose_libraries(settings.llama_lib)
    threads = Threads()
    store = Store(settings.models, noprune=settings.no_prune)
    headers = Headers()
    supervisor = Supervisor(supervisor_settings(settings), check=_canary(settings))
    models = Models(store, headers, threads, supervisor, go_template=settings.go_template)
    resolver = Resolver(store, headers, threads, go_template=settings.go_template)
    defaults = option_defaults(settings)
    generations = Generations(resolver, supervisor, defaults)
    embeddings = EmbeddingService(generations, defaults)
    prune = not settings.no_prune
    upkeep = asyncio.create_task(_look_after(store, models, threads, prune=prune))
    tidying = asyncio.create_task(keep_tidy(store, threads, prune=prune))
    return Services(
        settings,
        threads,
        store,
        models,
        supervisor,
        resolver,
        ChatService(generations),
        CompletionService(generations),
        embeddings,
        RerankService(embeddings),
        open_fetching(settings, store, threads),
        upkeep,
        tidying,
    )


def option_defaults(settings: Settings) -> OptionDefaults:
    """What holds where neither model nor request says anything. SettingsError."""
    if settings.kv_cache_type not in CACHE_TYPES:
        known = ", ".join(CACHE_TYPES)
        raise SettingsError(f"SHIM_KV_CACHE_TYPE={settings.kv_cache_type!r} is unknown; one of: {known}")
    return OptionDefaults(
        num_ctx=settings.context_length or _DEFAULT_CONTEXT,
        num_parallel=settings.num_parallel or 1,
        flash_attention=settings.flash_attention,
        cache_type=settings.kv_cache_type,
    )


def supervisor_settings(settings: Settings) -> SupervisorSettings:
    """The supervisor's part of the settings. SettingsError."""
    if settings.engine not in (_NATIVE, _FAKE):
        raise SettingsError(f"SHIM_ENGINE={settings.engine!r} is unknown; one of: {_NATIVE}, {_FAKE}")
    return SupervisorSettings(
        keep_alive_seconds=settings.keep_alive_seconds,
        max_loaded=settings.max_loaded,
        max_queue=settings.max_queue,
        load_timeout_seconds=settings.load_timeout_seconds,
        num_parallel=settings.num_parallel,
        worker_command=(sys.executable, "-m", "runtime.worker", "--engine", settings.engine),
    )


def _canary(settings: Settings) -> Canary | None:
    """The proof of the engine build; an engine without weights needs none."""
    if settings.engine != _NATIVE:
        return None
    from platformdirs import user_cache_path  # only a real engine has something to remember

    return Canary(user_cache_path("moe-shim") / "engine-proofs.json", libraries=settings.llama_lib)


async def _look_after(store: Store, models: Models, threads: Threads, *, prune: bool) -> None:
    """Tidy the store up and read what the first list needs, while the server already answers."""
    await _tidy(store, threads, HOUR_NS, prune=prune)
    try:
        await models.warm()
    except (ModelfilesError, OSError) as error:
        LOG.warning("cannot list the models at %s: %s", store.root, error)


async def keep_tidy(store: Store, threads: Threads, *, prune: bool, every_seconds: float = 21600.0) -> None:
    """Tidy the store up from time to time, for ever.

    A blob that was sent for a model which was then refused stays for a day, so that it need not be sent again
    at once, and no longer.
    """
    while True:
        await asyncio.sleep(every_seconds)
        await _tidy(store, threads, _DAY_NS, prune=prune)


async def _tidy(store: Store, threads: Threads, age_ns: int, *, prune: bool) -> None:
    """Remove what no model needs and nobody touched within `age_ns`, or only what is half-written."""
    try:
        if prune:
            report = await threads.run_long(store.prune, age_ns=age_ns)
            if report.removed:
                LOG.info("removed %d unused files from the store", len(report.removed))
        else:
            await threads.run_long(store.remove_abandoned)  # what a killed server left half-written
    except (ModelfilesError, OSError) as error:
        LOG.warning("cannot tidy up the store at %s: %s", store.root, error)
