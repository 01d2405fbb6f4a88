"""The Go template of uploaded weights, found by the chat template that is inside them. Reads headers only."""

from modelfiles.base import Base
from modelfiles.gguf import GGUF, read_gguf
from modelfiles.store import Store
from modelfiles.templates.catalog import Detected, detect

__all__ = ["Detected", "detected_template"]


def detected_template(store: Store, base: Base) -> Detected | None:
    """What is known of the model's chat template, if it is known at all. BlobNotFound and BadGGUF."""
    if not base.headers or not base.headers[0].chat_template:
        return None
    header = base.headers[0]
    eos = _end_token(store, base) if "eos_token" in header.chat_template else ""
    return detect(header.chat_template, eos)


def _end_token(store: Store, base: Base) -> str:
    """What the vocabulary calls its end token; a long vocabulary is read only for this."""
    first = base.weights_of("model").layers[0]
    with store.using_blob(first.digest) as path:
        return _text_of(read_gguf(path, arrays=True))


def _text_of(header: GGUF) -> str:
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    number = header.metadata.get("tokenizer.ggml.eos_token_id")
    if not isinstance(tokens, tuple) or not isinstance(number, int) or not 0 <= number < len(tokens):
        return ""
    return str(tokens[number])
