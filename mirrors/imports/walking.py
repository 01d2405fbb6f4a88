"""The files below a folder that may be looked at: bounded in depth, and never out of the folder by a link.

Reads names and kinds, no content, and changes nothing.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mirrors.imports.found import Skipped

_DEPTH = 8
_UNFINISHED = re.compile(
    r".*(?:\.incomplete|\.part|-partial(?:-\d+)?|\.tmp|\.aria2|\.downloadInProgress)|downloading_.*\.part",
    re.IGNORECASE,
)
_PIECE = re.compile(r".*\.gguf_\d+_\d+", re.IGNORECASE)
_IGNORED = ("thumbs.db", "desktop.ini")


@dataclass(frozen=True, slots=True)
class File:
    """A regular file: the path by which it was found, where it really lies, and its size in bytes."""

    path: Path
    real: Path
    size: int


@dataclass(slots=True)
class _Walk:
    roots: tuple[Path, ...]
    files: list[File] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def walk(root: Path, also: Sequence[Path] = ()) -> tuple[list[File], list[Skipped]]:
    """All files below `root`, sorted. Links may lead into `root` and the folders `also`, nowhere else."""
    roots = tuple(Path(os.path.realpath(folder)) for folder in (root, *also))
    state = _Walk(roots)
    _visit(state, root, _DEPTH)
    busy = {file.name.removesuffix(".aria2") for file in _control_files(root)}
    files = [file for file in state.files if file.path.name not in busy]
    state.skipped += [
        Skipped(str(file.path), "an unfinished download") for file in state.files if file.path.name in busy
    ]
    return sorted(files, key=lambda file: str(file.path)), state.skipped


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is a piece of a download."""
    return bool(_UNFINISHED.fullmatch(name) or _PIECE.fullmatch(name))


def _visit(state: _Walk, folder: Path, depth: int) -> None:
    real = os.path.realpath(folder)
    if real in state.seen:
        return  # a loop of links
    state.seen.add(real)
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        state.skipped.append(Skipped(str(folder), f"cannot be read: {error.strerror}"))
        return
    for entry in entries:
        if not entry.name.startswith(".") and entry.name.lower() not in _IGNORED:
            _take(state, entry, depth)


def _take(state: _Walk, entry: os.DirEntry[str], depth: int) -> None:
    path = Path(entry.path)
    real = Path(os.path.realpath(path))
    if entry.is_symlink() and not any(real.is_relative_to(root) for root in state.roots):
        state.skipped.append(Skipped(str(path), "a link that leads out of the folder"))
    elif entry.is_symlink() and not real.exists():
        state.skipped.append(Skipped(str(path), "a link to nothing"))
    elif entry.is_dir():
        if depth > 1:
            _visit(state, path, depth - 1)
        else:
            state.skipped.append(Skipped(str(path), f"lies more than {_DEPTH} folders deep"))
    elif is_unfinished(entry.name):
        if not entry.name.endswith(".aria2"):
            state.skipped.append(Skipped(str(path), "an unfinished download"))
    elif entry.is_file():
        state.files.append(File(path, real, real.stat().st_size))


def _control_files(root: Path) -> Iterator[Path]:
    """Of a program that gives files their final name before they are whole."""
    return root.rglob("*.aria2")
