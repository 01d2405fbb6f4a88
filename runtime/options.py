"""The two sets of options: what shapes a loaded model, and what shapes one generation.

Plain values that travel to the worker as they are. Where defaults, environment, model parameters and request
meet is not known here.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Constraint(Struct, frozen=True, omit_defaults=True):
    """What an answer has to look like.

    ``source`` is a JSON schema, a GBNF grammar, a regular expression, a JSON array of texts or a Lark
    grammar; kind "json" (any object) needs none. ``after``: the constraint begins behind this text, and what
    comes before it, thinking, is free. Where the prompt does not open the thinking itself, ``opening`` is the
    text that does: an answer that does not begin with it follows the constraint from its first token.
    """

    kind: Literal["json", "json_schema", "grammar", "regex", "choice", "lark"]
    source: str = ""
    after: str = ""
    opening: str = ""


class LoadOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a runner is loaded with; another value means another runner.

    ``num_ctx`` is the context of one slot in tokens, ``num_batch`` and ``num_ubatch`` are in tokens too.
    ``num_gpu`` counts layers (-1: all that fit). ``extra_buffers`` None leaves it to what the canary proved.
    ``tensor_overrides`` maps a pattern over tensor names to "CPU" or a device buffer's name. ``adapters`` are
    paths of LoRA adapters (GGUF), each with what it is scaled by.
    """

    num_ctx: int = 4096
    num_parallel: int = 1
    num_batch: int = 512
    num_ubatch: int = 512
    num_gpu: int = -1
    main_gpu: int | None = None
    num_thread: int = 0
    use_mmap: bool | None = None
    use_mlock: bool = False
    flash_attention: bool | None = None
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    num_experts_used: int | None = None
    num_cpu_moe: int | None = None
    cpu_moe: bool = False
    extra_buffers: bool | None = None
    kv_overrides: dict[str, int | float | bool | str] = {}  # msgspec gives every instance its own copy
    tensor_overrides: dict[str, str] = {}
    check_tensors: bool = False
    adapters: tuple[tuple[str, float], ...] = ()


class SamplingOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the next token is chosen and when to stop; defaults are Ollama's.

    ``num_predict`` below 0 means until the model stops; ``seed`` -1 means a fresh one; ``num_keep`` below 0
    keeps every prompt token when the context is shifted. ``samplers``: names in the order in which they work;
    empty for the usual one. ``logit_bias``: token ids, or texts that mean each of their tokens, and what is
    added to their logits.
    """

    num_keep: int = 4
    seed: int = -1
    num_predict: int = -1
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_last_n: int = 64
    temperature: float = 0.8
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: tuple[str, ...] = ()
    # llama.cpp's own, with its names and meanings
    top_n_sigma: float = -1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    adaptive_target: float = -1.0
    adaptive_decay: float = 0.9
    min_keep: int = 0
    samplers: tuple[str, ...] = ()
    ignore_eos: bool = False
    logit_bias: tuple[tuple[int | str, float], ...] = ()
