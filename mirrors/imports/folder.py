"""GGUF files in folders: whole ones, parts of split ones, projectors and texts beside them.

Files of one folder belong together, files of different ones never. What a file really holds is judged by
whoever reads its header.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from mirrors.choice import RemoteFile, choose, is_weights
from mirrors.errors import NoChoice
from mirrors.imports.found import Found, FoundFile, FoundModel, Skipped, joined
from mirrors.imports.naming import name_and_tag
from mirrors.imports.walking import File, walk

# From a file of weights to the name of its model and its tag
Naming = Callable[[Path], tuple[str, str]]

_SUM = re.compile(r"([0-9a-fA-F]{64})[ \t]+\*?(.+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"(?P<stem>.*)-\d{5}-of-\d{5}\.gguf", re.IGNORECASE | re.DOTALL)
_SUMS_BYTES = 1 << 20


def find_folder(root: Path) -> Found:
    """Every model below a folder of GGUF files."""
    files, skipped = walk(root)
    found = models_in(files, "folder", lambda path: name_and_tag(path.name), root)
    return joined([found, Found(skipped=tuple(skipped))])


def find_file(path: Path) -> Found:
    """The model that a GGUF file, or any part of a split one, belongs to."""
    files, _ = walk_one(path.parent)
    match = _PART.fullmatch(path.name)
    mates = [file for file in files if match and _stem(file.path.name) == match["stem"]]
    wanted = mates or [file for file in files if file.path.name == path.name]
    return models_in(wanted, "GGUF", lambda file: name_and_tag(file.name), path.parent)


def walk_one(folder: Path) -> tuple[list[File], list[Skipped]]:
    """The files of one folder alone; a link may lead anywhere, as the user named what it is for."""
    found = [
        File(path, path.resolve(), path.stat().st_size) for path in sorted(folder.iterdir()) if path.is_file()
    ]
    return found, []


def models_in(files: Sequence[File], layout: str, naming: Naming, root: Path) -> Found:
    """The models among these files."""
    folders: dict[Path, list[File]] = {}
    for file in files:
        folders.setdefault(file.path.parent, []).append(file)
    return joined(_in_one(group, layout, naming, root) for group in folders.values())


def _in_one(files: Sequence[File], layout: str, naming: Naming, root: Path) -> Found:
    by_name = {file.path.name: file for file in files}
    listed = [RemoteFile(name, file.size) for name, file in by_name.items()]
    promised = _promised(files, root)
    models, skipped, used = [], [], set()
    for first in filter(is_weights, listed):
        try:
            chosen = choose(listed, first.path)
        except NoChoice as error:
            skipped.append(Skipped(str(by_name[first.path].path), str(error)))
            used |= {file.path for file in listed if _stem(file.path) == _stem(first.path)}
            continue
        wanted = [*chosen.model, *([chosen.projector] if chosen.projector else [])]
        used |= {file.path for file in wanted}
        members = tuple(
            FoundFile(by_name[item.path].path, by_name[item.path].size, promised.get(item.path, ""))
            for item in wanted
        )
        texts = tuple((kind, by_name[item.path].path) for kind, item in chosen.texts)
        models.append(FoundModel(layout, *naming(by_name[first.path].path), members, texts))
    for item in listed:
        if item.path.lower().endswith(".gguf") and item.path not in used:
            skipped.append(Skipped(str(by_name[item.path].path), _why_left(item.path)))
    return Found(tuple(models), skipped=tuple(skipped))


def _why_left(name: str) -> str:
    if _PART.fullmatch(name):
        return "a part of a split model whose first part is missing"
    if "mmproj" in name.lower():
        return "a projector; the model that it belongs to is not in this folder, or has another one"
    return "no model by itself"


def _stem(name: str) -> str:
    match = _PART.fullmatch(name)
    return match["stem"] if match else name


def _promised(files: Sequence[File], root: Path) -> dict[str, str]:
    """File name -> digest, from lists of sums beside the files and from where a link leads."""
    digests: dict[str, str] = {}
    for file in files:
        name = file.path.name
        if (name.upper() == "SHA256SUMS" or name.endswith(".sha256")) and file.size <= _SUMS_BYTES:
            digests |= _sums(file.path.read_text("utf-8", "replace"))
        elif file.real.parent.name == "blobs" or file.real.parent.parent.name == "blobs":
            if _SHA256.fullmatch(file.real.name):
                digests[name] = f"sha256:{file.real.name}"
        else:
            digests |= _noted(file.path, root)
    return digests


def _sums(text: str) -> dict[str, str]:
    matches = map(_SUM.fullmatch, text.splitlines())
    return {match[2].strip(): f"sha256:{match[1].lower()}" for match in matches if match}


def _noted(path: Path, root: Path) -> dict[str, str]:
    """What a hub's own program wrote down about a file that it put into a plain folder."""
    note = root / ".cache" / "huggingface" / "download" / f"{path.relative_to(root)}.metadata"
    try:
        lines = note.read_text("utf-8", "replace")[:4096].splitlines()
    except OSError:
        return {}
    tag = lines[1].strip().strip('"') if len(lines) > 1 else ""
    return {path.name: f"sha256:{tag}"} if _SHA256.fullmatch(tag) else {}
