"""Every endpoint's words for names that are missing or malformed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shim.errors import ApiError
from shim.ollama.names import name_to_create, name_to_delete, name_to_show, names_to_copy


@pytest.mark.parametrize(
    ("read", "body", "status", "text"),
    [
        (name_to_show, {}, 400, "model is required"),
        (name_to_show, {"model": "  "}, 400, "model is required"),
        (name_to_show, {"model": "a//b"}, 400, "invalid model name"),
        (
            name_to_show,
            {"model": "x:cloud:local"},
            400,
            'use either :local or :cloud, not both: "x:cloud:local"',
        ),
        (name_to_show, {"model": "x:cloud"}, 403, "ollama cloud is disabled: remote model is unavailable"),
        (name_to_delete, {}, 400, "model is required"),
        (name_to_delete, {"name": 'a"/x:'}, 400, 'name "a\\"/x:" is invalid'),
        (name_to_create, {}, 400, "invalid model name"),
        (name_to_create, {"model": "a b"}, 400, "invalid model name"),
        (names_to_copy, {}, 400, 'source "" is invalid'),
        (names_to_copy, {"source": "a", "destination": "b:"}, 400, 'destination "b:" is invalid'),
        (names_to_copy, {"source": "a\n"}, 400, 'source "a\\n" is invalid'),
    ],
)
def test_refusals(
    read: Callable[[dict[str, object]], object], body: dict[str, object], status: int, text: str
) -> None:
    with pytest.raises(ApiError) as caught:
        read(body)
    assert (caught.value.status, caught.value.message) == (status, text)


def test_model_wins_over_name_and_an_empty_one_is_absent() -> None:
    assert name_to_show({"model": "a", "name": "b"}).display == "a:latest"
    assert name_to_show({"model": "", "name": "b"}).display == "b:latest"
    assert name_to_create({"name": "b:q4"}).display == "b:q4"
    assert name_to_show({"model": "b:local"}).display == "b:latest"
    assert name_to_delete({"model": "b:x:cloud"}).display == "b:x-cloud"
