"""Weights with texts beside them, as hubs and folders keep them, as a request to create a model.

The texts are `template`, `system`, `params` (a JSON object) and any number of `license`; they may come from a
repository or from a disk. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from modelfiles.create import CreateRequest
from modelfiles.names import Name


def request_of(name: Name, files: Mapping[str, str], texts: Iterable[tuple[str, str]]) -> CreateRequest:
    """The model that these files (name to digest) and texts (kind and content) make.

    ValueError for parameters that are none; its text goes on behind "the file params".
    """
    pairs = list(texts)
    by_kind = dict(pairs)
    return CreateRequest(
        model=name.full,
        files=files,
        template=by_kind.get("template", ""),
        system=by_kind.get("system", ""),
        licenses=tuple(text for kind, text in pairs if kind == "license"),
        parameters=_parameters(by_kind.get("params", "")),
    )


def _parameters(text: str) -> dict[str, object]:
    try:
        parameters = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON: {error}") from error
    if not isinstance(parameters, dict):
        raise ValueError("is no JSON object")
    return parameters
