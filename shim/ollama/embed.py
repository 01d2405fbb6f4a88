"""`/api/embed` and the older `/api/embeddings`: body to inner request, vectors to body."""

from __future__ import annotations

from collections.abc import Mapping

from shim.embedding import EmbedRequest, Vectors
from shim.errors import ApiError, bad_request, go_quoted, model_not_found, not_found
from shim.vectors import encoded, normalised, shortened

Json = dict[str, object]


def embed_request(body: Mapping[str, object]) -> EmbedRequest:
    """The request that a decoded body (`shim.ollama.fields.EMBED`) makes. ApiError."""
    truncate = body.get("truncate", True)
    return _request(body, _inputs(body.get("input")), truncate=bool(truncate))


def legacy_request(body: Mapping[str, object]) -> EmbedRequest:
    """The same for `shim.ollama.fields.EMBEDDINGS`; nothing is cut there."""
    prompt = str(body.get("prompt", ""))
    return _request(body, (prompt,) if prompt else (), truncate=False)


def _request(body: Mapping[str, object], inputs: tuple[str, ...], *, truncate: bool) -> EmbedRequest:
    fields = {name: body[name] for name in ("keep_alive", "options") if name in body}
    return EmbedRequest(
        model=str(body.get("model", "")),
        inputs=inputs,
        truncate=truncate,
        **fields,  # type: ignore[arg-type]  # decoded by type
    )


def _inputs(given: object) -> tuple[str, ...]:
    """Nothing at all is no text; an empty text inside a list is one."""
    if given is None or given == "":
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list) and all(isinstance(text, str) for text in given):
        return tuple(given)
    raise bad_request("invalid input type")


def missing_model() -> ApiError:
    """What `/api/embed` says of an empty name; its older sister says that a model is required."""
    return model_not_found("")


def unknown_model(requested: str) -> ApiError:
    return not_found(f"model {go_quoted(requested)} not found, try pulling it first")


def answer(request: EmbedRequest, dimensions: int, found: Vectors) -> Json:
    """The body: vectors of length 1, with the digits of float32s."""
    told: Json = {
        "model": request.model,
        "embeddings": [encoded(shortened(normalised(vector), dimensions)) for vector in found.vectors],
    }
    if not request.inputs:
        return told
    # Clients take a body without these for damaged, so none of them is ever 0.
    return told | {
        "total_duration": max(found.total_ns, 1),
        "load_duration": max(found.load_ns, 1),
        "prompt_eval_count": max(found.prompt_tokens, 1),
    }


def legacy_answer(found: Vectors) -> Json:
    """The body: the vector as the model made it."""
    return {"embedding": list(found.vectors[0]) if found.vectors else []}
