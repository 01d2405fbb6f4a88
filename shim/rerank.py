"""Reranking: how well each of some documents answers a query.

A reranker reads query and document together and says how well they fit; an embedding model compares their
vectors. Knows no dialect.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.events import EngineInfo
from shim.embedding import EmbeddingService, EmbedRequest, Model, context_limit, cut, embed_all
from shim.errors import ApiError, bad_request, not_found
from shim.vectors import cosine, from_bytes, normalised

_TOO_LONG = "the query leaves no room for the documents; shorten it or raise num_ctx"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document's place in the request and its score; higher is better."""

    index: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """All documents, best first."""

    results: tuple[Ranked, ...]
    prompt_tokens: int


class RerankService:
    """Made once; its method may be called at the same time."""

    def __init__(self, embeddings: EmbeddingService) -> None:
        self._embeddings = embeddings

    async def rank(self, request: EmbedRequest, query: str) -> Ranking:
        """The inputs of the request, ordered by how well they answer `query`. ApiError."""
        service = self._embeddings
        unknown = not_found(f"model '{request.model}' not found")
        target = await service.find(request.model, missing=bad_request("model is required"), unknown=unknown)
        if "embedding" not in target.capabilities:
            raise _cannot_rank(request.model)
        admitted = service.admitted(request, target, time.monotonic_ns())
        lease = await service.lease(admitted)
        try:
            limit = context_limit(request, target, lease.info)
            ranks = lease.info.pooling == "rank"
            scores, tokens = await (_by_pairs if ranks else _by_vectors)(lease, query, request.inputs, limit)
        finally:
            lease.release()
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
        return Ranking(tuple(Ranked(at, scores[at]) for at in order), tokens)


def _cannot_rank(model: str) -> ApiError:
    return bad_request(
        f"{model!r} is neither a reranker nor an embedding model; choose one whose GGUF has a pooling type"
    )


async def _by_vectors(
    model: Model, query: str, documents: Sequence[str], limit: int
) -> tuple[list[float], int]:
    """Cosine similarity of the embeddings."""
    found = await embed_all(model, [query, *documents], limit, truncate=True)
    vectors = [normalised(from_bytes(embedded.vector)) for embedded in found]
    tokens = sum(embedded.prompt_tokens for embedded in found)
    return [cosine(vectors[0], vector) for vector in vectors[1:]], tokens


async def _by_pairs(
    model: Model, query: str, documents: Sequence[str], limit: int
) -> tuple[list[float], int]:
    """What the model says of each pair: its first number; where it has several labels, that is "relevant"."""
    asked = await model.tokenize(query, add_special=False)
    scores, tokens = [], 0
    for document in documents:
        pair = await _pair(model, query, document, asked, limit)
        embedded = await model.embed(pair)
        scores.append(from_bytes(embedded.vector)[0])
        tokens += embedded.prompt_tokens
    return scores, tokens


async def _pair(model: Model, query: str, document: str, asked: list[int], limit: int) -> list[int]:
    template = model.info.rerank_template
    if template:
        filled = template.replace("{query}", query).replace("{document}", document)
        tokens = await model.tokenize(filled)
        return cut(tokens, tokens, limit) if len(tokens) > limit else tokens
    text = await model.tokenize(document, add_special=False)
    return pair_tokens(model.info, asked, text, limit)


def pair_tokens(info: EngineInfo, query: list[int], document: list[int], limit: int) -> list[int]:
    """Query and document as BERT's rerankers are trained: [bos] query [eos] [sep] document [eos].

    Each special token only where the vocabulary adds it; the document's end is cut off to fit `limit`.
    """
    begin = [info.bos] if info.add_bos and info.bos >= 0 else []
    end = [info.eos if info.eos >= 0 else info.sep] if info.add_eos else []
    between = end + ([info.sep] if info.add_sep and info.sep >= 0 else [])
    room = limit - len(begin) - len(query) - len(between) - len(end)
    if room <= 0:
        raise bad_request(_TOO_LONG)
    return begin + query + between + document[:room] + end
