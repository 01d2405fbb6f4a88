"""Every spelling of OLLAMA_HOST that is known to be in use."""

from __future__ import annotations

import re

import pytest

from shim.addresses import is_loopback, parse_host
from shim.errors import SettingsError


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":1234", "http://:1234"),
        ("example.com:1234", "http://example.com:1234"),
        ("example.com", "http://example.com:11434"),
        ("localhost:8080", "http://localhost:8080"),
        (":66000", "http://:11434"),
        (":-1", "http://:11434"),
        (":0", "http://:0"),
        ("0.0.0.0:80", "http://0.0.0.0:80"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:1337", "http://[::1]:1337"),
        ("[0:0:0:0:0:0:0:1]:1337", "http://[::1]:1337"),
        ("::", "http://[::]:11434"),
        ("http://1.2.3.4", "http://1.2.3.4:80"),
        ("https://1.2.3.4", "https://1.2.3.4:443"),
        ("https://example.com/ollama", "https://example.com:443/ollama"),
        ("http://127.0.0.1:5000/", "http://127.0.0.1:5000"),
        ("http://[::1]:5000/a/", "http://[::1]:5000/a"),
        ("host/path", "http://host:11434/path"),
        ("ollama.com", "https://ollama.com:443"),
        ('"[::1]:5000"', "http://[::1]:5000"),
        ("' 127.0.0.1:5000 '", "http://127.0.0.1:5000"),
        (" 127.0.0.1:5000 ", "http://127.0.0.1:5000"),
    ],
)
def test_forms(value: str, url: str) -> None:
    assert parse_host(value).url == url


@pytest.mark.parametrize("value", ["127.0.0.1：5000", "ho st:1", "a:b:c", "http://[::g]:1", "<x>", "\x00"])
def test_what_is_no_address_is_quoted_in_the_error(value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{re.escape(repr(value))} is no address"):
        parse_host(value)


def test_a_bad_port_is_warned_about() -> None:
    warnings: list[str] = []
    assert parse_host("localhost:abc", warnings.append).port == 11434
    assert warnings == ["'abc' is no port; using 11434"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("", False),
        ("::", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
