"""Sockets as addresses ask for them."""

from __future__ import annotations

import socket

import pytest

from shim.addresses import Address, parse_host
from shim.errors import SettingsError
from shim.listening import bound_url, open_socket


def reachable(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as client:
        return client.connect_ex((host, port)) == 0


@pytest.mark.parametrize("value", ["127.0.0.1:0", "localhost:0", "http://127.0.0.1:0/"])
def test_a_free_port_of_the_ipv4_loopback(value: str) -> None:
    with open_socket(parse_host(value)) as listener:
        port = listener.getsockname()[1]
        assert bound_url(listener) == f"http://127.0.0.1:{port}"
        assert reachable("127.0.0.1", port)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_the_ipv6_loopback_alone() -> None:
    with open_socket(parse_host("[::1]:0")) as listener:
        port = listener.getsockname()[1]
        assert bound_url(listener) == f"http://[::1]:{port}"
        assert reachable("::1", port)
        assert not reachable("127.0.0.1", port)


@pytest.mark.parametrize("value", [":0", "0.0.0.0:0"])
def test_every_interface(value: str) -> None:
    with open_socket(parse_host(value)) as listener:
        assert reachable("127.0.0.1", listener.getsockname()[1])


def test_a_port_in_use_is_one_readable_error() -> None:
    with open_socket(Address(port=0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(
            SettingsError, match=f"^listen tcp 127.0.0.1:{port}: bind: address already in use; stop"
        ):
            open_socket(Address(port=port))


def test_a_port_is_free_again_at_once() -> None:
    with open_socket(Address(port=0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = listener.accept()
            accepted.close()
    with open_socket(Address(port=port)):
        pass


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"listen tcp 203\.0\.113\.1:1234: .*SHIM_HOST"):
        open_socket(Address(host="203.0.113.1", port=1234))
