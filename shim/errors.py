"""What goes wrong in the server, as a status and a text: the only place that knows HTTP status codes.

ShimError
├── SettingsError     an environment value or flag that cannot be honoured; ends the start of the server
└── ApiError          an answer to one request: status, message, extra fields beside the message
    └── ContextExceeded   a prompt that is too long

Each dialect words its own body around an ApiError. Texts are those of Ollama, because clients match on them.
Knows nothing of sockets, JSON or dialects.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mirrors import errors as fetching
from modelfiles import errors as files
from runtime import errors as running

_NOTHING: Mapping[str, object] = MappingProxyType({})


class ShimError(Exception):
    """Root of everything this package raises on purpose."""


class SettingsError(ShimError):
    """A setting cannot be honoured; the text names the variable, its value and what is accepted."""


class ApiError(ShimError):
    """One request ends with this status and text; `extra` are further keys of the error object."""

    def __init__(self, status: int, message: str, extra: Mapping[str, object] = _NOTHING) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.extra = extra


class ContextExceeded(ApiError):
    """A prompt of so many tokens does not fit into `limit`; dialects have their own words for it."""

    def __init__(self, message: str, tokens: int, limit: int) -> None:
        super().__init__(400, message)
        self.tokens = tokens
        self.limit = limit


def bad_request(message: str) -> ApiError:
    return ApiError(400, message)


def unauthorized(message: str, extra: Mapping[str, object] = _NOTHING) -> ApiError:
    return ApiError(401, message, extra)


def forbidden(message: str) -> ApiError:
    return ApiError(403, message)


def not_found(message: str) -> ApiError:
    return ApiError(404, message)


def model_not_found(requested: str) -> ApiError:
    """The text of most endpoints; `requested` is the request's own string."""
    return ApiError(404, f"model '{requested}' not found")


def body_too_large() -> ApiError:
    return ApiError(413, "http: request body too large")


def cancelled() -> ApiError:
    """The client went away while its request waited; nobody reads this, the log does."""
    return ApiError(499, "request canceled")


def server_error(message: str) -> ApiError:
    """500: also for options of a wrong type and invalid formats, as in Ollama."""
    return ApiError(500, message)


def not_built(message: str) -> ApiError:
    """501: a part that this version does not have."""
    return ApiError(501, message)


def busy() -> ApiError:
    return ApiError(503, "server busy, please try again.  maximum pending requests exceeded")


def as_api_error(error: BaseException) -> ApiError | None:
    """What an error of the packages below means for a request; None for what is our own mistake."""
    if isinstance(error, ApiError):
        return error
    for kind in type(error).__mro__:
        if kind in _TABLE:
            return _TABLE[kind](error)
    return None


def _generation_failed(error: running.GenerationFailed) -> ApiError:
    if error.kind in ("too_long", "bad_request"):
        return bad_request(error.message)
    if error.kind == "cancelled":
        return cancelled()
    return server_error(f"an error was encountered while running the model: {error.message}")


def _worker_died(error: running.WorkerDied) -> ApiError:
    details = ": ".join(filter(None, (error.reason, error.detail)))
    return server_error(f"an error was encountered while running the model: {details}")


def _load_failed(error: running.LoadError) -> ApiError:
    if error.kind == "stalled":
        return server_error(f"timed out waiting for the model to load - {error.message}")
    return server_error(error.message)


def _insufficient_memory(error: running.InsufficientMemory) -> ApiError:
    """Test suites tell a machine that is too small from a fault by this phrase."""
    phrase = "model requires more system memory"
    return server_error(error.message if phrase in error.message else f"{phrase}: {error.message}")


def _disk(error: OSError) -> ApiError:
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    if error.errno == errno.ENOSPC:
        return server_error(f"{reason}: free some room in the model store and try again")
    return server_error(f"{error.filename}: {reason}" if error.filename else reason)


_TABLE: Mapping[type[BaseException], Callable[[Any], ApiError]] = MappingProxyType(
    {
        files.InvalidName: lambda _: bad_request("invalid model name"),
        files.InvalidDigest: lambda _: bad_request("invalid digest format"),
        files.ModelNotFound: lambda error: model_not_found(error.name),
        files.BlobNotFound: lambda error: not_found(str(error)),
        files.CloudRefused: lambda error: forbidden(str(error)),
        files.TensorTypesRefused: lambda error: bad_request(str(error)),
        files.QuantizeError: lambda error: server_error(str(error)),
        files.StoreError: lambda error: server_error(str(error)),
        files.TemplateRefused: lambda error: bad_request(str(error)),
        files.TemplateError: lambda error: server_error(str(error)),
        files.ModelfilesError: lambda error: bad_request(str(error)),
        fetching.BadReference: lambda error: bad_request(str(error)),
        fetching.MirrorsError: lambda error: server_error(str(error)),
        running.QueueFull: lambda _: busy(),
        running.SupervisorClosed: lambda _: ApiError(503, "the server is shutting down"),
        running.BadOptions: lambda error: bad_request(str(error)),
        running.GenerationFailed: _generation_failed,
        running.WorkerDied: _worker_died,
        running.InsufficientMemory: _insufficient_memory,
        running.LoadError: _load_failed,
        running.RuntimeFailure: lambda error: server_error(str(error)),
        OSError: _disk,
    }
)


def go_quoted(text: str) -> str:
    """`text` in double quotes as Go's %q prints it: `"` and `\\` escaped, invisible characters as escapes."""
    return '"' + "".join(map(_quoted_char, text)) + '"'


_SHORT_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f",
    "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def _quoted_char(char: str) -> str:
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if char == " " or char.isprintable():
        return char
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
