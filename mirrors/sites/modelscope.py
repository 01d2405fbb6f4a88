"""ModelScope: lists of files with their SHA-256, of a branch, for it has no revision that cannot change.

Addresses: `/api/v1/models/ORG/REPO/repo/files?Revision=REV&Recursive=True` lists at most 3000 entries without
saying that it left some out; then folders are listed one by one. `/models/ORG/REPO/resolve/REV/PATH` is a
file.
Every answer is in an envelope that tells of success by itself, whatever the status.
"""

import re
from urllib.parse import quote, urlencode, urlsplit

from mirrors.asking import Answer, failure, read_json, said
from mirrors.choice import RemoteFile
from mirrors.errors import BadAnswer, NotPermitted, NotThere, Refused
from mirrors.reference import HubRepository
from mirrors.sites.hub import Ask, Listing

_BRANCH = "master"
_CAP = 3000
_MOST_LISTS = 500
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ModelScope:
    """The site; `mirrors.sites.hub.Site`."""

    async def listing(self, base: str, repository: HubRepository, ask: Ask) -> Listing:
        """All files of the usual branch."""

        async def entries(recursive: bool, root: str) -> list[tuple[bool, RemoteFile]]:
            asked = {"Revision": _BRANCH, "Recursive": str(recursive)} | ({"Root": root} if root else {})
            path = f"/api/v1/models/{quote(repository.owner)}/{quote(repository.name)}/repo/files"
            return _entries(await ask(f"{base}{path}?{urlencode(asked)}"), repository)

        found = await entries(recursive=True, root="")
        if len(found) >= _CAP:
            found, folders, lists = [], [""], 0
            while folders:
                lists += 1
                if lists > _MOST_LISTS:
                    raise BadAnswer(f"{urlsplit(base).netloc} lists more folders than any model has")
                inside = await entries(recursive=False, root=folders.pop())
                found += inside
                folders += [file.path for is_folder, file in inside if is_folder]
        return Listing(_BRANCH, tuple(file for is_folder, file in found if not is_folder))

    def file_url(self, base: str, repository: HubRepository, revision: str, path: str) -> str:
        """Redirects to where the bytes of large files are; small ones come from here."""
        where = f"{quote(repository.owner)}/{quote(repository.name)}/resolve/{revision}/{quote(path)}"
        return f"{base}/models/{where}"


def _entries(answer: Answer, repository: HubRepository) -> list[tuple[bool, RemoteFile]]:
    data = _data(answer, repository)
    files = data.get("Files")
    if files is None:
        return []
    if not isinstance(files, list):
        raise BadAnswer(f"{answer.host} sent a list of files that is none")
    found = []
    for item in files:
        if not isinstance(item, dict) or not isinstance(item.get("Path"), str):
            raise BadAnswer(f"{answer.host} sent a list of files with an entry that is none")
        digest = str(item.get("Sha256") or "").lower()
        file = RemoteFile(item["Path"], _size(item.get("Size")), digest if _SHA256.fullmatch(digest) else "")
        found.append((item.get("Type") == "tree", file))
    return found


def _data(answer: Answer, repository: HubRepository) -> dict[str, object]:
    """What is in the envelope. MirrorsError for the errors that it may hold."""
    shown = f"{repository.owner}/{repository.name}"
    if answer.status == 404:
        raise NotThere(f"{answer.host} has no repository {shown}")
    if answer.status in (401, 403):
        raise NotPermitted(f"{answer.host} does not show {shown}: set MODELSCOPE_API_TOKEN if you may see it")
    if answer.status != 200:
        raise failure(answer, shown)
    content = read_json(answer)
    content = content if isinstance(content, dict) else {}
    code, data = content.get("Code"), content.get("Data")
    if content.get("Success") is False or code not in (None, 200):
        if code in (404, 10010205001):
            raise NotThere(f"{answer.host} has no repository {shown}")
        raise Refused(f"{answer.host} does not list {shown}: {said(answer)}")
    if not isinstance(data, dict):
        raise BadAnswer(f"{answer.host} sent a list of files that is none")
    return data


def _size(value: object) -> int | None:
    """0 can mean that the size is not known."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63:
        return value
    return None
