"""What pulls are built with: credentials, tokens, the agent's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrors.errors import BadSetting
from shim.fetching import credential_in, user_agent
from shim.mirror_places import places_of_mirrors
from shim.settings import read_settings
from shim.transfer_settings import read_transfers
from shim.versions import API_VERSION


def test_registries_are_told_which_ollama_we_are_like() -> None:
    assert user_agent().startswith(f"ollama/{API_VERSION} (")
    assert " shim/" in user_agent()


def test_where_a_mirrors_token_is(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of a file\nand no more\n")
    credential = credential_in({"TOKEN": " of the environment "})
    assert credential("env:TOKEN") == "of the environment"
    assert credential(f"file:{tmp_path}/token") == "of a file"
    for place in ("env:OTHER", f"file:{tmp_path}/nothing"):
        with pytest.raises(BadSetting, match="there is none"):
            credential(place)


def test_variables_of_the_hubs_own_programs(tmp_path: Path) -> None:
    environ = {
        "HF_ENDPOINT": "https://hub.example",
        "HUGGING_FACE_HUB_TOKEN": "older",
        "HF_TOKEN": "newer",
        "HF_HOME": "/h",
        "MODELSCOPE_API_TOKEN": "ms",
        "https_proxy": "http://p:1",
        "NO_PROXY": "*",
        "OTHER": "x",
    }
    found = read_transfers(environ, tmp_path)
    assert found.endpoints == {"huggingface": "https://hub.example"}
    assert found.tokens == {"huggingface": "newer", "modelscope": "ms"}
    assert found.proxies == {"https_proxy": "http://p:1", "NO_PROXY": "*"}
    assert found.token_file == Path("/h/token")
    assert found.key == tmp_path / ".ollama" / "id_ed25519"
    assert "newer" not in repr(found)


def test_which_list_of_mirrors_wins(tmp_path: Path) -> None:
    environ = {"SHIM_MIRRORS": "https://a.example", "OLLAMA_REGISTRIES": "https://b.example"}
    places = places_of_mirrors(read_settings(environ, tmp_path))
    assert [value for _, value in places.variables] == ["https://a.example", "https://b.example"]
