"""The socket that a server listens on, opened before anything else, so that a bad address costs no time.

Knows nothing of HTTP.
"""

from __future__ import annotations

import errno
import os
import socket

from shim.addresses import Address
from shim.errors import SettingsError

_BACKLOG = 1024
_EVERYWHERE = ("", "::")


def open_socket(address: Address) -> socket.socket:
    """A listening socket; an empty host is every interface, IPv6 included where there is any.

    SettingsError, with what to do, when the address cannot be had.
    """
    try:
        if address.host in _EVERYWHERE:
            return _open_everywhere(address.port)
        family, host = _resolved(address)
        return _listening(family, host, address.port)
    except OSError as error:
        raise SettingsError(_explained(address, error)) from error


def bound_url(listener: socket.socket) -> str:
    """The address as it was really bound, with the port that the system chose."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _open_everywhere(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        try:
            return _listening(socket.AF_INET6, "::", port)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise
    return _listening(socket.AF_INET, "0.0.0.0", port)


def _resolved(address: Address) -> tuple[int, str]:
    """Family and IP address of a host; a name with several gives an IPv4 one, which every client tries."""
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, target = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, str(target[0])


def _listening(family: int, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Connections of a server that has just ended do not keep the port; one that listens does.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _explained(address: Address, error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if error.errno == errno.EADDRINUSE:
        other = Address(address.scheme, address.host, min(address.port + 1, 65535))
        return (
            f"listen tcp {address.netloc}: bind: address already in use; "
            f"stop what listens there, or choose another port: SHIM_HOST={other.netloc}"
        )
    if error.errno == errno.EACCES:
        return f"listen tcp {address.netloc}: bind: {reason}; ports below 1024 need special rights"
    return f"listen tcp {address.netloc}: {reason}; SHIM_HOST must name an address of this machine"
