"""Which files the FROM, ADAPTER and DRAFT lines of a Modelfile mean. Looks at names and kinds of files only.

A FROM is looked for as a file first; what is not there is the name of a model. Files of a folder are taken if
they are GGUF; a folder of safetensors is refused here, before anything is hashed or sent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from modelfiles.errors import InvalidName
from modelfiles.gguf.split import is_part_name, part_count, part_name, part_stem
from modelfiles.modelfile import CreateFields
from modelfiles.names import parse_name
from shim.cli.errors import CommandError

NO_WEIGHTS = "no Modelfile or safetensors files found"
_GGUF_MAGIC = b"GGUF"
_LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Sources:
    """Files by the name that they have in the create request, or the name of a model to start from."""

    model: str | None
    files: dict[str, Path]
    adapters: dict[str, Path]
    drafts: dict[str, Path]

    def all_files(self) -> list[Path]:
        return [*self.files.values(), *self.adapters.values(), *self.drafts.values()]


def find_sources(fields: CreateFields, folder: Path) -> Sources:
    """Resolve the paths of a Modelfile that lies in `folder`. Raises CommandError, naming the line's text."""
    model: str | None = None
    weights: list[Path] = []
    for text in fields.from_:
        path = resolve(text, folder)
        if path.exists():
            weights += weight_files(path)
        else:
            model = _model_name(text, path)
    drafts = [file for text in fields.drafts for file in _existing("DRAFT", text, folder)]
    for draft in set(drafts) & set(weights):
        raise CommandError(f"DRAFT must not reference the same local path as FROM: {draft}")
    adapters = [] if fields.adapter is None else _existing("ADAPTER", fields.adapter, folder)
    return Sources(None if weights else model, _named(weights), _named(adapters), _named(drafts))


def existing_file(flag: str, text: str) -> Path:
    """The file that a flag names, relative to where the command was given. CommandError if there is none."""
    path = Path(text).expanduser().resolve()
    if not path.is_file():
        raise CommandError(f"{flag} {text}: no such file: {path}")
    return path


def resolve(text: str, folder: Path) -> Path:
    """An absolute path stays, `~` is a home folder, anything else is relative to the Modelfile's folder."""
    return folder / Path(os.path.expanduser(text))


def weight_files(path: Path) -> list[Path]:
    """The file itself, or the GGUF files of a folder, sorted. Raises CommandError if there are none.

    A file that is one part of a split model brings the others that lie beside it.
    """
    if path.is_file():
        return [_checked(part.resolve()) for part in _with_other_parts(path)]
    root = path.resolve()
    found = sorted(root.glob("*.gguf")) or sorted(file for file in root.glob("*.bin") if _is_gguf(file))
    if found:
        return [_checked(_inside(file, root)) for file in found]
    if any(root.glob("*.safetensors")):
        raise CommandError(
            f"{path} holds safetensors files, which cannot be used yet",
            "convert them to GGUF with llama.cpp's convert_hf_to_gguf.py, then put 'FROM FILE.gguf'",
        )
    raise CommandError(
        NO_WEIGHTS, f"looked in {root}; 'FROM FILE.gguf' or 'FROM MODEL' names what to start from"
    )


def _with_other_parts(path: Path) -> list[Path]:
    if not is_part_name(path.name):
        return [path]
    stem, count = part_stem(path.name), part_count(path.name)
    beside = (path.with_name(part_name(stem, index, count)) for index in range(1, count + 1))
    return [part for part in beside if part.is_file()]


def _existing(word: str, text: str, folder: Path) -> list[Path]:
    path = resolve(text, folder)
    if not path.exists():
        raise CommandError(f"{word} {text}: no such file: {path}")
    return weight_files(path)


def _model_name(text: str, path: Path) -> str:
    """The text untouched if it can be a model's name; otherwise the file is what is missing."""
    try:
        parse_name(text.strip())
    except InvalidName:
        raise CommandError(
            f"FROM {text}: no such file: {path}",
            "'FROM FILE.gguf' is relative to the Modelfile; 'FROM MODEL' takes a name of 'shim list'",
        ) from None
    return text


def _inside(file: Path, root: Path) -> Path:
    real = file.resolve()
    if not real.is_relative_to(root):
        raise CommandError(
            f"insecure path: {file}", "the link leaves the folder; name the file itself in FROM"
        )
    return real


def _checked(file: Path) -> Path:
    with file.open("rb") as opened:
        start = opened.read(len(_LFS_POINTER))
    if start == _LFS_POINTER:
        raise CommandError(
            f"invalid content type: {file.name} is a Git LFS pointer, not the file itself",
            "'git lfs pull' in its folder fetches the file",
        )
    return file


def _is_gguf(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == _GGUF_MAGIC


def _named(files: Sequence[Path]) -> dict[str, Path]:
    """Each file under its path below the folder that all have in common, with `/` on every system."""
    unique = list(dict.fromkeys(files))
    if len(unique) < 2:
        return {file.name: file for file in unique}
    root = _common_folder(unique)
    return {file.relative_to(root).as_posix(): file for file in unique}


def _common_folder(files: Iterable[Path]) -> Path:
    return Path(os.path.commonpath([str(file.parent) for file in files]))
