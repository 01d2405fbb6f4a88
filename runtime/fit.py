"""Making a model fit: slots and context that the free memory allows. Pure; all sizes are bytes.

The rules, in this order:

1. The context of a slot is at least 4 tokens and at most what the model was trained for.
2. With an automatic number of slots (0): the most of 4, 2, 1 whose caches together take at most an eighth of
   what is free beside the weights. More slots cost memory and nothing else.
3. If it does not fit all the same, an automatic number of slots falls to 1, then the context shrinks to what
   fits, but not below 2,048 tokens (or what was asked for, if that is less). Each such step is a warning.
4. If even that does not fit, InsufficientMemory.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from runtime.errors import BadOptions, InsufficientMemory
from runtime.memory import CONTEXT_STEP, MIB, Need, estimate
from runtime.options import LoadOptions
from runtime.shape import ModelShape

MIN_CONTEXT = 4
LEAST_USEFUL_CONTEXT = 2048
AUTO_SLOTS = (4, 2)
SHARE_FOR_SLOTS = 8  # their caches may take one part in this many


@dataclass(frozen=True, slots=True)
class Fit:
    """Options as they will be used, what they need, and what had to be changed."""

    options: LoadOptions
    need: Need
    warnings: tuple[str, ...] = ()


def check_experts(shape: ModelShape, options: LoadOptions) -> None:
    """BadOptions for a number of experts that the model cannot use; the engine would abort on it."""
    wanted = options.num_experts_used
    if wanted is None:
        return
    if not shape.n_expert:
        raise BadOptions(
            "num_experts_used cannot be set: the model is dense, it has no experts to choose from"
        )
    if not 1 <= wanted <= shape.n_expert:
        raise BadOptions(
            f"num_experts_used must be from 1 to {shape.n_expert}, the model's experts; got {wanted}"
        )


def clamp_context(shape: ModelShape, num_ctx: int) -> int:
    """Rule 1."""
    most = shape.n_ctx_train or num_ctx
    return max(min(num_ctx, most), MIN_CONTEXT)


def choose_slots(shape: ModelShape, options: LoadOptions, free: int) -> int:
    """Rule 2; the context is that of ``options``."""
    for slots in AUTO_SLOTS:
        need = estimate(shape, replace(options, num_parallel=slots))
        if need.for_slots * SHARE_FOR_SLOTS <= free - need.weights:
            return slots
    return 1


def fits_as_asked(shape: ModelShape, options: LoadOptions, free: int, *, auto_slots: bool = False) -> bool:
    """Whether `fit` would leave the context as it is (the trained limit aside)."""
    slots = 1 if auto_slots else options.num_parallel
    least = replace(options, num_ctx=clamp_context(shape, options.num_ctx), num_parallel=slots)
    return estimate(shape, least).total <= free


def fit(shape: ModelShape, options: LoadOptions, free: int, *, auto_slots: bool = False) -> Fit:
    """The options to load with; ``auto_slots`` ignores their number of slots. InsufficientMemory: rule 4."""
    asked = options.num_ctx
    options = replace(options, num_ctx=clamp_context(shape, asked))
    warnings = _trained_warning(shape, asked)
    if auto_slots:
        options = replace(options, num_parallel=choose_slots(shape, options, free))
        if estimate(shape, options).total > free:
            options = replace(options, num_parallel=1)
    need = estimate(shape, options)
    if need.total <= free:
        return Fit(options, need, warnings)
    smaller = largest_context(shape, options, free)
    if smaller is None:
        raise _insufficient(shape, options, free)
    options = replace(options, num_ctx=smaller)
    text = f"num_ctx {asked} needs {_gib(need.total)}, {_gib(free)} are free: using num_ctx {smaller}"
    return Fit(options, estimate(shape, options), (*warnings, text))


def largest_context(shape: ModelShape, options: LoadOptions, free: int) -> int | None:
    """The largest context below that of ``options`` that fits, None if no useful one does."""
    least = min(options.num_ctx, LEAST_USEFUL_CONTEXT)
    low, high = -(-least // CONTEXT_STEP), options.num_ctx // CONTEXT_STEP
    if least == options.num_ctx or not _fits(shape, options, low * CONTEXT_STEP, free):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(shape, options, middle * CONTEXT_STEP, free):
            low = middle
        else:
            high = middle - 1
    return low * CONTEXT_STEP


def _fits(shape: ModelShape, options: LoadOptions, num_ctx: int, free: int) -> bool:
    return estimate(shape, replace(options, num_ctx=num_ctx)).total <= free


def _trained_warning(shape: ModelShape, asked: int) -> tuple[str, ...]:
    if shape.n_ctx_train and asked > shape.n_ctx_train:
        return (f"num_ctx {asked} exceeds the {shape.n_ctx_train} tokens the model was trained for",)
    return ()


def _insufficient(shape: ModelShape, options: LoadOptions, free: int) -> InsufficientMemory:
    least = replace(options, num_ctx=min(options.num_ctx, LEAST_USEFUL_CONTEXT))
    need = estimate(shape, least)
    text = (
        f"model requires more system memory ({_gib(need.total)}) than is available ({_gib(free)}): "
        f"{_gib(need.weights)} for weights, {_gib(need.total - need.weights)} for a context of "
        f"{least.num_ctx} tokens in {least.num_parallel} slot(s); use a smaller quantisation or num_ctx"
    )
    return InsufficientMemory(text, required_bytes=need.total, available_bytes=free)


def _gib(size: int) -> str:
    return f"{size / MIB:.0f} MiB" if size < 1024 * MIB else f"{size / MIB / 1024:.1f} GiB"
