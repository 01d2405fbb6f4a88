"""Which addresses are public, and which proxy leads where."""

import pytest

from mirrors.addresses import ProxyRules, is_public, literal, usable_proxy
from mirrors.errors import Refused

PRIVATE = "127.0.0.1 10.1.2.3 192.168.0.1 172.16.0.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1"
PRIVATE_6 = "::1 :: fe80::1 fc00::1 ff02::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::"


@pytest.mark.parametrize("address", [*PRIVATE.split(), *PRIVATE_6.split(), "no address"])
def test_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8"])
def test_public(address: str) -> None:
    assert is_public(address)


def test_numbers_in_disguise_are_no_names() -> None:
    assert literal("2130706433") == literal("0x7f.1") == literal("127.1") == "0.0.0.0"
    assert literal("[::1]") == "::1"
    assert literal("example.org") is None


def test_proxies_and_who_goes_without() -> None:
    rules = ProxyRules.of(
        {
            "HTTPS_PROXY": "proxy:3128",
            "http_proxy": "http://other:80",
            "NO_PROXY": ".a.org, b.org:8443,10.0.0.0/8,[2001:db8::1],192.168.1.1:80",
        }
    )
    direct = ["http://x.a.org", "https://a.org", "https://b.org:8443", "http://10.2.3.4", "http://localhost"]
    direct += ["https://127.0.0.5:1", "http://192.168.1.1", "https://[2001:db8::1]/"]
    assert [url for url in direct if rules.proxy_for(url) is not None] == []
    assert rules.proxy_for("https://b.org") == "http://proxy:3128"
    assert rules.proxy_for("http://aa.org") == "http://other:80"
    assert rules.proxy_for("http://192.168.1.1:81") == "http://other:80"
    assert ProxyRules.of({"ALL_PROXY": "http://p", "NO_PROXY": "*"}).proxy_for("http://c.org") is None


def test_socks_is_said_to_be_missing() -> None:
    with pytest.raises(Refused, match="socks5://host:1 is of a kind") as caught:
        usable_proxy("socks5://user:secret@host:1")
    assert "secret" not in str(caught.value)
