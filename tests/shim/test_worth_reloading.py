"""When the options of a request are a reason to load a model again."""

from __future__ import annotations

import pytest

from shim.generation import worth_reloading
from shim.options import OptionDefaults, merge

DEFAULTS = OptionDefaults()


@pytest.mark.parametrize(
    ("parameters", "request_options", "loaded_context", "compared"),
    [
        ({"num_ctx": 4096}, {}, 8192, False),  # up with more than the model's own wish
        ({"num_ctx": 4096}, {}, 4096, False),
        ({"num_ctx": 4096}, {}, 2048, True),
        ({"num_ctx": 4096}, {}, 0, True),  # not loaded
        ({}, {"num_ctx": 4096}, 8192, True),  # the request says so
        ({"num_ctx": 2048}, {"num_ctx": 4096}, 8192, True),
    ],
)
def test_a_models_own_context_is_no_reason_against_a_larger_one(
    parameters: dict[str, object], request_options: dict[str, object], loaded_context: int, compared: bool
) -> None:
    options = merge(DEFAULTS, parameters, request_options)
    assert ("num_ctx" in worth_reloading(options, loaded_context)) is compared
