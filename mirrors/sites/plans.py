"""What a site says has to be fetched. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mirrors.sources import Wanted


@dataclass(frozen=True, slots=True)
class ManifestPlan:
    """A model that its site describes whole. `manifest` is to be kept as it came.

    `blobs` stand in the manifest's order, the config last. `notes` are for the user.
    """

    manifest: bytes
    blobs: tuple[Wanted, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesPlan:
    """Files of which a model is still to be made: GGUF files by name, and texts by what they are for.

    Texts: `template`, `system`, `params` (a JSON object), `license`.
    """

    files: Mapping[str, Wanted]
    texts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


Plan: TypeAlias = ManifestPlan | FilesPlan


def unverified(name: str) -> str:
    """What a user is told about a file whose digest nobody publishes."""
    return f"warning: no digest of {name} is published; that it came as it was sent is all that is checked"
