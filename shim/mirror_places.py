"""Where lists of mirrors are looked for, by the settings. Opens nothing."""

from __future__ import annotations

from mirrors.config_file import Places
from shim.settings import Settings


def places_of_mirrors(settings: Settings) -> Places:
    """The variables, our own file and Ollama's, in this order."""
    variables = (("SHIM_MIRRORS", settings.mirrors), ("OLLAMA_REGISTRIES", settings.registries))
    return Places(variables, settings.transfers.mirrors_file, settings.transfers.ollama_file)
