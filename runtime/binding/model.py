"""A loaded model with its context: LoadOptions in, C handles out, everything freed in the right order.

llama.cpp aborts the process on many bad values, so what reaches it from here is checked first. Numbers that
depend on the file (expert counts) are checked against its header before a worker is started.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.binding.adapters import Adapters, load_adapters
from runtime.binding.devices import buffer_type
from runtime.binding.library import ffi, lib
from runtime.errors import LoadError
from runtime.options import LoadOptions

ROUTED_EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"  # llama.cpp's own name pattern for them
CACHE_TYPES = {
    "f32": "F32", "f16": "F16", "bf16": "BF16", "q8_0": "Q8_0", "q5_0": "Q5_0", "q5_1": "Q5_1",
    "q4_0": "Q4_0", "q4_1": "Q4_1", "iq4_nl": "IQ4_NL",
}  # fmt: skip
PLAIN_CACHE_TYPES = frozenset({"f32", "f16", "bf16"})
MAX_KEY_BYTES = 127  # of llama_model_kv_override
MAX_SLOTS = 256


@dataclass(slots=True)
class LoadedModel:
    """Handles of one model and its context. ``close`` once; order matters to llama.cpp."""

    model: Any
    context: Any
    vocab: Any
    num_ctx: int  # tokens of one slot
    num_parallel: int
    num_batch: int
    adapters: Adapters

    def close(self) -> None:
        """Free the context, then the model."""
        if self.context is not None:
            lib.llama_free(self.context)
            lib.llama_model_free(self.model)
            self.context = self.model = None


def check_options(options: LoadOptions) -> None:
    """LoadError ("unsupported") for values that llama.cpp would abort on or that contradict each other."""
    for name in ("cache_type_k", "cache_type_v"):
        value = getattr(options, name)
        if value not in CACHE_TYPES:
            raise LoadError("unsupported", f"{name} {value!r} is not one of {', '.join(CACHE_TYPES)}")
    if options.cache_type_v not in PLAIN_CACHE_TYPES and options.flash_attention is False:
        raise LoadError(
            "unsupported",
            f"cache_type_v {options.cache_type_v} needs flash attention; leave flash_attention unset or true",
        )
    if not 1 <= options.num_parallel <= MAX_SLOTS:
        raise LoadError("unsupported", f"num_parallel must be between 1 and {MAX_SLOTS}")
    if options.num_experts_used is not None and options.num_experts_used < 1:
        raise LoadError("unsupported", "num_experts_used must be at least 1")
    for pattern in options.tensor_overrides:
        try:
            re.compile(pattern)
        except re.error as problem:
            raise LoadError(
                "unsupported", f"tensor override {pattern!r} is no pattern: {problem}"
            ) from problem


def expert_patterns(options: LoadOptions) -> list[str]:
    """Patterns of the expert tensors that ``cpu_moe`` and ``num_cpu_moe`` keep in main memory."""
    if options.cpu_moe:
        return [ROUTED_EXPERTS]
    return [rf"blk\.{layer}{ROUTED_EXPERTS}" for layer in range(options.num_cpu_moe or 0)]


class _Params:
    """llama_model_params together with everything that its pointers need to stay alive."""

    def __init__(self, options: LoadOptions, architecture: str, on_progress: Callable[[float], bool]) -> None:
        self.handle = ffi.new_handle(on_progress)
        self.keep: list[Any] = []
        self.value = lib.llama_model_default_params()
        self.value.n_gpu_layers = options.num_gpu if options.num_gpu >= 0 else -1
        if options.num_gpu == 0:
            self.value.devices = self._kept(ffi.new("ggml_backend_dev_t[1]"))
        if options.main_gpu is not None:
            self.value.main_gpu = options.main_gpu
        self.value.load_mode = load_mode(options.use_mmap, options.use_mlock)
        self.value.use_extra_bufts = options.extra_buffers is not False
        self.value.check_tensors = options.check_tensors
        self.value.progress_callback = lib.shim_on_progress
        self.value.progress_callback_user_data = self.handle
        self._set_overrides(options, architecture)
        self._set_buffers(options)

    def _kept(self, item: Any) -> Any:
        self.keep.append(item)
        return item

    def _set_overrides(self, options: LoadOptions, architecture: str) -> None:
        values = dict(options.kv_overrides)
        if options.num_experts_used is not None:
            values[f"{architecture}.expert_used_count"] = options.num_experts_used
        if values:
            array = self._kept(ffi.new("struct llama_model_kv_override[]", len(values) + 1))
            for item, (key, value) in zip(array, values.items(), strict=False):
                fill_override(item, key, value)
            self.value.kv_overrides = array  # the last element's empty key ends the list

    def _set_buffers(self, options: LoadOptions) -> None:
        pairs = [(pattern, "CPU") for pattern in expert_patterns(options)]
        pairs += options.tensor_overrides.items()
        most = int(lib.llama_max_tensor_buft_overrides()) - 1
        if len(pairs) > most:
            raise LoadError("unsupported", f"{len(pairs)} tensor overrides; llama.cpp takes at most {most}")
        if pairs:
            array = self._kept(ffi.new("struct llama_model_tensor_buft_override[]", len(pairs) + 1))
            for item, (pattern, name) in zip(array, pairs, strict=False):
                item.pattern = self._kept(ffi.new("char[]", pattern.encode()))
                item.buft = buffer_type(name)
            self.value.tensor_buft_overrides = array


def fill_override(item: Any, key: str, value: int | float | bool | str) -> None:
    """Write one metadata override; LoadError where it does not fit llama.cpp's fixed fields."""
    encoded = key.encode()
    if (
        not encoded
        or len(encoded) > MAX_KEY_BYTES
        or (isinstance(value, str) and len(value.encode()) > MAX_KEY_BYTES)
    ):
        raise LoadError(
            "unsupported", f"metadata override {key!r}: key and text must have 1 to {MAX_KEY_BYTES} bytes"
        )
    item.key = encoded
    if isinstance(value, bool):
        item.tag, item.val_bool = lib.LLAMA_KV_OVERRIDE_TYPE_BOOL, value
    elif isinstance(value, int):
        item.tag, item.val_i64 = lib.LLAMA_KV_OVERRIDE_TYPE_INT, value
    elif isinstance(value, float):
        item.tag, item.val_f64 = lib.LLAMA_KV_OVERRIDE_TYPE_FLOAT, value
    else:
        item.tag, item.val_str = lib.LLAMA_KV_OVERRIDE_TYPE_STR, value.encode()


def load_mode(use_mmap: bool | None, use_mlock: bool) -> int:
    """llama.cpp's load mode: None leaves mapping to what the devices suit."""
    if use_mlock:
        return int(lib.LLAMA_LOAD_MODE_MLOCK if use_mmap is False else lib.LLAMA_LOAD_MODE_MMAP_MLOCK)
    modes = {None: lib.LLAMA_LOAD_MODE_AUTO, True: lib.LLAMA_LOAD_MODE_MMAP, False: lib.LLAMA_LOAD_MODE_NONE}
    return int(modes[use_mmap])


@ffi.def_extern(name="shim_on_progress", error=False)  # type: ignore[untyped-decorator, unused-ignore]
def _on_progress(fraction: float, user_data: Any) -> bool:
    return bool(ffi.from_handle(user_data)(fraction))


def context_params(options: LoadOptions, num_ctx: int, threads: int) -> Any:
    """llama_context_params: one stream of ``num_ctx`` tokens a slot, logits for one token a slot."""
    params = lib.llama_context_default_params()
    params.n_ctx = num_ctx * options.num_parallel
    params.n_seq_max = options.num_parallel
    params.n_batch = max(options.num_batch, options.num_parallel)
    params.n_ubatch = min(max(options.num_ubatch, options.num_parallel), params.n_batch)
    params.n_outputs_max = options.num_parallel
    params.n_threads = params.n_threads_batch = threads
    params.type_k = getattr(lib, f"GGML_TYPE_{CACHE_TYPES[options.cache_type_k]}")
    params.type_v = getattr(lib, f"GGML_TYPE_{CACHE_TYPES[options.cache_type_v]}")
    params.flash_attn_type = {
        None: lib.LLAMA_FLASH_ATTN_TYPE_AUTO,
        True: lib.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        False: lib.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    }[options.flash_attention]
    if options.cache_type_v not in PLAIN_CACHE_TYPES:
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.kv_unified = False
    params.no_perf = True
    return params


def load_model(
    path: str, architecture: str, options: LoadOptions, threads: int, on_progress: Callable[[float], bool]
) -> LoadedModel:
    """Load weights and make the context. ``on_progress`` (0 to 1) returning False aborts.

    Raises LoadError: "unsupported" options, "aborted", "bad_model" (also of an adapter), "out_of_memory".
    """
    check_options(options)
    going_on = True

    def report(fraction: float) -> bool:
        nonlocal going_on
        going_on = going_on and on_progress(fraction)
        return going_on

    params = _Params(options, architecture, report)
    model = lib.llama_model_load_from_file(path.encode(), params.value)
    if model == ffi.NULL:
        if not going_on:
            raise LoadError("aborted", "the load was aborted")
        raise LoadError("bad_model", "llama.cpp could not load the model; its own words are in the log lines")
    return _with_context(model, options, threads)


def _with_context(model: Any, options: LoadOptions, threads: int) -> LoadedModel:
    if not lib.llama_model_has_decoder(model):
        lib.llama_model_free(model)
        raise LoadError("unsupported", "the model has no decoder and cannot generate text")
    try:
        adapters = load_adapters(model, options.adapters)
    except LoadError:
        lib.llama_model_free(model)
        raise
    trained = int(lib.llama_model_n_ctx_train(model))
    num_ctx = min(options.num_ctx, trained) if trained > 0 else options.num_ctx
    params = context_params(options, num_ctx, threads)
    context = lib.llama_init_from_model(model, params)
    if context == ffi.NULL:
        lib.llama_model_free(model)
        raise LoadError(
            "out_of_memory",
            f"no context of {options.num_parallel} x {num_ctx} tokens could be made; most likely memory "
            f"is short: "
            "lower num_ctx, or use cache_type_k and cache_type_v q8_0",
        )
    vocab = lib.llama_model_get_vocab(model)
    return LoadedModel(model, context, vocab, num_ctx, options.num_parallel, params.n_batch, adapters)
