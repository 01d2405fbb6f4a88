"""The names in request bodies, with each endpoint's own words for a missing or malformed one. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from modelfiles.errors import ConflictingSource, InvalidName, ModelRequired
from modelfiles.names import Name, Reference, parse_name, parse_reference
from shim.errors import ApiError, bad_request, forbidden, go_quoted

Body = Mapping[str, object]

NO_CLOUD = "ollama cloud is disabled: remote model is unavailable"


def requested(body: Body) -> str:
    """`model`, or its old spelling `name`; an empty one counts as absent."""
    return str(body.get("model") or body.get("name") or "")


def name_to_show(body: Body) -> Name:
    """The model of a show request. ApiError."""
    text = requested(body)
    reference = _reference(text)
    if reference.source == "cloud":
        raise forbidden(NO_CLOUD)
    return _name(reference.base, bad_request("invalid model name"))


def name_to_delete(body: Body) -> Name:
    """The model of a delete request; a cloud source is a part of its tag. ApiError."""
    text = requested(body)
    return _name(_reference(text).pull_name, bad_request(f"name {go_quoted(text)} is invalid"))


def name_to_create(body: Body) -> Name:
    """The model that a create request makes. ApiError."""
    return _name(requested(body), bad_request("invalid model name"))


def names_to_copy(body: Body) -> tuple[Name, Name]:
    """Source and destination of a copy request. ApiError."""
    source, destination = str(body.get("source", "")), str(body.get("destination", ""))
    return (
        _name(source, bad_request(f"source {go_quoted(source)} is invalid")),
        _name(destination, bad_request(f"destination {go_quoted(destination)} is invalid")),
    )


def _reference(text: str) -> Reference:
    try:
        return parse_reference(text)
    except (ModelRequired, ConflictingSource) as error:
        raise bad_request(str(error)) from None


def _name(text: str, otherwise: ApiError) -> Name:
    try:
        return parse_name(text)
    except InvalidName:
        raise otherwise from None
