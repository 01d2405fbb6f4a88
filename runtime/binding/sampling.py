"""From SamplingOptions to the C engine's, within what llama.cpp can compute. BadOptions names the option."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from runtime.binding.library import ffi, lib
from runtime.errors import BadOptions
from runtime.options import SamplingOptions

NO_SEED = 0xFFFFFFFF  # llama.cpp takes this one for "random"
MOST_BIASES = 4096
MOST_BREAKERS = 64
MOST_SAMPLERS = 16
LARGEST = 1e6  # of a penalty or factor: more would only make infinities and what is no number

_KINDS: Mapping[str, tuple[int, tuple[str, ...]]] = MappingProxyType(
    {
        "penalties": (lib.SHIM_SAMPLER_PENALTIES, ()),
        "dry": (lib.SHIM_SAMPLER_DRY, ()),
        "top_n_sigma": (lib.SHIM_SAMPLER_TOP_N_SIGMA, ()),
        "top_k": (lib.SHIM_SAMPLER_TOP_K, ()),
        "typ_p": (lib.SHIM_SAMPLER_TYPICAL_P, ("typical_p", "typical", "typ")),
        "top_p": (lib.SHIM_SAMPLER_TOP_P, ("nucleus",)),
        "min_p": (lib.SHIM_SAMPLER_MIN_P, ()),
        "xtc": (lib.SHIM_SAMPLER_XTC, ()),
        "temperature": (lib.SHIM_SAMPLER_TEMPERATURE, ("temp",)),
        "infill": (lib.SHIM_SAMPLER_INFILL, ()),
        "adaptive_p": (lib.SHIM_SAMPLER_ADAPTIVE_P, ()),
    }
)
SAMPLERS: Mapping[str, int] = MappingProxyType(
    {
        spelling: kind
        for name, (kind, others) in _KINDS.items()
        for plain in (name, *others)
        for spelling in (plain, plain.replace("_", "-"), plain.replace("_", ""))
    }
)


class Tokens(Protocol):
    """A vocabulary; see `runtime.binding.vocabulary.Vocabulary`."""

    @property
    def ends(self) -> Sequence[int]:
        """Tokens that end an answer."""
        ...

    @property
    def suppressed(self) -> Sequence[int]:
        """Tokens that the model must never choose."""
        ...

    def tokenize(self, text: str, add_special: bool) -> list[int]:
        """Text to token ids."""
        ...

    def check(self, tokens: list[int]) -> None:
        """BadOptions for an id that is none."""
        ...


class NativeSampling:
    """The fields of a shim_sampling; what they point to lives as long as this object."""

    def __init__(
        self, s: SamplingOptions, vocabulary: Tokens, num_ctx: int, *, constrained: bool = False
    ) -> None:
        self._breakers = _breakers(s.dry_sequence_breakers)
        self._pointers = ffi.new("char *[]", self._breakers or 1)
        biases = find_biases(s, vocabulary, constrained=constrained)
        self._biases = ffi.new("shim_bias[]", biases or 1)
        self.fields: dict[str, Any] = {
            **_plain_fields(s),
            **_rare_fields(s),
            "repeat_last_n": num_ctx if s.repeat_last_n < 0 else min(s.repeat_last_n, num_ctx),
            "dry_penalty_last_n": num_ctx if s.dry_penalty_last_n < 0 else min(s.dry_penalty_last_n, num_ctx),
            "dry_breakers": self._pointers,
            "n_dry_breakers": len(self._breakers),
            "biases": self._biases,
            "n_biases": len(biases),
        }


def _plain_fields(s: SamplingOptions) -> dict[str, Any]:
    seed = s.seed % NO_SEED if s.seed >= 0 else secrets.randbelow(NO_SEED)
    return {
        "seed": seed,
        "top_k": clamp(s.top_k),
        "top_p": s.top_p,
        "min_p": s.min_p,
        "typical_p": s.typical_p,
        "temperature": s.temperature,
        "repeat_penalty": s.repeat_penalty if s.repeat_penalty > 0 else 1.0,
        "presence_penalty": s.presence_penalty,
        "frequency_penalty": s.frequency_penalty,
    }


def _rare_fields(s: SamplingOptions) -> dict[str, Any]:
    if s.mirostat not in (0, 1, 2):
        raise BadOptions("mirostat has to be 0, 1 or 2")
    order = [find_sampler(name) for name in s.samplers]
    if len(order) > MOST_SAMPLERS:
        raise BadOptions(f"samplers: more than {MOST_SAMPLERS}")
    adaptive = s.adaptive_target
    if lib.SHIM_SAMPLER_ADAPTIVE_P in order and adaptive < 0:
        raise BadOptions("the sampler adaptive_p needs adaptive_target, between 0 and 1")
    return {
        "top_n_sigma": _finite(s.top_n_sigma),
        "xtc_probability": s.xtc_probability,
        "xtc_threshold": s.xtc_threshold,
        "dynatemp_range": _finite(s.dynatemp_range),
        "dynatemp_exponent": _finite(s.dynatemp_exponent),
        "dry_multiplier": _finite(s.dry_multiplier),
        "dry_base": _finite(s.dry_base),
        "dry_allowed_length": clamp(s.dry_allowed_length),
        "mirostat": s.mirostat,
        "mirostat_tau": _finite(s.mirostat_tau),
        "mirostat_eta": _finite(s.mirostat_eta),
        "adaptive_target": min(adaptive, 1.0),
        "adaptive_decay": min(max(s.adaptive_decay, 0.0), 0.99),
        "min_keep": max(0, clamp(s.min_keep)),
        "order": order,
        "n_order": len(order),
    }


def find_sampler(name: str) -> int:
    """The number of a sampler, by any of the spellings that llama.cpp takes. BadOptions."""
    kind = SAMPLERS.get(name.lower())
    if kind is None:
        raise BadOptions(f"samplers: {name!r} is none; there are {', '.join(_KINDS)}")
    return kind


def find_biases(s: SamplingOptions, vocabulary: Tokens, *, constrained: bool) -> list[dict[str, float | int]]:
    """What is added to which token's logit.

    A constrained answer may always end where its grammar ends, so ``ignore_eos`` does not hold for it.
    """
    found: dict[int, float] = {}
    for key, bias in s.logit_bias:
        for token in [key] if isinstance(key, int) else vocabulary.tokenize(key, False):
            vocabulary.check([token])
            found[token] = found.get(token, 0.0) + bias
    barred = [*vocabulary.suppressed, *(vocabulary.ends if s.ignore_eos and not constrained else ())]
    found |= dict.fromkeys(barred, -math.inf)
    if len(found) > MOST_BIASES + len(barred):
        raise BadOptions(f"logit_bias: more than {MOST_BIASES} tokens")
    return [{"token": token, "bias": _biased(bias)} for token, bias in found.items()]


def _biased(bias: float) -> float:
    """Nothing above a finite bound: infinities of both signs would meet as what is no number."""
    return -math.inf if bias <= -LARGEST else min(bias, LARGEST)


def _breakers(texts: Sequence[str]) -> list[Any]:
    usable = [text for text in texts if text and "\0" not in text]
    if len(usable) > MOST_BREAKERS:
        raise BadOptions(f"dry_sequence_breakers: more than {MOST_BREAKERS}")
    return [ffi.new("char[]", text.encode("utf-8", "replace")) for text in usable]


def _finite(value: float) -> float:
    return max(-LARGEST, min(value, LARGEST))


def clamp(value: int) -> int:
    """A Python int as C's int32."""
    return max(-(1 << 31), min(value, (1 << 31) - 1))
