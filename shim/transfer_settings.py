"""What models are fetched with, from variables that are not ours: hubs' addresses and tokens, proxies, files.

The names are those of the hubs' own programs, so that what is set for them holds here too. Opens nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_ENDPOINTS = {"huggingface": ("HF_ENDPOINT",), "modelscope": ("MODELSCOPE_ENDPOINT",)}
_TOKENS = {
    "huggingface": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "modelscope": ("MODELSCOPE_API_TOKEN",),
}


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """`endpoints` and `tokens` are by hub. `proxies` are the variables about proxies, as they are set.

    `token_file` is where Hugging Face's program keeps a token; `key` is the key pair for registries;
    `mirrors_file` is our list of mirrors and `ollama_file` Ollama's settings, which are only read.
    """

    endpoints: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_file: Path | None = None
    key: Path = Path(".ollama/id_ed25519")
    mirrors_file: Path | None = None
    ollama_file: Path | None = None


def read_transfers(environ: Mapping[str, str], home: Path) -> TransferSettings:
    """The settings in `environ`, with files below `home`."""
    from platformdirs import user_config_path

    hub_home = environ.get("HF_HOME", "").strip()
    hub_folder = Path(hub_home).expanduser() if hub_home else home / ".cache" / "huggingface"
    return TransferSettings(
        endpoints=_first(environ, _ENDPOINTS),
        tokens=_first(environ, _TOKENS),
        proxies={name: value for name, value in environ.items() if name.lower() in _PROXIES},
        token_file=hub_folder / "token",
        key=home / ".ollama" / "id_ed25519",
        mirrors_file=user_config_path("moe-shim") / "mirrors.json",
        ollama_file=home / ".ollama" / "config.json",
    )


def _first(environ: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """By hub, the first of its variables that says anything."""
    found = {}
    for hub, spellings in names.items():
        values = [environ.get(spelling, "").strip().strip("\"'") for spelling in spellings]
        value = next(filter(None, values), "")
        if value:
            found[hub] = value
    return found
