"""The HTTP client of the command line: JSON requests, streams of JSON lines, uploads.

The only module here that opens a connection. Built on the standard library, because importing more would be
most of the time that `shim list` takes.
"""

from __future__ import annotations

import http.client
import json
import platform
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol

from shim.addresses import Address, is_loopback
from shim.cli.errors import NoServer, ServerLost, ServerRefused

JSON = Mapping[str, object]

_CONNECT_SECONDS = 10
_UPLOAD_BLOCK_BYTES = 1 << 20
# What connecting to "all interfaces" means for a client.
_LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
_NETWORK_ERRORS = (OSError, http.client.HTTPException)


class Readable(Protocol):
    """What an upload is read from."""

    def read(self, size: int = -1, /) -> bytes: ...


class Client:
    """Speaks to one server; every request has a connection of its own."""

    def __init__(self, address: Address, *, seconds: float | None = None) -> None:
        """With `seconds`, an answer that takes longer is given up: NoServer or ServerLost."""
        self._address = address
        self._seconds = seconds
        self._agent = f"shim ({platform.machine()} {platform.system().lower()})"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, as far as the address tells."""
        return is_loopback(_LOOPBACK.get(self._address.host, self._address.host))

    @property
    def url(self) -> str:
        return self._address.url

    def ping(self) -> None:
        """Raises NoServer if nothing answers."""
        with self._exchange("HEAD", "/"):
            pass

    def get(self, path: str) -> dict[str, object]:
        with self._exchange("GET", path) as response:
            return _object(response.read())

    def post(self, path: str, body: JSON) -> dict[str, object]:
        with self._exchange("POST", path, body) as response:
            return _object(response.read())

    def delete(self, path: str, body: JSON) -> None:
        with self._exchange("DELETE", path, body) as response:
            response.read()

    def exists(self, path: str) -> bool:
        """Whether HEAD finds something there."""
        try:
            with self._exchange("HEAD", path):
                return True
        except ServerRefused as refused:
            if refused.status != 404:
                raise
            return False

    def stream(self, path: str, body: JSON) -> Generator[dict[str, object], None, None]:
        """The items of a stream of JSON lines, as they come. Closing the iterator ends the request.

        Raises ServerRefused for an error item and for an error status.
        """
        with self._exchange("POST", path, body, accept="application/x-ndjson") as response:
            for line in response:
                item = _object(line)
                error = item.get("error")
                if error:
                    raise ServerRefused(200, str(error))
                yield item

    def upload(self, path: str, source: Readable, size_bytes: int) -> None:
        """POST `size_bytes` bytes read from `source`."""
        with self._exchange("POST", path, source, size_bytes=size_bytes) as response:
            response.read()

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        body: JSON | Readable | None = None,
        *,
        size_bytes: int | None = None,
        accept: str = "application/json",
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._connect()
        headers = {"Accept": accept, "User-Agent": self._agent, "Content-Type": "application/json"}
        if size_bytes is not None:
            headers |= {"Content-Type": "application/octet-stream", "Content-Length": str(size_bytes)}
        sent = json.dumps(body, ensure_ascii=False).encode() if isinstance(body, Mapping) else body
        try:
            response = _send(connection, method, self._address.path.rstrip("/") + path, sent, headers)
            if response.status >= 400:
                raise ServerRefused(response.status, _error_text(response))
            yield response
        except _NETWORK_ERRORS as error:
            raise ServerLost(str(error) or type(error).__name__) from error
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        secure = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        host = _LOOPBACK.get(self._address.host, self._address.host)
        connection = kind(
            host, self._address.port, timeout=self._seconds or _CONNECT_SECONDS, blocksize=_UPLOAD_BLOCK_BYTES
        )
        try:
            connection.connect()
        except OSError as error:
            raise NoServer(self.url, error.strerror or str(error)) from error
        connection.sock.settimeout(self._seconds)  # loading a model may take minutes without a byte
        return connection


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | Readable | None,
    headers: Mapping[str, str],
) -> http.client.HTTPResponse:
    # A server that refuses an upload may answer before it has read all of it: that answer counts.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request(method, path, body, headers)
    return connection.getresponse()


def _object(data: bytes) -> dict[str, object]:
    """A JSON object; an empty body is an empty one."""
    try:
        value = json.loads(data) if data.strip() else {}
    except ValueError as error:
        raise ServerRefused(200, f"the server's answer is no JSON: {data[:200]!r}") from error
    if not isinstance(value, dict):
        raise ServerRefused(200, f"the server's answer is no JSON object: {data[:200]!r}")
    return value


def _error_text(response: http.client.HTTPResponse) -> str:
    text = response.read().decode("utf-8", "replace").strip()
    try:
        error = json.loads(text).get("error")
    except (ValueError, AttributeError):
        error = None
    return str(error) if error else text or f"{response.status} {response.reason}"
