"""The layers around handlers, over real HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from modelfiles.errors import ModelNotFound
from shim import middleware
from shim.origins import Hosts, Origins

Client = TestClient[web.Request, web.Application]


async def greet(request: web.Request) -> web.Response:
    return web.Response(text=await request.text() or "hello")


async def stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"x")
    return response


async def missing(request: web.Request) -> web.Response:
    raise ModelNotFound("nobody")


async def broken(request: web.Request) -> web.Response:
    raise KeyError("secret detail")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    origins = Origins([])
    app = web.Application(
        client_max_size=100,
        middlewares=[
            middleware.request_log(True),
            middleware.cors(origins),
            middleware.host_check(Hosts("workbench", [])),
            middleware.errors_as_answers,
            middleware.api_keys(["k1", "k2"]),
        ],
    )
    app.on_response_prepare.append(middleware.cors_headers(origins))
    app.router.add_route("GET", "/", greet)
    app.router.add_route("GET", "/a", greet)
    app.router.add_route("POST", "/a", greet)
    app.router.add_route("GET", "/b/", greet)
    app.router.add_route("POST", "/of/{name}", greet)
    for path, handler in {"/stream": stream, "/missing": missing, "/broken": broken}.items():
        app.router.add_route("GET", path, handler)
    async with TestClient(TestServer(app), headers={"Authorization": "Bearer k2"}) as made:
        yield made


async def test_unknown_paths_and_methods_speak_like_gin(client: Client) -> None:
    answer = await client.get("/nothing")
    assert (answer.status, await answer.text()) == (404, "404 page not found")
    assert answer.headers["Content-Type"] == "text/plain"
    answer = await client.delete("/a")
    assert (answer.status, await answer.text()) == (405, "405 method not allowed")
    assert answer.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("method", "path", "status", "location"),
    [
        ("GET", "/a/", 301, "/a"),
        ("GET", "/a/?x=1", 301, "/a?x=1"),
        ("POST", "/a/", 307, "/a"),
        ("GET", "/b", 301, "/b/"),
        ("POST", "/b", 404, None),
        ("GET", "/c/", 404, None),
        ("POST", "/of/x%2Fy/", 307, "/of/x%2Fy"),
        ("GET", "/of/x/", 404, None),
    ],
)
async def test_a_slash_too_many_redirects(
    client: Client, method: str, path: str, status: int, location: str | None
) -> None:
    answer = await client.request(method, path, allow_redirects=False)
    assert (answer.status, answer.headers.get("Location")) == (status, location)


@pytest.mark.parametrize("target", [b"//a/", b"//evil.com/..", b"/%2fevil.com/", b"http://evil.com/a/"])
async def test_nobody_is_redirected_to_another_server(client: Client, target: bytes) -> None:
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    head = answer.partition(b"\r\n\r\n")[0]
    assert b"evil" not in head
    assert b"Location: //" not in head


async def test_errors_are_objects_with_their_status(client: Client) -> None:
    answer = await client.get("/missing")
    assert answer.status == 404
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert await answer.read() == b'{"error":"model \'nobody\' not found"}'


async def test_our_mistakes_go_to_the_log_and_not_to_the_client(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await client.get("/broken")
    assert (answer.status, await answer.json()) == (500, {"error": "internal error, see the server's log"})
    assert "secret detail" in caplog.text


async def test_a_body_beyond_the_limit_is_413_in_our_form(client: Client) -> None:
    answer = await client.post("/a", data=b"x" * 101)
    assert (answer.status, await answer.json()) == (413, {"error": "http: request body too large"})


async def test_foreign_origins_are_refused_even_at_unknown_paths(client: Client) -> None:
    for path in ("/a", "/nothing"):
        answer = await client.get(path, headers={"Origin": "http://evil.com"})
        assert (answer.status, await answer.read()) == (403, b"")


async def test_allowed_origins_are_named_on_answers_errors_and_streams(client: Client) -> None:
    for path in ("/a", "/stream", "/missing", "/nothing"):
        answer = await client.get(path, headers={"Origin": "http://localhost:5173"})
        assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:5173"
        assert answer.headers["Vary"] == "Origin"


async def test_preflights_need_no_key(client: Client) -> None:
    headers = {"Origin": "app://obsidian.md", "Authorization": ""}
    answer = await client.options("/nothing", headers=headers)
    assert (answer.status, await answer.read()) == (204, b"")
    assert answer.headers["Access-Control-Max-Age"] == "43200"


async def test_rebound_names_are_refused(client: Client) -> None:
    answer = await client.get("/a", headers={"Host": "evil.com"})
    assert (answer.status, await answer.read()) == (403, b"")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer k1"}, 200),
        ({"Authorization": "bearer  k2"}, 200),
        ({"Authorization": "", "X-Api-Key": "k1"}, 200),
        ({"Authorization": "Bearer k3"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Basic k1"}, 401),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer ü"}, 401),
    ],
)
async def test_api_keys(client: Client, headers: dict[str, str], status: int) -> None:
    assert (await client.get("/a", headers=headers)).status == status


async def test_the_root_needs_no_key(client: Client) -> None:
    assert (await client.get("/", headers={"Authorization": ""})).status == 200


async def test_every_request_is_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "shim.http")
    await client.get("/a")
    assert 'GET "/a" 200' in caplog.text
