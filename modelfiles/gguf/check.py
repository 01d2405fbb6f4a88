"""Whether an engine may be given a GGUF: what would make llama.cpp abort is refused, with the reason.

llama.cpp answers many contradictions in a header by aborting the process. These rules hold the values that
it asserts (expert counts, layers, heads, rope scaling) and that tensors lie without gaps. Faults that it
reports as ordinary errors, such as an unknown architecture or a missing tensor, are left to it. Values in,
BadGGUF out.
"""

import re
from typing import Literal

from modelfiles.errors import BadGGUF
from modelfiles.gguf.header import GGUF, ArrayInfo
from modelfiles.gguf.tensors import padded

Kind = Literal["model", "projector", "adapter"]

MAX_EXPERTS = 1024
MAX_LAYERS = 512

_ARCHITECTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_ROPE_SCALINGS = ("none", "linear", "yarn", "longrope")
# Families without any attention, which say that they have no heads
_WITHOUT_HEADS = ("mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7")


def kind_of(gguf: GGUF) -> Kind:
    """What the file is, by its own words: weights of a model, of a projector, or a LoRA adapter."""
    general_type = gguf.metadata.get("general.type")
    if general_type == "adapter":
        return "adapter"
    encoders = ("has_vision_encoder", "has_audio_encoder")
    if (
        general_type in ("projector", "mmproj")
        or (gguf.count("block_count") == 0 and gguf.count("vision.block_count") > 0)
        or (gguf.architecture == "clip" and any(gguf.of_architecture(key) for key in encoders))
    ):
        return "projector"
    return "model"


def split_count(gguf: GGUF) -> int:
    """In how many files the model was split; 1 for a whole one."""
    value = gguf.metadata.get("split.count")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 1 else 1


def check_usable(gguf: GGUF) -> None:
    """Raise BadGGUF where the file, whole and well-formed as it is, cannot be run."""
    if not _ARCHITECTURE.fullmatch(gguf.architecture):
        raise BadGGUF("the file does not say its general.architecture, so no engine can run it")
    if not gguf.tensors:
        raise BadGGUF("the file has no tensors: it holds only a vocabulary or a header, not a model")
    _check_no_gaps(gguf)
    if kind_of(gguf) != "model":
        return
    _check_layers(gguf)
    _check_heads(gguf)
    _check_experts(gguf)
    _check_groups(gguf)
    scaling = gguf.of_architecture("rope.scaling.type")
    if scaling is not None and scaling not in _ROPE_SCALINGS:
        raise _bad(gguf, "rope.scaling.type", f"is not one of {', '.join(_ROPE_SCALINGS)}")


def largest(value: object) -> int:
    """The number itself, or the largest of an array with one for each layer; 0 where there is none."""
    if isinstance(value, tuple):
        return max((item for item in value if isinstance(item, int)), default=0)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _bad(gguf: GGUF, key: str, fault: str) -> BadGGUF:
    value = gguf.of_architecture(key)
    if value is None:
        return BadGGUF(f"{gguf.architecture}.{key} is missing")
    return BadGGUF(f"{gguf.architecture}.{key} {fault}; the file says {value!r:.80}")


def _check_no_gaps(gguf: GGUF) -> None:
    expected = 0
    for tensor in gguf.tensors:
        if tensor.offset != expected:
            raise BadGGUF(
                f"tensor {tensor.name!r} starts at {tensor.offset} of the data, but the tensor before it "
                f"ends at {expected}; engines accept no gaps and no other order"
            )
        expected += padded(tensor.nbytes, gguf.alignment)


def _check_layers(gguf: GGUF) -> None:
    for key in ("block_count", "context_length", "embedding_length"):
        if gguf.count(key) <= 0:
            raise _bad(gguf, key, "must be at least 1")
    layers = gguf.count("block_count")
    if layers > MAX_LAYERS:
        raise _bad(gguf, "block_count", f"must be at most {MAX_LAYERS}")
    if not 0 <= gguf.count("nextn_predict_layers") <= layers:
        raise _bad(gguf, "nextn_predict_layers", f"must be at most block_count, {layers}")


def _check_heads(gguf: GGUF) -> None:
    if gguf.architecture in _WITHOUT_HEADS:
        return
    for key in ("attention.head_count", "attention.head_count_kv"):
        value = gguf.of_architecture(key)
        if value is not None and not isinstance(value, ArrayInfo) and largest(value) <= 0:
            raise _bad(gguf, key, "must be at least 1")


def _check_experts(gguf: GGUF) -> None:
    experts, used = gguf.count("expert_count"), gguf.of_architecture("expert_used_count")
    if not 0 <= experts <= MAX_EXPERTS:
        raise _bad(gguf, "expert_count", f"must be between 0 and {MAX_EXPERTS}")
    if experts == 0 and largest(used) != 0:
        raise _bad(gguf, "expert_used_count", "must be 0 or absent in a model without experts")
    if experts > 0 and not 1 <= largest(used) <= experts:
        raise _bad(gguf, "expert_used_count", f"must be between 1 and expert_count, {experts}")
    if isinstance(used, tuple) and any(not isinstance(item, int) or item < 0 for item in used):
        raise _bad(gguf, "expert_used_count", "must hold whole numbers from 0 up")


def _check_groups(gguf: GGUF) -> None:
    experts, groups = gguf.count("expert_count"), gguf.count("expert_group_count")
    if groups < 0 or (groups > 0 and groups >= experts) or (groups > 1 and experts % groups):
        raise _bad(gguf, "expert_group_count", f"must be below expert_count, {experts}, and divide it")
    if groups > 1 and not 0 < gguf.count("expert_group_used_count") < groups:
        raise _bad(gguf, "expert_group_used_count", f"must be between 1 and {groups - 1}")
