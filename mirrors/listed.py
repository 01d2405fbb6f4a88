"""What is known about public sites, with the day on which it was looked up. Data only.

Mirrors listed here are examples: none is used before a user names it in a setting, because such sites come
and go, and because whoever serves a model learns who fetches it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CHECKED_ON = "2026-08-21"

REGISTRY = "registry.ollama.ai"
HUGGING_FACE = "huggingface.co"
MODELSCOPE = "modelscope.cn"

# Two names of one site: a login that one asks for may be fetched from the other
SAME_SITE: Mapping[str, str] = MappingProxyType(
    {"hf.co": HUGGING_FACE, "ollama.com": REGISTRY, "www.modelscope.cn": MODELSCOPE}
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A mirror that others run: what it stands in for, its address, and what its users should know."""

    source: str
    url: str
    note: str


LISTED = (
    Listed(
        REGISTRY,
        "https://ollama.m.daocloud.io",
        "experimental; fetches what it lacks when asked, and prefers use by night (01-07 Beijing time)",
    ),
    Listed(
        HUGGING_FACE,
        "https://hf-mirror.com",
        "no login; from outside China it sends clients on to the original",
    ),
)

# Small models with which a mirror can be tried
PROBED: Mapping[str, str] = MappingProxyType(
    {
        REGISTRY: "all-minilm:22m",
        HUGGING_FACE: "Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M",
        MODELSCOPE: "Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M",
    }
)
