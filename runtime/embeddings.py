"""What an engine makes of a whole text: pooling, sizes, and the order in which texts and pairs become tokens.

Pure, but for reading what llama.cpp says of a loaded model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from runtime.binding.library import ffi, lib

Pooling = Literal["mean", "cls", "last", "rank"]

BATCH_TOKENS = 512  # as many as llama.cpp computes at once anyway
_META_BYTES = 64


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """How a model's embeddings are made. ``width``: numbers in a vector (one per label for "rank").

    ``whole``: a text has to be computed in one batch, because pooling or attention looks at all of it.
    """

    pooling: Pooling
    width: int
    whole: bool

    def config(self) -> dict[str, Any]:
        """The fields of shim_engine_config."""
        return {
            "embed_pooling": getattr(lib, f"LLAMA_POOLING_TYPE_{self.pooling.upper()}"),
            "embed_width": self.width,
            "embed_batch": BATCH_TOKENS,
            "embed_whole": self.whole,
        }


def plan_embeddings(model: Any, architecture: str) -> EmbeddingPlan:
    """As the GGUF says (key ``ARCH.pooling_type``); where it says nothing, the last token of a causal model
    and the mean of any other.
    """
    causal = metadata(model, f"{architecture}.attention.causal") != "false"
    pooling = choose_pooling(metadata(model, f"{architecture}.pooling_type"), causal=causal)
    width = lib.llama_model_n_cls_out(model) if pooling == "rank" else lib.llama_model_n_embd_out(model)
    whole = not causal or pooling != "last"
    return EmbeddingPlan(pooling, max(1, int(width)), whole)


def choose_pooling(key: str, *, causal: bool) -> Pooling:
    """From the text of the GGUF's key (llama.cpp's number), empty where it is absent."""
    known: dict[str, Pooling] = {"1": "mean", "2": "cls", "3": "last", "4": "rank"}
    return known.get(key, "last" if causal else "mean")


def metadata(model: Any, key: str) -> str:
    """A short metadata value as llama.cpp prints it; empty where it is absent."""
    room = ffi.new("char[]", _META_BYTES)
    length = lib.llama_model_meta_val_str(model, key.encode(), room, _META_BYTES)
    return bytes(ffi.string(room)).decode("utf-8", "replace") if length >= 0 else ""


def rerank_template(model: Any) -> str:
    """The text with ``{query}`` and ``{document}`` that a reranker wants its pairs in; empty for none."""
    pointer = lib.llama_model_chat_template(model, b"rerank")
    return "" if pointer == ffi.NULL else bytes(ffi.string(pointer)).decode("utf-8", "replace")
