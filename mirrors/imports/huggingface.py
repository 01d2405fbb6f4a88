"""The cache of Hugging Face's own programs: `models--<owner>--<name>/snapshots/<commit>/<path>`.

Snapshots have the files' names, as links into a folder of blobs that are named after their content.
"""

import re
from pathlib import Path

from mirrors.choice import quantisation
from mirrors.imports.folder import models_in
from mirrors.imports.found import Found, Skipped, joined
from mirrors.imports.naming import hub_name
from mirrors.imports.walking import walk

_PREFIX = "models--"
_COMMIT = re.compile(r"[0-9A-Za-z._-]{1,80}")


def huggingface_repositories(path: Path) -> list[Path]:
    """The repositories' folders, if this is such a cache, its home, or one repository of it."""
    if path.name.startswith(_PREFIX) and (path / "snapshots").is_dir():
        return [path]
    for root in (path, path / "hub"):
        found = sorted(folder for folder in root.glob(f"{_PREFIX}*") if (folder / "snapshots").is_dir())
        if found:
            return found
    return []


def find_huggingface(repositories: list[Path]) -> Found:
    """The models of each repository's main snapshot."""
    return joined(map(_repository, repositories))


def _repository(folder: Path) -> Found:
    owner, _, name = folder.name.removeprefix(_PREFIX).partition("--")
    model = hub_name(owner, name) if name else hub_name("", owner)
    snapshot = _snapshot(folder)
    if snapshot is None:
        return Found(skipped=(Skipped(str(folder), "no snapshot is complete"),))
    files, skipped = walk(snapshot, [folder, folder.parent / "blobs"])
    found = models_in(files, "Hugging Face", lambda path: (model, quantisation(path.name)), snapshot)
    if not found.models and not found.skipped and not skipped:
        skipped = [Skipped(str(folder), "no GGUF file in it")]
    return joined([found, Found(skipped=tuple(skipped))])


def _snapshot(folder: Path) -> Path | None:
    """That of the branch `main`, else the newest."""
    try:
        commit = (folder / "refs" / "main").read_text("utf-8", "replace")[:100].strip()
    except OSError:
        commit = ""
    if _COMMIT.fullmatch(commit) and commit not in (".", "..") and (folder / "snapshots" / commit).is_dir():
        return folder / "snapshots" / commit
    others = [item for item in (folder / "snapshots").iterdir() if item.is_dir()]
    return max(others, key=lambda item: item.stat().st_mtime_ns, default=None)
