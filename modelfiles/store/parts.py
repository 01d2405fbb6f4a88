"""The parts of split models under names from which an engine knows their order: links to the blobs.

llama.cpp finds the parts of a model by their file names only, and blobs are named after their hashes. The
links of one model lie in a folder of their own; what they lead to is never copied.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from modelfiles.gguf.split import part_name
from modelfiles.store.durable import as_store_error, make_folder, temporary_name
from modelfiles.store.paths import Layout

_PREFIX = ".new-"
_ABANDONED_NS = 60_000_000_000


class Parts:
    """The folders of links in one store. Several processes may make the same ones at once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def path(self, digests: Sequence[str]) -> Path:
        """Where the first part is, beside the others; `digests` are of all of them, in order. StoreError."""
        folder = self._layout.parts / hashlib.sha256(" ".join(digests).encode()).hexdigest()
        first = folder / part_name("model", 1, len(digests))
        if not first.is_symlink():
            with as_store_error(f"cannot link the parts of a model in {self._layout.parts}"):
                self._make(folder, digests)
        return first

    def sweep(self) -> None:
        """Remove the links to parts that are gone, and what was killed while it made some."""
        with suppress(FileNotFoundError):
            for folder in list(self._layout.parts.iterdir()):
                abandoned = folder.name.startswith(_PREFIX) and self._is_old(folder)
                if abandoned or not all(link.exists() for link in folder.iterdir()):
                    shutil.rmtree(folder, ignore_errors=True)

    def _is_old(self, folder: Path) -> bool:
        return time.time_ns() - folder.stat().st_mtime_ns > _ABANDONED_NS

    def _make(self, folder: Path, digests: Sequence[str]) -> None:
        """All links or none: the folder gets its name when they are in it."""
        unfinished = folder.with_name(temporary_name(_PREFIX))
        make_folder(unfinished)
        try:
            for index, digest in enumerate(digests, 1):
                blob = os.path.relpath(self._layout.blob(digest), folder)
                (unfinished / part_name("model", index, len(digests))).symlink_to(blob)
            with suppress(OSError):  # someone else has made the same
                unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
