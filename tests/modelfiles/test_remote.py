"""Addresses of remote models, as Ollama completes them."""

import pytest

from modelfiles.errors import CreateError
from modelfiles.remote import remote_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("/path/../x", "http://localhost:11434/x"),
        ("ollama.com", "https://ollama.com:443"),
        ("example.com", "http://example.com:11434"),
        ("https://example.com", "https://example.com:11434"),
        ("https://example.com:8080/a//b/", "https://example.com:8080/a/b"),
        ("http://[::1]/", "http://[::1]:11434"),
    ],
)
def test_addresses(text: str, url: str) -> None:
    assert remote_url(text) == url


@pytest.mark.parametrize("text", ["http://x:port", "http://[::1", "a b"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(CreateError, match="bad remote"):
        remote_url(text)
