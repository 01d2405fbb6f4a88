"""Where a remote model is: the address in a create request, as Ollama writes it into a config. Pure."""

import posixpath
from urllib.parse import urlsplit, urlunsplit

from modelfiles.errors import CreateError

_PORT = 11434
_OLLAMA = "ollama.com"


def remote_url(text: str) -> str:
    """The full address: scheme, host and port. CreateError for what is none."""
    if text.startswith("/"):
        return f"http://localhost:{_PORT}{posixpath.normpath(text)}"
    if "://" not in text:
        text = f"http://{text}"
    if text == f"http://{_OLLAMA}":
        text = f"https://{_OLLAMA}:443"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "localhost", parts.port
    except ValueError as error:
        raise CreateError("bad remote") from error
    if any(char.isspace() or ord(char) < 0x20 for char in text):
        raise CreateError("bad remote")
    host = f"[{host}]" if ":" in host else host
    path = posixpath.normpath(parts.path) if parts.path else ""
    path = "" if path == "/" else path
    return urlunsplit((parts.scheme, f"{host}:{_PORT if port is None else port}", path, parts.query, ""))
