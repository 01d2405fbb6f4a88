"""Doctor's lines about mirrors and proxies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shim.cli.transfer_checks import check_mirrors, check_proxy, without_password
from shim.settings import Settings, read_settings
from shim.transfer_settings import TransferSettings


def settings(folder: Path, proxies: dict[str, str] | None = None, **variables: str) -> Settings:
    return replace(read_settings(variables, folder), transfers=TransferSettings(proxies=proxies or {}))


def test_mirrors(tmp_path: Path) -> None:
    assert check_mirrors(settings(tmp_path)).found == "none set"
    one = settings(tmp_path, SHIM_MIRRORS="https://a.example")
    assert check_mirrors(one).found == "1 set in SHIM_MIRRORS"
    broken = check_mirrors(settings(tmp_path, SHIM_MIRRORS="[1"))
    assert broken.state == "warning"
    assert "SHIM_MIRRORS, line 1" in broken.found


@pytest.mark.parametrize(
    ("proxies", "state", "found"),
    [
        ({}, "ok", "none"),
        ({"https_proxy": "http://me:secret@p:1"}, "ok", "http://***@p:1 (must"),
        ({"https_proxy": "http://p:1", "no_proxy": "*"}, "ok", "none"),
        ({"https_proxy": "socks5://p:1"}, "warning", "not supported"),
    ],
)
def test_the_proxy(tmp_path: Path, proxies: dict[str, str], state: str, found: str) -> None:
    told = check_proxy(settings(tmp_path, proxies))
    assert told.state == state
    assert found in told.found
    assert "secret" not in told.found


def test_a_proxy_without_a_password_is_shown_as_it_is() -> None:
    assert without_password("http://p:1") == "http://p:1"
