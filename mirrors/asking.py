"""Small questions to sites, and what their answers mean: manifests, lists, tokens. Knows no HTTP library.

Who carries a question out is told the most that an answer may weigh; an answer's text reaches a user only
shortened and without control characters, because it may come from anybody.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from mirrors.errors import BadAnswer, MirrorsError, NotPermitted, NotThere, Refused, Unreachable
from mirrors.sources import Access

JSON_BYTES = 32 << 20
_DEEPEST = 64
_PUBLIC = Access()
_SHOWN_BYTES = 200
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `url` is where the last answer came from, `headers` have lower-case names."""

    status: int
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


class Web(Protocol):
    """Who asks. Redirects are followed, five at most, and credentials stay with the origin they are for."""

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        limit_bytes: int = JSON_BYTES,
        seconds: float = 60.0,
        access: Access = _PUBLIC,
        follow: bool = True,
    ) -> Answer:
        """Raises Unreachable, Refused for an address that may not be asked, BadAnswer for too much."""
        ...


def read_json(answer: Answer) -> object:
    """The answer's content. BadAnswer if it is no JSON, or nested deeper than anything that is meant well."""
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{answer.host} sent something that is no JSON: {said(answer)}") from error
    if _depth(content) > _DEEPEST:
        raise BadAnswer(f"{answer.host} sent JSON that is nested too deeply")
    return content


def said(answer: Answer) -> str:
    """The words of an answer that is an error, at most 200 characters of them."""
    text = answer.body[: 64 << 10].decode("utf-8", "replace")
    try:
        told = _told(json.loads(text))
    except (ValueError, RecursionError):
        told = ""
    text = told or _TAGS.sub(" ", text)
    text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())[:_SHOWN_BYTES] or "no text"


def failure(answer: Answer, what: str) -> MirrorsError:
    """The error that an answer of 400 and above means; `what` says what was asked for."""
    text = f"{what}: {answer.host} answers {answer.status}: {said(answer)}"
    if answer.status in (404, 410):
        return NotThere(f"{what}: file does not exist")
    if answer.status in (401, 403):
        return NotPermitted(text)
    if answer.status in (407, 511):
        return Unreachable(f"{text}; a proxy or the network asks for a login first")
    if answer.status in (408, 425, 429) or answer.status >= 500:
        return Unreachable(text)
    return Refused(text)


def _told(content: object) -> str:
    """`{"error": "text"}`, or the list of errors that registries have."""
    if not isinstance(content, dict):
        return ""
    for key in ("error", "message", "Message"):
        if isinstance(content.get(key), str):
            return str(content[key])
    errors = content.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    if not isinstance(first, dict):
        return ""
    return ": ".join(str(first[key]) for key in ("code", "message") if first.get(key))


def _depth(content: object) -> int:
    deepest, waiting = 0, [(content, 1)]
    while waiting:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting += [(item, depth + 1) for item in inner]
    return deepest
