"""Challenges of registries and what they are answered."""

import base64
import hashlib

import pytest

from mirrors.errors import BadAnswer, Refused
from mirrors.identity import Identity
from mirrors.registry_auth import Challenge, check_realm, read_challenge, signed_header, token_url

BEARER = 'Bearer realm="https://r.example/v2/token",service="r.example",scope="repository:a/b:pull x"'


def test_read() -> None:
    found = Challenge("https://r.example/v2/token", "r.example", ("repository:a/b:pull", "x"))
    assert read_challenge(BEARER) == found
    assert read_challenge(BEARER.replace('"r.example"', "r.example").replace(",", " , ")) == found


@pytest.mark.parametrize("header", ["", "Basic realm=x", "Bearer", 'Bearer service="x"'])
def test_not_understood(header: str) -> None:
    with pytest.raises(BadAnswer):
        read_challenge(header)


def test_the_token_is_asked_for_as_the_registry_expects() -> None:
    url = token_url(read_challenge(BEARER), 1700000000, bytes(16))
    assert url == (
        "https://r.example/v2/token?nonce=AAAAAAAAAAAAAAAAAAAAAA&scope=repository%3Aa%2Fb%3Apull&scope=x"
        "&service=r.example&ts=1700000000"
    )


def test_what_is_signed() -> None:
    identity = Identity(bytes(range(32)))
    public, signature = signed_header(identity, "https://r.example/t?a=b").split(":")
    empty = base64.b64encode(hashlib.sha256(b"").hexdigest().encode()).decode()
    assert base64.b64decode(signature) == identity.sign(f"GET,https://r.example/t?a=b,{empty}".encode())
    assert public == identity.public_text


@pytest.mark.parametrize(
    ("realm", "asked", "allowed"),
    [
        ("https://r.example/t", "https://r.example/v2/", True),
        ("https://r.example/t", "https://r.example:5000/v2/", False),
        ("https://thief.example/t", "https://r.example/v2/", False),
        ("https://huggingface.co/t", "https://hf.co/v2/", True),
        ("https://ollama.com/t", "https://registry.ollama.ai/v2/", True),
        ("http://r.example/t", "https://r.example/v2/", False),
        ("https://r.example/t", "http://r.example/v2/", True),
    ],
)
def test_where_a_signature_may_go(realm: str, asked: str, allowed: bool) -> None:
    if allowed:
        check_realm(Challenge(realm), asked)
    else:
        with pytest.raises(Refused, match=r"does not match|sent by"):
            check_realm(Challenge(realm), asked)
