"""ModelScope's cache, in the shapes that its versions made. Its indexes are pickles and are never opened."""

from pathlib import Path

from mirrors.choice import quantisation
from mirrors.imports.folder import models_in
from mirrors.imports.found import Found, joined
from mirrors.imports.naming import hub_name
from mirrors.imports.walking import walk

_MARKS = (".msc", ".mdl", ".mv")
_DOT = "___"


def modelscope_repositories(path: Path) -> list[tuple[Path, str]]:
    """The folders with files, and the names of their models, if this is such a cache."""
    found: dict[Path, str] = {}
    for root in (path, path / "models", path / "hub" / "models", path / "hub"):
        for folder in sorted(root.glob("*--*")):
            if not folder.name.startswith("models--") and (folder / "snapshots").is_dir():
                owner, _, name = folder.name.partition("--")
                found |= {item: hub_name(owner, name.replace(_DOT, ".")) for item in _newest(folder)}
        for folder in sorted(root.glob("*/*")):
            if any((folder / mark).exists() for mark in _MARKS):
                found[folder] = hub_name(folder.parent.name, folder.name.replace(_DOT, "."))
    return list(found.items())


def find_modelscope(repositories: list[tuple[Path, str]]) -> Found:
    """The models of all repositories."""
    return joined(_repository(folder, name) for folder, name in repositories)


def _repository(folder: Path, name: str) -> Found:
    files, skipped = walk(folder, [folder.parent.parent] if folder.parent.name == "snapshots" else [])
    found = models_in(files, "ModelScope", lambda path: (name, quantisation(path.name)), folder)
    return joined([found, Found(skipped=tuple(skipped))])


def _newest(folder: Path) -> list[Path]:
    snapshots = [item for item in (folder / "snapshots").iterdir() if item.is_dir()]
    return sorted(snapshots, key=lambda item: item.stat().st_mtime_ns)[-1:]
