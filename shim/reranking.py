"""The endpoint for reranking, as llama-server, vLLM, Jina and Cohere offer it: `/v1/rerank` and its aliases.

Requests: `query` and `documents` (texts, or objects with a `text`; `texts` is another name for it), `top_n`,
`return_documents`. Errors have the shape of OpenAI's API. Sources of the format: the public API
descriptions of Jina's and Cohere's rerankers.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from aiohttp import web

from shim.bodies import Field, Struct, decode
from shim.bodykinds import ANY, BOOL, INT, KEEP_ALIVE, STRING, JsonObject
from shim.bridge import Threads
from shim.embedding import EmbedRequest, as_bad_request
from shim.errors import ApiError, bad_request
from shim.framing import json_answer
from shim.rerank import Ranking, RerankService

PATHS = ("/v1/rerank", "/v1/reranking", "/rerank", "/reranking", "/v2/rerank", "/api/rerank")
_MOST_DOCUMENTS = 10_000

RERANK = Struct(
    "RerankRequest",
    [
        Field("model", STRING),
        Field("query", STRING),
        Field("documents", ANY),
        Field("texts", ANY),
        Field("top_n", INT),
        Field("return_documents", BOOL),
        Field("keep_alive", KEEP_ALIVE),
        Field("options", JsonObject(), empty_is_absent=True),
    ],
)

Json = dict[str, object]


def routes(service: RerankService, threads: Threads) -> list[web.RouteDef]:
    """The routes as data."""

    async def rerank(request: web.Request) -> web.Response:
        try:
            # Documents can be many megabytes, which the event loop has no time for.
            body = await threads.run(decode, await request.read(), RERANK)
            asked, query = rerank_request(body), wanted_query(body)
            ranking = await service.rank(asked, query)
        except Exception as error:
            known = as_bad_request(error)
            if known is None:
                raise
            return json_answer(error_body(known), status=known.status)
        return json_answer(answer(body, asked, ranking))

    return [web.post(path, rerank) for path in PATHS]


def rerank_request(body: Mapping[str, object]) -> EmbedRequest:
    """The documents as inputs. ApiError."""
    given = body.get("documents", body.get("texts"))
    if not isinstance(given, list) or not given:
        raise bad_request("documents must be a list of at least one text")
    if len(given) > _MOST_DOCUMENTS:
        raise bad_request(f"at most {_MOST_DOCUMENTS} documents can be ranked at once")
    fields = {name: body[name] for name in ("keep_alive", "options") if name in body}
    documents = tuple(map(_text, given))
    return EmbedRequest(model=str(body.get("model", "")), inputs=documents, **fields)  # type: ignore[arg-type]


def _text(document: object) -> str:
    text = document.get("text") if isinstance(document, dict) else document
    if not isinstance(text, str):
        raise bad_request("every document must be a text, or an object with a text")
    return text


def wanted_query(body: Mapping[str, object]) -> str:
    """What to rank by. ApiError."""
    query = body.get("query")
    if not isinstance(query, str) or not query:
        raise bad_request("query must be a text")
    top_n = body.get("top_n")
    if isinstance(top_n, int) and top_n < 0:
        raise bad_request("top_n must not be negative")
    return query


def answer(body: Mapping[str, object], request: EmbedRequest, ranking: Ranking) -> Json:
    """The best documents first."""
    top_n = body.get("top_n")
    most = top_n if isinstance(top_n, int) and top_n > 0 else len(ranking.results)
    with_text = bool(body.get("return_documents", False))
    results: list[Json] = []
    for ranked in ranking.results[:most]:
        item: Json = {"index": ranked.index, "relevance_score": ranked.score}
        results.append(item | ({"document": {"text": request.inputs[ranked.index]}} if with_text else {}))
    return {
        "id": f"rerank-{secrets.token_hex(12)}",
        "object": "list",
        "model": request.model,
        "usage": {"prompt_tokens": ranking.prompt_tokens, "total_tokens": ranking.prompt_tokens},
        "results": results,
    }


def error_body(error: ApiError) -> Json:
    """The error in OpenAI's shape."""
    kind = "invalid_request_error" if error.status < 500 else "api_error"
    kind = "not_found_error" if error.status == 404 else kind
    return {"error": {"message": error.message, "type": kind, "param": None, "code": None}}
