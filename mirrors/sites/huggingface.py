"""Hugging Face, and sites that copy its addresses: lists of files with their SHA-256, pinned to a commit.

Addresses: `/api/models/ORG/REPO/revision/REV` names the commit, `…/tree/COMMIT?recursive=true` lists it in
pages that a Link header chains, `/ORG/REPO/resolve/COMMIT/PATH` is a file. `lfs.oid` of an entry is the
SHA-256 of its content.
"""

import re
from urllib.parse import quote, urljoin, urlsplit

from mirrors.asking import Answer, failure, read_json
from mirrors.choice import RemoteFile
from mirrors.errors import BadAnswer, MirrorsError, NotPermitted, NotThere
from mirrors.reference import HubRepository
from mirrors.sites.hub import Ask, Listing

_MAIN = "main"
_MOST_FILES = 50_000
_MOST_PAGES = 100
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?', re.IGNORECASE)


class HuggingFace:
    """The site; `mirrors.sites.hub.Site`."""

    async def listing(self, base: str, repository: HubRepository, ask: Ask) -> Listing:
        """All files of the main branch's newest commit."""
        api = f"{base}/api/models/{quote(repository.owner)}/{quote(repository.name)}"
        commit = await self._commit(api, repository, ask)
        url: str | None = f"{api}/tree/{commit}?recursive=true"
        files: list[RemoteFile] = []
        for _ in range(_MOST_PAGES):
            if url is None:
                return Listing(commit, tuple(files))
            answer = await ask(url)
            if answer.status != 200:
                raise _failure(answer, repository)
            files += _files(read_json(answer), answer.host)
            url = _next_page(answer)
            if len(files) > _MOST_FILES:
                break
        raise BadAnswer(f"{urlsplit(base).netloc} lists more files than any model has")

    def file_url(self, base: str, repository: HubRepository, revision: str, path: str) -> str:
        """Redirects to where the bytes are."""
        return f"{base}/{quote(repository.owner)}/{quote(repository.name)}/resolve/{revision}/{quote(path)}"

    async def _commit(self, api: str, repository: HubRepository, ask: Ask) -> str:
        """So that a push in between cannot mix two versions."""
        answer = await ask(f"{api}/revision/{_MAIN}")
        if answer.status != 200:
            raise _failure(answer, repository)
        content = read_json(answer)
        commit = content.get("sha") if isinstance(content, dict) else None
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise BadAnswer(f"{answer.host} names no commit of {repository.owner}/{repository.name}")
        return commit


def _files(content: object, host: str) -> list[RemoteFile]:
    if not isinstance(content, list):
        raise BadAnswer(f"{host} sent a list of files that is none")
    found = []
    for item in content:
        if not isinstance(item, dict) or not isinstance(item.get("path"), str):
            raise BadAnswer(f"{host} sent a list of files with an entry that is none")
        if item.get("type", "file") == "file":
            lfs = item.get("lfs")
            lfs = lfs if isinstance(lfs, dict) else {}
            size = _size(lfs.get("size", item.get("size")))
            found.append(RemoteFile(item["path"], size, _sha256(lfs.get("oid"))))
    return found


def _next_page(answer: Answer) -> str | None:
    """The next page, of the same origin alone."""
    match = _NEXT.search(answer.headers.get("link", ""))
    if match is None:
        return None
    url: str = urljoin(answer.url, match[1])
    if urlsplit(url)[:2] != urlsplit(answer.url)[:2]:
        raise BadAnswer(f"{answer.host} continues its list of files at another host")
    return url


def _failure(answer: Answer, repository: HubRepository) -> MirrorsError:
    """The error, in the words of the site's own code for it."""
    code, shown = answer.headers.get("x-error-code", ""), f"{repository.owner}/{repository.name}"
    if code == "GatedRepo":
        return NotPermitted(
            f"{answer.host}/{shown} asks its users to accept a licence: do so on its page, and set HF_TOKEN"
        )
    if answer.status == 404 or code in ("RevisionNotFound", "EntryNotFound"):
        return NotThere(f"{answer.host} has no repository {shown}")
    if answer.status in (401, 403) or code == "RepoNotFound":
        return NotPermitted(
            f"{answer.host} shows no repository {shown}: it does not exist, or is private (set HF_TOKEN)"
        )
    return failure(answer, shown)


def _size(value: object) -> int | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if ok and isinstance(value, int) else None


def _sha256(value: object) -> str:
    return value if isinstance(value, str) and _SHA256.fullmatch(value) else ""
