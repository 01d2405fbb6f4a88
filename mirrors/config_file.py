"""Where settings about mirrors are kept: the environment, our own file, and a key in Ollama's.

The first place that says anything wins. Ollama's `config.json` is read and never written: its launcher writes
it anew and drops keys that it does not know, so that a setting can vanish; that is then reported. Files are
looked at again whenever their time of change differs; no restart is needed.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mirrors.config import KEY, MirrorConfig, checked_url, read_json, read_text, site_of
from mirrors.errors import BadSetting
from mirrors.listed import REGISTRY

_LARGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look. `variables` are names with values, the first that is not empty counts."""

    variables: tuple[tuple[str, str], ...] = ()
    own_file: Path | None = None
    ollama_file: Path | None = None


class MirrorSettings:
    """The settings as they are now. One for a process; `current` costs two looks at files' times."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._seen: tuple[object, ...] = ()
        self._config = MirrorConfig()
        self._had_key = False

    def current(self) -> MirrorConfig:
        """What holds now. Problems are in the value; nothing is raised."""
        seen = (_stamp(self._places.own_file), _stamp(self._places.ollama_file))
        if not self._seen or seen != self._seen:
            self._config, self._seen = self._read(), seen
        return self._config

    def _read(self) -> MirrorConfig:
        for name, value in self._places.variables:
            if value.strip():
                return read_text(value, name)
        problems: tuple[str, ...] = ()
        if self._places.own_file is not None:
            own = _read_file(self._places.own_file)
            if own.mirrors:
                return own
            problems = own.problems
        theirs = _read_file(self._places.ollama_file, KEY) if self._places.ollama_file else MirrorConfig()
        if self._had_key and not theirs.origin:
            problems += (
                f"{KEY} has gone from {self._places.ollama_file}: Ollama's launcher drops unknown keys; "
                "keep mirrors by `shim mirror add` instead",
            )
        self._had_key = bool(theirs.origin)
        return MirrorConfig(
            theirs.mirrors, theirs.manifest_from, theirs.origin, (*problems, *theirs.problems)
        )


def add_mirror(path: Path, url: str, site: str = "", **values: object) -> None:
    """Put a mirror behind those that our file has for its site. BadSetting.

    `values` are further keys of its entry, see `mirrors.config`.
    """
    content = _content(path)
    upstream = site_of(site or REGISTRY)
    entry: object = {"url": checked_url(url), **values} if values else checked_url(url)
    checked = read_json(json.dumps({upstream: entry}), str(path))
    if checked.problems:
        raise BadSetting(checked.problems[0])
    entries = content.setdefault(upstream, [])
    entries[:] = [known for known in entries if _url(known) != checked_url(url)] + [entry]
    _write(path, content)


def remove_mirror(path: Path, url: str, site: str = "") -> list[str]:
    """Take a mirror out of our file; the sites that it stood in for. BadSetting if it is not there."""
    content, wanted = _content(path), checked_url(url)
    touched = []
    for upstream, entries in list(content.items()):
        kept = [entry for entry in entries if _url(entry) != wanted]
        if len(kept) < len(entries) and (not site or site_of(site) == upstream):
            touched.append(upstream)
            content[upstream] = kept
            if not kept:
                del content[upstream]
    if not touched:
        raise BadSetting(f"{wanted} is not in {path}")
    _write(path, content)
    return touched


def _read_file(path: Path, key: str = "") -> MirrorConfig:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
        if len(data) > _LARGEST_BYTES:
            return MirrorConfig(problems=(f"{path} is too large to be a list of mirrors",))
        return read_json(data.decode("utf-8"), str(path), key)
    except (FileNotFoundError, NotADirectoryError):
        return MirrorConfig()
    except OSError as error:
        return MirrorConfig(problems=(f"cannot read {path}: {(error.strerror or str(error)).lower()}",))
    except UnicodeDecodeError:
        return MirrorConfig(problems=(f"{path} is not UTF-8",))


def _stamp(path: Path | None) -> object:
    try:
        status = path.stat() if path else None
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status else None


def _content(path: Path) -> dict[str, list[object]]:
    """Our file as an object of lists. BadSetting: what cannot be read is not written over."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"cannot read {path}: {error}") from error
    checked = read_json(text, str(path))
    if checked.problems:
        raise BadSetting(f"mend {path} first: {checked.problems[0]}")
    content = json.loads(text) if text.strip() else {}
    if isinstance(content, dict) and set(content) == {KEY}:
        content = content[KEY]
    if not isinstance(content, dict) or {"url", "location"} & set(content):
        content = {REGISTRY: content}
    lists: dict[str, list[object]] = {}
    for site, value in content.items():
        lists.setdefault(site_of(str(site)), []).extend(value if isinstance(value, list) else [value])
    return lists


def _url(entry: object) -> str:
    text = entry.get("url", entry.get("location")) if isinstance(entry, Mapping) else entry
    return checked_url(str(text))


def _write(path: Path, content: Mapping[str, object]) -> None:
    """All or nothing: a new file takes the old one's place."""
    temporary = path.with_name(f"{path.name}.new-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise BadSetting(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
    finally:
        temporary.unlink(missing_ok=True)
