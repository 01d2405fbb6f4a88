"""Whether a LoRA adapter fits a model: what llama.cpp would refuse at load time is refused here. Pure.

An adapter holds a pair of tensors for each weight W that it changes, `W.lora_a` and `W.lora_b`, whose product
has W's shape. Shapes are in ggml's order: the elements of a row first.
"""

from collections.abc import Mapping

from modelfiles.errors import CreateError
from modelfiles.gguf import GGUF, TensorInfo
from modelfiles.gguf.check import kind_of

_A, _B = ".lora_a", ".lora_b"
# Engines pass these over
_NORMS = "_norm.weight"
# Changed by rows and not by columns, so that its pair lies the other way round
_TOKENS = "token_embd.weight"


def check_adapter(name: str, adapter: GGUF, base: GGUF) -> None:
    """Raise CreateError, naming the file, where it is no LoRA adapter or none for this model."""
    if kind_of(adapter) != "adapter":
        raise CreateError(f"{name} is not an adapter, as its general.type says; a model goes into FROM")
    kind = adapter.metadata.get("adapter.type")
    if kind != "lora":
        raise CreateError(f"{name} is an adapter of type {kind!r:.40}; only 'lora' is supported")
    if adapter.architecture != base.architecture:
        raise CreateError(
            f"{name} is an adapter for models of the architecture {adapter.architecture!r}, "
            f"but the model is {base.architecture!r}"
        )
    weights = {tensor.name: tensor for tensor in base.tensors}
    for weight, (first, second) in _pairs(name, adapter).items():
        if weight not in weights:
            raise CreateError(f"{name} is for another model: this one has no {weight}")
        if not _fits(weights[weight], first, second):
            raise CreateError(
                f"{name} does not fit the model: {weight} has the shape {weights[weight].shape}, "
                f"the adapter's tensors have {first.shape} and {second.shape}"
            )


def _pairs(name: str, adapter: GGUF) -> Mapping[str, tuple[TensorInfo, TensorInfo]]:
    tensors = {tensor.name: tensor for tensor in adapter.tensors}
    pairs: dict[str, tuple[TensorInfo, TensorInfo]] = {}
    for tensor in adapter.tensors:
        if tensor.name.endswith(_NORMS):
            continue
        weight = tensor.name.removesuffix(_A).removesuffix(_B)
        if weight == tensor.name:
            raise CreateError(f"{name} holds {tensor.name}, which is no part of a LoRA adapter")
        if weight + _A not in tensors or weight + _B not in tensors:
            raise CreateError(f"{name} holds only one of the two tensors for {weight}")
        pairs[weight] = (tensors[weight + _A], tensors[weight + _B])
    if not pairs:
        raise CreateError(f"{name} holds no tensors")
    return pairs


def _fits(weight: TensorInfo, first: TensorInfo, second: TensorInfo) -> bool:
    shape, a, b = (_two(tensor.shape) for tensor in (weight, first, second))
    if weight.name == _TOKENS:
        return shape == (b[1], a[1])
    return shape == (a[0], b[1]) and a[1] == b[0]


def _two(shape: tuple[int, ...]) -> tuple[int, int]:
    return (*shape, 1, 1)[0], (*shape, 1, 1)[1]
