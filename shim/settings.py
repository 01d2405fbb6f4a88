"""What the environment says, read once into one frozen value.

Every variable of Ollama's is known by two names: `SHIM_X` wins over `OLLAMA_X`. Values are trimmed of blanks
and then of quotes. As in Ollama, a number or duration that cannot be read is replaced by its default, but
with a warning; an address or an origin that cannot be read ends the start. Importing this is cheap, since the
command line needs `parse_host`. Opens no file and no socket.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from shim.addresses import Address, parse_host
from shim.durations import parse_duration
from shim.errors import SettingsError
from shim.transfer_settings import TransferSettings, read_transfers
from shim.variables import VARIABLES

__all__ = [
    "Address",
    "Settings",
    "choose_libraries",
    "parse_host",
    "read_settings",
    "settings_of_this_process",
]

FOREVER_SECONDS = -1.0
_MIB = 1 << 20
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_BY_NAME = MappingProxyType({known.name: known for known in VARIABLES})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set from outside. Durations in seconds, sizes in bytes.

    `keep_alive_seconds` is negative for "for ever", `load_timeout_seconds` is 0 for none; `context_length`,
    `num_parallel` and `max_loaded` are 0 for "decide by memory and processor". What may be None was not said:
    the engine chooses flash attention, and the model which of its templates is used. `download_limit` is in
    bytes a second, 0 for none; `mirrors` and `registries` are read in `mirrors.config`.
    """

    host: Address = field(default_factory=Address)
    models: Path = Path("~/.ollama/models")
    origins: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = ()
    keep_alive_seconds: float = 300.0
    load_timeout_seconds: float = 300.0
    context_length: int = 0
    num_parallel: int = 0
    max_loaded: int = 0
    max_queue: int = 512
    max_body_bytes: int = 256 * _MIB
    no_prune: bool = False
    no_cloud: bool = False
    no_history: bool = False
    go_template: bool | None = None
    flash_attention: bool | None = None
    kv_cache_type: str = "f16"
    debug: bool = False
    log_requests: bool = False
    engine: str = "llama"
    llama_lib: str = ""
    mirrors: str = ""
    registries: str = ""
    serve_store: bool = False
    download_limit: int = 0
    download_connections: int = 16
    transfers: TransferSettings = field(default_factory=TransferSettings)
    warnings: tuple[str, ...] = ()


def settings_of_this_process() -> Settings:
    """The settings in this process's environment. SettingsError."""
    settings = read_settings(os.environ, Path.home())
    return replace(settings, transfers=read_transfers(os.environ, Path.home()))


def read_settings(environ: Mapping[str, str], home: Path) -> Settings:
    """The settings in `environ`; `home` is where a store goes that nobody named. SettingsError."""
    read = _Reader(environ)
    return Settings(
        host=parse_host(read.text("HOST"), warn=read.warn),
        models=_models(read.text("MODELS"), home),
        origins=_origins(read.text("ORIGINS")),
        api_keys=_list(read.text("API_KEYS")),
        keep_alive_seconds=read.duration("KEEP_ALIVE", 300.0, below_zero=FOREVER_SECONDS),
        load_timeout_seconds=read.duration("LOAD_TIMEOUT", 300.0, below_zero=0.0),
        context_length=read.number("CONTEXT_LENGTH", 0),
        num_parallel=read.number("NUM_PARALLEL", 0),
        max_loaded=read.number("MAX_LOADED_MODELS", 0),
        max_queue=read.number("MAX_QUEUE", 512),
        max_body_bytes=read.number("MAX_BODY_BYTES", 256 * _MIB),
        no_prune=read.flag("NOPRUNE"),
        no_cloud=read.flag("NO_CLOUD"),
        no_history=read.flag("NOHISTORY"),
        go_template=read.choice("GO_TEMPLATE"),
        flash_attention=read.choice("FLASH_ATTENTION"),
        kv_cache_type=read.text("KV_CACHE_TYPE") or "f16",
        debug=read.debug(),
        log_requests=read.flag("DEBUG_LOG_REQUESTS"),
        engine=read.text("ENGINE") or "llama",
        llama_lib=read.text("LLAMA_LIB"),
        mirrors=read.text("MIRRORS"),
        registries=read.text("REGISTRIES"),
        serve_store=read.flag("SERVE_STORE"),
        download_limit=read.number("DOWNLOAD_LIMIT", 0),
        download_connections=max(1, read.number("DOWNLOAD_CONNECTIONS", 16)),
        warnings=(*read.warnings, *read.without_effect()),
    )


_Number = TypeVar("_Number", int, float)


class _Reader:
    """Looks variables up by their two names, and collects what had to be replaced by a default."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def variable(self, name: str) -> tuple[str, str]:
        """The name in use and the trimmed value, empty when none is set."""
        for spelling in _BY_NAME[name].names:
            value = self._environ.get(spelling, "").strip().strip("\"'").strip()
            if value:
                return spelling, value
        return _BY_NAME[name].ours, ""

    def text(self, name: str) -> str:
        return self.variable(name)[1]

    def flag(self, name: str) -> bool:
        value = self.text(name)
        return bool(value) and value not in _FALSE

    def choice(self, name: str) -> bool | None:
        """A flag for which it matters whether it was set at all."""
        return self.flag(name) if self.text(name) else None

    def debug(self) -> bool:
        """1 and true mean debug messages, 2 and more would mean traces, which we do not have."""
        return self.flag("DEBUG")

    def number(self, name: str, default: int) -> int:
        return self._parsed(name, default, _unsigned, "a whole number that is not negative")

    def duration(self, name: str, default: float, below_zero: float) -> float:
        seconds = self._parsed(name, default, _seconds, "a duration such as 5m, or seconds")
        return below_zero if seconds < 0 else seconds

    def _parsed(self, name: str, default: _Number, parse: Callable[[str], _Number], accepted: str) -> _Number:
        found, value = self.variable(name)
        try:
            return parse(value) if value else default
        except ValueError:
            self.warn(f"{found}={value!r} is not {accepted}; using {default:g}")
            return default

    def without_effect(self) -> list[str]:
        found = ((self.variable(known.name), known) for known in VARIABLES if known.without_effect)
        return [f"{name} has no effect: {known.without_effect}" for (name, value), known in found if value]


def _unsigned(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def _seconds(text: str) -> float:
    """A Go duration, or whole seconds."""
    try:
        return parse_duration(text) / 1e9
    except ValueError:
        if len(text) > 12:
            raise
        return float(int(text))


def _models(text: str, home: Path) -> Path:
    if not text:
        return home / ".ollama" / "models"
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return Path(text).absolute()


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _origins(text: str) -> tuple[str, ...]:
    """Entries such as https://example.com or chrome-extension://*, each with one wildcard at most."""
    entries = _list(text)
    for entry in entries:
        if entry.count("*") > 1 or ("*" not in entry and "://" not in entry):
            raise SettingsError(
                f"SHIM_ORIGINS (or OLLAMA_ORIGINS): {entry!r} is no origin; an entry is a scheme and a host, "
                "such as https://example.com, with at most one * in it"
            )
    return entries


def choose_libraries(folder: str, environ: MutableMapping[str, str] = os.environ) -> None:
    """Let workers, which inherit the environment, find llama.cpp's libraries in ``folder`` first.

    They refuse libraries of another version than the binding was compiled for. SettingsError.
    """
    if not folder:
        return
    if not Path(folder).is_dir():
        raise SettingsError(f"SHIM_LLAMA_LIB={folder!r} is no folder")
    name = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
    environ[name] = os.pathsep.join(filter(None, (folder, environ.get(name))))
