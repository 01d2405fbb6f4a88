"""The web application: every dialect's routes, and what surrounds them.

One concern a line; the order of the middlewares is theirs to explain (`shim.middleware`).
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable

import psutil
from aiohttp import web
from aiohttp.typedefs import Middleware

from mirrors import serve
from shim import describing, envelopes, middleware, reranking
from shim.anthropic import routes as anthropic
from shim.ollama import routes as ollama
from shim.openai import routes as openai
from shim.origins import Hosts, Origins
from shim.services import Services
from shim.settings import Settings
from shim.shelf import StoreShelf
from shim.versions import own_version

HEAD_BYTES = 1 << 20  # of a request's line and of each header, as in Go


def build_app(services: Services) -> web.Application:
    """All routes over these services."""
    settings = services.settings
    origins = Origins(settings.origins)
    app = web.Application(
        client_max_size=settings.max_body_bytes, middlewares=list(_middlewares(settings, origins))
    )
    app.on_response_prepare.append(middleware.cors_headers(origins))
    app.on_response_prepare.append(_name_the_server(f"shim/{own_version()}"))
    app.add_routes([*ollama.routes(services), *describing.routes()])
    app.add_routes(openai.routes(services))
    app.add_routes(anthropic.routes(services))
    app.add_routes(reranking.routes(services.rerank, services.threads))
    if settings.serve_store:
        app.add_routes(serve.routes(StoreShelf(services.store)))
    return app


def _middlewares(settings: Settings, origins: Origins) -> Iterable[Middleware]:
    yield middleware.request_log(settings.log_requests)
    yield middleware.cors(origins)
    if settings.host.is_loopback:
        yield middleware.host_check(Hosts(socket.gethostname(), _interface_addresses()))
    yield middleware.errors_as_answers
    yield envelopes.in_their_dialect
    if settings.api_keys:
        yield middleware.api_keys(settings.api_keys)


def _interface_addresses() -> Iterable[str]:
    for addresses in psutil.net_if_addrs().values():
        yield from (str(address.address) for address in addresses)


def _name_the_server(name: str) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    async def add(request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Server"] = name

    return add
