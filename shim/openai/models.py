"""`/v1/models`: what there is, in OpenAI's words, which Anthropic's clients read as well. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from modelfiles.package import Package
from shim.gojson import utc_time

Json = dict[str, object]


def listed(packages: Iterable[Package]) -> Json:
    """All models. Never null: there are clients that count them."""
    data = [model(package, package.name.display) for package in packages]
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
    return {"object": "list", "data": data, "has_more": False, **ends}


def model(package: Package, identity: str) -> Json:
    """One model under the name that was asked for."""
    return {
        "id": identity,
        "object": "model",
        "created": package.modified_ns // 1_000_000_000,
        "owned_by": package.name.namespace,
        "type": "model",
        "display_name": identity,
        "created_at": utc_time(package.modified_ns // 1_000_000_000 * 1_000_000_000),
    }
