"""Whether a loaded model can serve a request, or must be loaded again with other options. Pure.

Only options that the caller gave count. A client which leaves num_ctx out never throws out a model that is
up with a larger context, but it is not left with a smaller one either. Two options decide what the model
says, not just how it runs: how many experts are used, and overrides of its metadata. Those always count, or
one tag's experts would answer for another tag of the same weights.
"""

from __future__ import annotations

from runtime.fit import clamp_context
from runtime.options import LoadOptions
from runtime.shape import ModelShape

ALWAYS_COMPARED = ("num_experts_used", "kv_overrides")
AUTOMATIC: dict[str, object] = {"num_gpu": -1, "num_thread": 0, "main_gpu": None, "use_mmap": None}
NEVER_COMPARED = frozenset({"num_parallel"})  # a matter of the server's settings


def differing_options(
    shape: ModelShape,
    loaded: LoadOptions,
    effective: LoadOptions,
    wanted: LoadOptions,
    explicit: frozenset[str],
) -> tuple[str, ...]:
    """Names of the options for whose sake a model must be loaded again; empty if it can serve.

    ``loaded`` are the options it was loaded for, ``effective`` those that memory allowed: both will do, so
    that asking again for a context that was clamped does not load again.
    """
    compared = [name for name in LoadOptions.__struct_fields__ if _counts(name, wanted, explicit)]
    differing = [name for name in compared if not _same(name, shape, loaded, effective, wanted)]
    if "num_ctx" not in explicit and _context_is_short(shape, loaded, effective, wanted):
        differing.append("num_ctx")
    return tuple(differing)


def _context_is_short(
    shape: ModelShape, loaded: LoadOptions, effective: LoadOptions, wanted: LoadOptions
) -> bool:
    """Whether somebody else asked for less than is usual. What memory cut short is not asked for again."""
    usual = clamp_context(shape, wanted.num_ctx)
    return clamp_context(shape, loaded.num_ctx) < usual and effective.num_ctx < usual


def _counts(name: str, wanted: LoadOptions, explicit: frozenset[str]) -> bool:
    if name in ALWAYS_COMPARED:
        return True
    if name not in explicit or name in NEVER_COMPARED:
        return False
    return name not in AUTOMATIC or getattr(wanted, name) != AUTOMATIC[name]


def _same(
    name: str, shape: ModelShape, loaded: LoadOptions, effective: LoadOptions, wanted: LoadOptions
) -> bool:
    if name == "num_ctx":
        asked = clamp_context(shape, wanted.num_ctx)
        return asked in (clamp_context(shape, loaded.num_ctx), effective.num_ctx)
    value: object = getattr(wanted, name)
    return value in (getattr(loaded, name), getattr(effective, name))
