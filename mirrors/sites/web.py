"""One GGUF file at an address of its own; of a split one, the other parts too. Nobody knows its digest."""

import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit, urlunsplit

from mirrors.errors import BadReference
from mirrors.reference import HUB_HOSTS, FileAddress
from mirrors.sites.plans import FilesPlan, unverified
from mirrors.sources import Access, Source, Wanted

_PART = re.compile(r"^(.*-)(\d{5})(-of-)(\d{5})(\.gguf)$", re.IGNORECASE)
_MOST_PARTS = 1000


def plan(address: FileAddress, access: Access, headers: Mapping[str, str]) -> FilesPlan:
    """What to fetch. BadReference for a part of a model that is not its first."""
    files = {}
    for name, url in _parts(address.file_name, file_url(address.url)):
        source = Source(url, urlsplit(url).netloc, headers, access=access)
        files[name] = Wanted(f"pulling {name}", (source,), starts_with=(b"GGUF",))
    return FilesPlan(files, notes=tuple(map(unverified, files)))


def file_url(url: str) -> str:
    """The address of the file itself, where the one given is that of a page of Hugging Face about it."""
    parts = urlsplit(url)
    steps = parts.path.split("/")
    if HUB_HOSTS.get((parts.hostname or "").lower()) == "huggingface" and steps[3:4] == ["blob"]:
        steps[3] = "resolve"
    return urlunsplit(parts._replace(path="/".join(steps)))


def _parts(name: str, url: str) -> list[tuple[str, str]]:
    match = _PART.match(name)
    if match is None:
        return [(name, url)]
    count = int(match[4])
    if int(match[2]) != 1 or not 1 <= count <= _MOST_PARTS:
        raise BadReference(f"{name} is a part of a model; give the address of the first one, 00001")
    parts = urlsplit(url)
    folder, _, last = parts.path.rpartition("/")
    found = []
    for number in range(1, count + 1):
        marks = (f"-{match[2]}-of-", f"-{number:05}-of-")
        path = f"{folder}/{last.replace(*marks)}"
        found.append((unquote(path).rpartition("/")[2], urlunsplit(parts._replace(path=path))))
    return found
