"""The two versions of a server: the one of the API that it speaks, and its own."""

from __future__ import annotations

# Clients compare this with the least version that they need; it is digits and dots, as in Ollama's releases.
API_VERSION = "0.33.0"

_DISTRIBUTION = "moe-shim"


def own_version() -> str:
    """Of the installed package; 0 when it runs from a folder that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # a tenth of a start that most callers skip

    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return "0"
