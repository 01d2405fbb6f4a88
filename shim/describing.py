"""Serves the OpenAPI description of all endpoints at `/openapi.json`, encoded once."""

from __future__ import annotations

from aiohttp import web

from shim.anthropic import described as anthropic
from shim.framing import encoded_answer
from shim.gojson import encode
from shim.ollama.described import OPERATIONS
from shim.openai import described as openai
from shim.openapi import Operation, answer_with, describe
from shim.reranking import PATHS, RERANK
from shim.versions import API_VERSION

PATH = "/openapi.json"
_PAIR = {"model": "mymoe", "query": "a question", "documents": ["one text", "another"]}


def operations() -> tuple[Operation, ...]:
    """Every endpoint of every dialect."""
    ranked = answer_with("results", "usage")
    ranking = [
        Operation("POST", path, "How well texts answer a question", RERANK, ranked, examples=(_PAIR,))
        for path in PATHS
    ]
    described = (*OPERATIONS, *openai.OPERATIONS, *anthropic.OPERATIONS, *ranking)
    return (*described, Operation("GET", PATH, "This description"))


def routes() -> list[web.RouteDef]:
    """The route as data."""
    document = encode(describe(operations(), API_VERSION))

    async def description(request: web.Request) -> web.Response:
        return encoded_answer(document)

    return [web.get(PATH, description, allow_head=False)]
