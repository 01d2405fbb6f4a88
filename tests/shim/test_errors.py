"""The statuses and texts that clients match on, and Go's way of quoting."""

from __future__ import annotations

import errno

import pytest

from modelfiles import errors as files
from runtime import errors as running
from shim import errors


def test_busy_has_two_blanks_after_the_full_stop() -> None:
    error = errors.busy()
    assert (error.status, error.message) == (
        503,
        "server busy, please try again.  maximum pending requests exceeded",
    )


def test_model_not_found_repeats_the_requested_string() -> None:
    error = errors.model_not_found("Foo")
    assert (error.status, str(error)) == (404, "model 'Foo' not found")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("tab\there", '"tab\\there"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("中 é", '"中 é"'),
        ("\u200b\u2028", '"\\u200b\\u2028"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_go_quoted(text: str, quoted: str) -> None:
    assert errors.go_quoted(text) == quoted


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (errors.busy(), 503, "server busy, please try again.  maximum pending requests exceeded"),
        (files.InvalidName("x"), 400, "invalid model name"),
        (files.ModelNotFound("m"), 404, "model 'm' not found"),
        (files.BadGGUF("cut short"), 400, "cut short"),
        (files.StoreError("file changed"), 500, "file changed"),
        (files.TemplateRefused("roles must alternate"), 400, "roles must alternate"),
        (files.TemplateError("line 1: no"), 500, "line 1: no"),
        (files.DigestMismatch("a", "b"), 400, 'digest mismatch, expected "a", got "b"'),
        (running.QueueFull(), 503, "server busy, please try again.  maximum pending requests exceeded"),
        (running.GenerationFailed("too_long", "too long"), 400, "too long"),
        (running.GenerationFailed("engine", "decode failed"), 500,
         "an error was encountered while running the model: decode failed"),
        (running.WorkerDied("worker was killed", signal="SIGKILL", last_lines=["one", "error: two"],
                            detail="error: two"), 500,
         "an error was encountered while running the model: worker was killed: error: two"),
        (running.LoadFailed("bad_model", "no tensors", last_lines=["something"]), 500, "no tensors"),
        (running.LoadFailed("stalled", "no progress for 300 s"), 500,
         "timed out waiting for the model to load - no progress for 300 s"),
        (running.InsufficientMemory("8 GiB needed, 2 GiB free", required_bytes=8, available_bytes=2), 500,
         "model requires more system memory: 8 GiB needed, 2 GiB free"),
        (OSError(errno.ENOSPC, "x", "/s/blob"), 500,
         "no space left on device: free some room in the model store and try again"),
        (PermissionError(errno.EACCES, "x", "/s/blob"), 500, "/s/blob: permission denied"),
    ],
)  # fmt: skip
def test_errors_of_the_packages_below(error: Exception, status: int, text: str) -> None:
    found = errors.as_api_error(error)
    assert found is not None
    assert (found.status, found.message) == (status, text)


def test_our_own_mistakes_have_no_text_for_clients() -> None:
    assert errors.as_api_error(KeyError("x")) is None
