"""Finds the pictures and sounds that a message names by their paths, and reads them for the request."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from shim.cli.errors import CommandError

_PATH = re.compile(
    r"(?:'(?P<single>[^'\n]+?)'|\"(?P<double>[^\"\n]+?)\"|"
    r"(?P<bare>(?<![A-Za-z0-9_./\\~:-])(?:~|\.{1,2}|[A-Za-z]:)?[/\\]"
    r"(?:\\ |[^\s'\"])*?\.(?:jpe?g|png|webp|wav)(?![A-Za-z0-9_]|\.[A-Za-z0-9])))",
    re.IGNORECASE,
)
_NAMED_AS_MEDIA = re.compile(r"\.(?:jpe?g|png|webp|wav)$", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([ ()\[\]{}$&;'\"*?~\\])")
_MOST_BYTES = 100 << 20
# How files of each kind begin, and the capability that a model needs for them.
_SIGHT, _HEARING = "vision", "audio"
_VERB = {_SIGHT: "see images", _HEARING: "hear sounds"}


@dataclass(frozen=True, slots=True)
class WithMedia:
    """A message without the paths of what it shows; `images` are files in base64, `paths` theirs."""

    text: str
    images: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def take_media(text: str, model: str, capabilities: Collection[str]) -> WithMedia:
    """Read the files that the message names. What is no file, or no picture or sound, stays text.

    Raises CommandError if the model cannot see or hear, or if a file is too large or cannot be read.
    """
    images: list[str] = []
    paths: list[str] = []

    def taken(match: re.Match[str]) -> str:
        written = match["single"] or match["double"] or match["bare"]
        path = Path(os.path.expanduser(_ESCAPED.sub(r"\1", written) if match["bare"] else written))
        if not _NAMED_AS_MEDIA.search(written) or not path.is_file():
            return match[0]
        data = _read(path)
        needed = _needed(data)
        if not needed:
            return match[0]
        if needed not in capabilities:
            raise CommandError(
                f"{model} cannot {_VERB[needed]}, and the message names one: {path}",
                f"leave the path out, or use a model whose capabilities include {needed}",
            )
        images.append(base64.b64encode(data).decode())
        paths.append(str(path))
        return ""

    rest = _PATH.sub(taken, text)
    return WithMedia(rest.strip() if images else text, tuple(images), tuple(paths))


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise CommandError(f"{path} is larger than {_MOST_BYTES >> 20} MB; send a smaller one")
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error


def _needed(data: bytes) -> str:
    """By the content, whatever the name says; nothing for a file of another kind."""
    if data.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")):
        return _SIGHT
    if data.startswith(b"RIFF"):
        return {b"WEBP": _SIGHT, b"WAVE": _HEARING}.get(data[8:12], "")
    return ""
