"""What goes wrong in the server, as a status and a text: the only place that knows HTTP status codes.

ShimError
├── SettingsError     an environment value or flag that cannot be honoured; ends the start of the server
└── ApiError          an answer to one request: status, message, extra fields beside the message

Each dialect words its own body around an ApiError. Texts are those of Ollama, because clients match on them.
Knows nothing of sockets, JSON or dialects.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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


def bad_request(message: str) -> ApiError:
    return ApiError(400, message)


def unauthorized(message: str) -> ApiError:
    return ApiError(401, message)


def forbidden(message: str) -> ApiError:
    return ApiError(403, message)


def not_found(message: str) -> ApiError:
    return ApiError(404, message)


def model_not_found(requested: str) -> ApiError:
    """The text of most endpoints; `requested` is the request's own string."""
    return ApiError(404, f"model '{requested}' not found")


def too_large(message: str) -> ApiError:
    return ApiError(413, message)


def cancelled() -> ApiError:
    """The client went away while its request waited; nobody reads this, the log does."""
    return ApiError(499, "request canceled")


def server_error(message: str) -> ApiError:
    """500: also for options of a wrong type and invalid formats, as in Ollama."""
    return ApiError(500, message)


def busy() -> ApiError:
    return ApiError(503, "server busy, please try again.  maximum pending requests exceeded")


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
