"""Errors in the shape of each dialect."""

from __future__ import annotations

import pytest

from shim.envelopes import anthropic_error, openai_error
from shim.errors import ApiError, ContextExceeded


@pytest.mark.parametrize(
    ("status", "openai", "anthropic"),
    [
        (400, "invalid_request_error", "invalid_request_error"),
        (401, "authentication_error", "authentication_error"),
        (404, "not_found_error", "not_found_error"),
        (500, "api_error", "api_error"),
        (503, "api_error", "overloaded_error"),
    ],
)
def test_types_follow_the_status(status: int, openai: str, anthropic: str) -> None:
    error = ApiError(status, "what is wrong")
    expected = {"message": "what is wrong", "type": openai, "param": None, "code": None}
    assert openai_error(error) == {"error": expected}
    told = anthropic_error(error)
    assert told["type"] == "error"
    assert told["error"] == {"type": anthropic, "message": "what is wrong"}


def test_each_has_its_own_way_to_say_that_a_prompt_is_too_long() -> None:
    error = ContextExceeded("the prompt has 5 tokens, the context holds 4", 5, 4)
    assert anthropic_error(error)["error"] == {
        "type": "invalid_request_error",
        "message": "prompt is too long: 5 tokens > 4 maximum",
    }
    told = openai_error(error)["error"]
    assert isinstance(told, dict)
    assert told["code"] == "context_length_exceeded"
