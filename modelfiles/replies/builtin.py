"""The names under which Ollama's own renderers and parsers are known, which a model's config may carry.

Here a renderer's work is done by the chat template inside the weights, which the same publishers wrote; a
parser's by a style of tool calls and by thinking tags. Pure facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from modelfiles.templates.tags import REASONING_PARSERS, THINK, ThinkingTags

_COHERE = REASONING_PARSERS["cohere_command4"]
_GEMMA = REASONING_PARSERS["gemma4"]
_GLIMMER = REASONING_PARSERS["glimmer"]
_HARMONY = REASONING_PARSERS["openai_gptoss"]
_LAGUNA = REASONING_PARSERS["poolside_v1"]
_MISTRAL = REASONING_PARSERS["mistral"]


@dataclass(frozen=True, slots=True)
class BuiltinParser:
    """How replies are read. `style` is the name of one in `modelfiles.replies.toolcalls`; where that has none
    of this family's, and for thinking without `tags`, what the template shows decides.

    `capabilities` is what a model has by naming the parser; `plain`: replies are content and nothing else.
    """

    capabilities: tuple[str, ...]
    style: str = ""
    tags: ThinkingTags | None = None
    plain: bool = False


_TOOLS = ("tools",)
_THINKING = ("thinking",)
_BOTH = ("tools", "thinking")

PARSERS: Mapping[str, BuiltinParser] = {
    "qwen3": BuiltinParser(_TOOLS, "hermes"),
    "qwen3-thinking": BuiltinParser(_BOTH, "hermes", THINK),
    "qwen3-vl-instruct": BuiltinParser(_TOOLS, "hermes"),
    "qwen3-vl-thinking": BuiltinParser(_BOTH, "hermes", THINK),
    "qwen3-coder": BuiltinParser(_TOOLS, "qwen3_coder"),
    "qwen3.5": BuiltinParser(_BOTH, "qwen3_coder", THINK),
    "ornith": BuiltinParser(_BOTH, "qwen3_coder", THINK),
    "nemotron-3-nano": BuiltinParser(_BOTH, "qwen3_coder", THINK),
    "nemotron-3.5-nano": BuiltinParser(_BOTH, "qwen3_coder", THINK),
    "ministral": BuiltinParser(_TOOLS, "mistral", _MISTRAL),
    "passthrough": BuiltinParser((), plain=True),
    "harmony": BuiltinParser(_BOTH, "openai", _HARMONY),
    "cogito": BuiltinParser(_BOTH, "deepseek_v3", THINK),
    "deepseek3": BuiltinParser(_BOTH, "deepseek_v31", THINK),
    "olmo3": BuiltinParser(_TOOLS, "olmo3"),
    "olmo3-think": BuiltinParser(_THINKING, "", THINK),
    "functiongemma": BuiltinParser(_TOOLS, "functiongemma"),
    "glm-4.7": BuiltinParser(_BOTH, "glm47", THINK),
    "glm-ocr": BuiltinParser(_TOOLS, "glm47"),
    "gemma4": BuiltinParser(_BOTH, "gemma4", _GEMMA),
    "gemma4-no-thinking": BuiltinParser(_TOOLS, "gemma4"),
    "lfm2": BuiltinParser(_TOOLS, "lfm2"),
    "lfm2-thinking": BuiltinParser(_BOTH, "lfm2", THINK),
    "laguna": BuiltinParser(_BOTH, "poolside_v1", _LAGUNA),
    "poolside-v1": BuiltinParser(_BOTH, "poolside_v1", _LAGUNA),
    "cohere": BuiltinParser(_BOTH, "cohere_command4", _COHERE),
    "glimmer": BuiltinParser(_BOTH, "glimmer", _GLIMMER),
}

RENDERERS = frozenset((
    "qwen3-coder", "qwen3-vl-instruct", "qwen3-vl-thinking", "qwen3.5", "qwen3.8", "ornith", "cogito",
    "deepseek3.1", "olmo3", "olmo3.1", "olmo3-think", "olmo3-32b-think", "nemotron-3-nano",
    "nemotron-3.5-nano", "gemma4", "gemma4-small", "gemma4-large", "functiongemma", "glm-4.7", "glm-ocr",
    "lfm2", "lfm2-thinking", "laguna", "poolside-v1", "cohere", "glimmer",
))  # fmt: skip


def builtin_parser(name: str) -> BuiltinParser | None:
    """The parser of that name, in any spelling; None for an unknown one, which Ollama ignores."""
    plain = _plain(name)
    return next((parser for known, parser in PARSERS.items() if _plain(known) == plain), None)


def is_renderer(name: str) -> bool:
    return _plain(name) in map(_plain, RENDERERS)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(".", "_")
