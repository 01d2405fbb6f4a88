"""Which origins and hosts are let in, and with which headers."""

from __future__ import annotations

import pytest

from shim.origins import Hosts, Origins, Verdict


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost", "https://localhost", "http://localhost:3000", "https://127.0.0.1:8443",
        "http://0.0.0.0:1", "app://obsidian.md", "file://", "tauri://localhost", "vscode-webview://abc",
        "vscode-file://vscode-app", "HTTP://LOCALHOST:3000",
    ],
)  # fmt: skip
def test_local_pages_and_desktop_apps_are_let_in(origin: str) -> None:
    verdict = Origins([]).judge(origin, "127.0.0.1:11434", "GET")
    assert verdict == Verdict((("Access-Control-Allow-Origin", origin), ("Vary", "Origin")))


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "origin", ["http://evil.com", "null", "http://localhost.evil.com", "chrome-extension://x", "localhost"]
)
def test_others_get_an_empty_403(origin: str, method: str) -> None:
    assert Origins([]).judge(origin, "127.0.0.1:11434", method) == Verdict(end_with=403)


@pytest.mark.parametrize("origin", ["", "http://evil.com:1", "https://evil.com:1"])
def test_no_origin_or_our_own_is_no_cross_origin_request(origin: str) -> None:
    assert Origins([]).judge(origin, "evil.com:1", "OPTIONS") == Verdict()


def test_a_preflight_ends_with_204_and_the_listed_headers() -> None:
    verdict = Origins([]).judge("http://localhost:5173", "127.0.0.1:11434", "OPTIONS")
    headers = dict(verdict.headers)
    assert verdict.end_with == 204
    assert headers["Access-Control-Allow-Methods"] == "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS"
    assert headers["Access-Control-Allow-Headers"].startswith("Authorization,Content-Type,User-Agent,Accept,")
    assert headers["Access-Control-Allow-Headers"].endswith(
        ",X-Stainless-Runtime-Version,X-Stainless-Timeout"
    )
    assert headers["Access-Control-Max-Age"] == "43200"
    assert headers["Access-Control-Allow-Origin"] == "http://localhost:5173"
    assert next(value for name, value in verdict.headers if name == "Vary") == "Origin"


def test_a_star_lets_everybody_in_without_vary() -> None:
    verdict = Origins(["*"]).judge("http://evil.com", "127.0.0.1:11434", "GET")
    assert verdict == Verdict((("Access-Control-Allow-Origin", "*"),))


def test_one_wildcard_matches_any_text_in_its_place() -> None:
    origins = Origins(["https://*.example.com", "chrome-extension://*"])
    assert origins.allows("https://a.b.example.com")
    assert origins.allows("chrome-extension://abcdef")
    assert not origins.allows("https://example.com")
    assert not origins.allows("https://.example.com.evil.com")


HOSTS = Hosts("Workbench", ["203.0.113.7", "fe80::1%eth0", "not an address"])


@pytest.mark.parametrize(
    "host",
    [
        "", "localhost", "LOCALHOST:11434", "127.0.0.1:11434", "127.9.9.9", "[::1]:11434", "[::1]",
        "0.0.0.0:1", "192.168.1.4:11434", "10.1.2.3", "172.16.0.1", "[fd00::1]:80", "203.0.113.7:80",
        "[fe80::1]:1", "workbench:11434", "a.localhost", "printer.local", "host.docker.internal:11434",
    ],
)  # fmt: skip
def test_hosts_of_this_machine(host: str) -> None:
    assert HOSTS.judge(host, "GET") == Verdict()


@pytest.mark.parametrize(
    "host", ["evil.com", "evil.com:11434", "8.8.8.8", "[2001:db8::1]:1", "local", "xlocalhost"]
)
def test_other_hosts_get_an_empty_403(host: str) -> None:
    assert HOSTS.judge(host, "OPTIONS") == Verdict(end_with=403)


def test_options_by_name_end_with_204() -> None:
    assert HOSTS.judge("localhost:11434", "OPTIONS") == Verdict(end_with=204)
    assert HOSTS.judge("127.0.0.1:11434", "OPTIONS") == Verdict()
