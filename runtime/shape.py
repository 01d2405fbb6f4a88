"""The dimensions of a model that decide how much memory it needs, taken from its GGUF metadata.

Pure, and distrustful: a value of the wrong kind counts as absent. Keys and their meaning follow llama.cpp's
loader (`<architecture>.` is left out below):

* ``block_count`` includes ``nextn_predict_layers`` blocks at the end, which are not loaded.
* ``attention.head_count_kv`` is one number or one a layer; absent means as many as ``attention.head_count``.
* A layer is recurrent where ``attention.recurrent_layers`` says so; else, with ``full_attention_interval`` n,
  every layer but each n-th; else where it has no KV heads although the model has a recurrent state. In
  falcon-h1 every layer is both.
* Sliding windows are ignored: the cache is allocated in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runtime.recurrent import state_elements

MAX_LAYERS = 4096  # more than any model has; keeps a hostile count from costing time
DEFAULT_INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4}
_BOTH = frozenset({"falcon-h1"})
_LAYER_OF = re.compile(r"blk\.(\d+)\.")
_EXPERT = re.compile(r"\.ffn_(up|down|gate|gate_up)_(ch)?exps\b")
_STATE_BYTES_PER_ELEMENT = 4  # recurrent states are kept in f32


@dataclass(frozen=True, slots=True)
class LayerShape:
    """One decoder layer: elements that one token adds to the K and the V cache, f32 elements of its state."""

    k_elements: int
    v_elements: int
    state_elements: int
    weight_bytes: int = 0
    expert_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What memory estimates need to know of a model. ``n_ctx_train`` and ``n_vocab`` are 0 where unknown."""

    architecture: str
    layers: tuple[LayerShape, ...]
    n_embd: int
    n_head: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int
    n_expert: int
    n_expert_used: int
    n_ff_expert: int
    weight_bytes: int
    weight_types: tuple[str, ...]

    @property
    def n_layer(self) -> int:
        """Decoder layers that are loaded."""
        return len(self.layers)

    @property
    def state_bytes(self) -> int:
        """Recurrent state of one sequence, whatever its length."""
        return sum(layer.state_elements for layer in self.layers) * _STATE_BYTES_PER_ELEMENT

    @property
    def expert_bytes(self) -> int:
        """Weights of all routed experts."""
        return sum(layer.expert_bytes for layer in self.layers)


class _Keys:
    """Metadata below the architecture's prefix, read with distrust."""

    def __init__(self, metadata: Mapping[str, object]) -> None:
        name = metadata.get("general.architecture")
        self.architecture = name if isinstance(name, str) else ""
        self._metadata = metadata

    def get(self, key: str) -> object:
        return self._metadata.get(f"{self.architecture}.{key}")

    def number(self, key: str, default: int = 0) -> int:
        """A count; the largest one of an array."""
        value = self.get(key)
        if isinstance(value, list | tuple):
            counts = [count for count in map(_count, value) if count is not None]
            return max(counts, default=default)
        count = _count(value)
        return default if count is None else count

    def per_layer(self, key: str, n_layer: int, default: int) -> list[int]:
        """A count a layer, from an array or from one number for all."""
        value = self.get(key)
        if isinstance(value, list | tuple):
            counts = [_count(item) or 0 for item in value[:n_layer]]
            return counts + [default] * (n_layer - len(counts))
        return [self.number(key, default)] * n_layer


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int) and 0 <= value < 1 << 40 else None


def shape_of(
    metadata: Mapping[str, object], tensors: Iterable[tuple[str, str, tuple[int, ...], int]] = ()
) -> ModelShape:
    """The shape from metadata and, for the sizes of weights, from (name, type, shape, bytes) of the tensors.

    Tensor shapes are in ggml's order: the elements of a row first.
    """
    keys = _Keys(metadata)
    n_layer = min(max(keys.number("block_count") - keys.number("nextn_predict_layers"), 0), MAX_LAYERS)
    weights = _Weights(n_layer)
    n_vocab = keys.number("vocab_size")
    for name, kind, dimensions, nbytes in tensors:
        weights.add(name, kind, nbytes)
        if name == "token_embd.weight" and len(dimensions) > 1:
            n_vocab = dimensions[1]
    return ModelShape(
        architecture=keys.architecture,
        layers=_layers(keys, n_layer, weights),
        n_embd=keys.number("embedding_length"),
        n_head=keys.number("attention.head_count"),
        n_ff=keys.number("feed_forward_length"),
        n_vocab=n_vocab,
        n_ctx_train=keys.number("context_length"),
        n_expert=keys.number("expert_count"),
        n_expert_used=keys.number("expert_used_count"),
        n_ff_expert=keys.number("expert_feed_forward_length"),
        weight_bytes=weights.total,
        weight_types=tuple(sorted(weights.types)),
    )


class _Weights:
    """Bytes of tensors, sorted by where they belong."""

    def __init__(self, n_layer: int) -> None:
        self.total = 0
        self.types: set[str] = set()
        self.layers = [0] * n_layer
        self.experts = [0] * n_layer

    def add(self, name: str, kind: str, nbytes: int) -> None:
        found = _LAYER_OF.match(name)
        if found and int(found[1]) >= len(self.layers):
            return  # a block for multi-token prediction, which is not loaded
        self.total += nbytes
        self.types.add(kind)
        if found:
            self.layers[int(found[1])] += nbytes
            if _EXPERT.search(name):
                self.experts[int(found[1])] += nbytes


def _layers(keys: _Keys, n_layer: int, weights: _Weights) -> tuple[LayerShape, ...]:
    n_embd = keys.number("embedding_length")
    n_head = keys.number("attention.head_count")
    head = n_embd // n_head if n_head else 0
    k_head = keys.number("attention.key_length", head)
    v_head = keys.number("attention.value_length", head)
    if keys.number("attention.key_length_mla"):
        v_head = 0  # latent attention keeps only the compressed keys, which hold the values too
    kv_heads = keys.per_layer("attention.head_count_kv", n_layer, n_head)
    state = state_elements(keys.number)
    recurrent = _recurrent_layers(keys, n_layer, kv_heads, state)
    with_cache = n_layer - keys.number("attention.shared_kv_layers")  # the last ones may reuse a cache
    layers = []
    for index in range(n_layer):
        cached = index < with_cache and (not recurrent[index] or keys.architecture in _BOTH)
        layers.append(
            LayerShape(
                k_elements=kv_heads[index] * k_head * cached,
                v_elements=kv_heads[index] * v_head * cached,
                state_elements=state * recurrent[index],
                weight_bytes=weights.layers[index],
                expert_bytes=weights.experts[index],
            )
        )
    return tuple(layers)


def _recurrent_layers(keys: _Keys, n_layer: int, kv_heads: list[int], state: int) -> list[bool]:
    if not state:
        return [False] * n_layer
    listed = keys.get("attention.recurrent_layers")
    if isinstance(listed, list | tuple):
        return [bool(value) for value in listed[:n_layer]] + [False] * (n_layer - len(listed))
    interval = keys.number("full_attention_interval", DEFAULT_INTERVAL.get(keys.architecture, 0))
    if interval:
        return [(index + 1) % interval != 0 for index in range(n_layer)]
    if keys.architecture in _BOTH:
        return [True] * n_layer
    feed_forward = keys.per_layer("feed_forward_length", n_layer, 0)
    mixed = isinstance(
        keys.get("feed_forward_length"), list | tuple
    )  # nemotron-h: a layer is one or the other
    return [heads == 0 and not (mixed and width) for heads, width in zip(kv_heads, feed_forward, strict=True)]
