"""Pull and push in Ollama's JSON: the requests, and the items of their streams. Pure.

Beside Ollama's four keys an item may say from where, how fast and how long still: `source`, `rate` (bytes a
second), `eta` (seconds), and `note`, what is being waited for. Clients pass over keys that they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping

from shim.ollama.names import requested
from shim.ollama.progress import Item
from shim.pulling import PullRequest
from shim.pushing import PushRequest
from shim.transfers import PullProgress

Body = Mapping[str, object]


def pull_request(body: Body, *, is_local: bool) -> PullRequest:
    """What a pull asks for."""
    return PullRequest(requested(body), bool(body.get("insecure")), is_local)


def push_request(body: Body, *, is_local: bool) -> PushRequest:
    """What a push asks for."""
    return PushRequest(requested(body), bool(body.get("insecure")), is_local)


def item(progress: PullProgress) -> Item:
    """One line; what is empty or zero is left out."""
    told: Item = {
        "status": progress.status,
        "digest": progress.digest,
        "total": progress.total,
        "completed": progress.completed,
        "source": progress.mirror,
        "rate": round(progress.bytes_per_second),
        "eta": None if progress.eta_seconds is None else round(progress.eta_seconds),
        "note": progress.note,
    }
    return {key: value for key, value in told.items() if value or key == "status"}
