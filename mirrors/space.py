"""Whether there is room for what is to come, and which unfinished files nobody came back for."""

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mirrors.disk import as_disk_error
from mirrors.errors import NoRoom
from mirrors.limits import Limits

_DAY_SECONDS = 86_400.0
_SUFFIXES = (".data", ".bad")


def check_room(folder: Path, key: str, size: int, limits: Limits) -> None:
    """Raises NoRoom if the rest of a file of this size does not fit. What it has reserved is its own."""
    with as_disk_error(f"cannot use {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        held = _blocks(folder / f"{key}.data")
        free = shutil.disk_usage(folder).free
    needed = max(0, size - held)
    if needed and needed + limits.reserve_bytes > free:
        raise NoRoom(
            f"{_shown(needed)} are needed in {folder} beside a reserve of "
            f"{_shown(limits.reserve_bytes)}, and {_shown(free)} are free",
            needed,
            free,
        )
    if limits.quota_bytes:
        used = sum(unfinished.bytes_on_disk for unfinished in unfinished_files(folder))
        if used + needed > limits.quota_bytes:
            raise NoRoom(
                f"unfinished downloads may hold {_shown(limits.quota_bytes)}; {_shown(used)} are used and "
                f"{_shown(needed)} more are needed",
                needed,
                limits.quota_bytes - used,
            )


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A download that is not finished, or one that went wrong for good (`path` ends in .bad)."""

    key: str
    path: Path
    bytes_on_disk: int
    last_used: float  # seconds since 1970


def unfinished_files(folder: Path) -> list[Unfinished]:
    """All of them, also those that are being worked on."""
    found = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(_SUFFIXES) or not entry.is_file(follow_symlinks=False):
                continue
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                path = Path(entry.path)
                found.append(Unfinished(path.stem, path, status.st_blocks * 512, status.st_mtime))
    return sorted(found, key=lambda one: one.key)


def forgotten(folder: Path, limits: Limits, now: float | None = None) -> list[Unfinished]:
    """Those that nobody wrote to for `keep_days`. They are offered for removal, never removed unasked."""
    until = (time.time() if now is None else now) - limits.keep_days * _DAY_SECONDS
    return [one for one in unfinished_files(folder) if one.last_used < until]


def _blocks(path: Path) -> int:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return 0
    return min(status.st_blocks * 512, status.st_size)


def _shown(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**8 else f"{count / 1e6:.1f} MB"
