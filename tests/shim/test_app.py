"""The whole application: which rules surround it under which settings."""

from __future__ import annotations

from pathlib import Path

from tests.shim.serving import serving


async def test_on_a_loopback_address_foreign_names_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, OLLAMA_HOST="127.0.0.1") as served:
        for path in ("/", "/api/tags", "/nothing"):
            async with served.client.get(path, headers={"Host": "evil.com"}) as answer:
                assert (answer.status, await answer.read()) == (403, b"")


async def test_on_other_addresses_every_name_will_do(tmp_path: Path) -> None:
    async with serving(tmp_path, OLLAMA_HOST="0.0.0.0") as served:
        answer = await served.client.get("/", headers={"Host": "models.example.com"})
        assert answer.status == 200


async def test_origins_of_the_settings_are_let_in(tmp_path: Path) -> None:
    async with serving(tmp_path, OLLAMA_ORIGINS="https://*.example.com") as served:
        for origin, status in (("https://a.example.com", 200), ("https://example.org", 403)):
            async with served.client.get("/api/version", headers={"Origin": origin}) as answer:
                assert answer.status == status


async def test_preflights_of_every_route_are_answered(tmp_path: Path) -> None:
    async with serving(tmp_path, SHIM_API_KEYS="secret") as served:
        headers = {"Origin": "app://obsidian.md", "Access-Control-Request-Method": "POST"}
        async with served.client.options("/api/chat", headers=headers) as answer:
            assert answer.status == 204
            assert "POST" in answer.headers["Access-Control-Allow-Methods"]


async def test_a_slash_too_many_redirects_and_keeps_the_query(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        async with served.client.get("/api/tags/?a=b", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (301, "/api/tags?a=b")
        async with served.client.post("/api/show/", data=b"{}", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (307, "/api/show")
        async with served.client.get("/api/show") as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
