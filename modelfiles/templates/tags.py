"""The tags between which a model thinks: told by its chat template, or by the name of a reasoning parser.

Pure facts about model families. Knows nothing of how replies are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThinkingTags:
    """Both as the model writes them; white space around them is not part of them."""

    open: str
    close: str


THINK = ThinkingTags("<think>", "</think>")
_SEED = ThinkingTags("<seed:think>", "</seed:think>")
_MINIMAX = ThinkingTags("<mm:think>", "</mm:think>")
_HUNYUAN = ThinkingTags("<think:opensource>", "</think:opensource>")
_MISTRAL = ThinkingTags("[THINK]", "[/THINK]")
_COHERE = ThinkingTags("<|START_THINKING|>", "<|END_THINKING|>")
_GEMMA = ThinkingTags("<|channel>thought\n", "<channel|>")
_APERTUS = ThinkingTags("<|inner_prefix|>", "<|inner_suffix|>")
_KIMI = ThinkingTags("<|open|>think<|sep|>", "<|close|>think<|sep|>")

# Channels: what the model says to itself, and where it turns to the user.
_HARMONY = ThinkingTags(
    "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"
)

# Those that no other family's template mentions come first; <think> is named by many in passing.
_DETECTED = (_SEED, _MINIMAX, _HUNYUAN, _MISTRAL, _COHERE, _GEMMA, _APERTUS, THINK)

_BY_PARSER: Mapping[ThinkingTags, str] = {
    THINK: "deepseek_r1 deepseek_v3 deepseek_v4 ernie45 glm45 glm47 granite holo2 hunyuan_a13b kimi_k2 mimo "
    "minimax_m2 nemotron_v3 olmo3 poolside_v1 qwen3 step3 step3p5 qwen3.5",
    _SEED: "seed_oss",
    _MINIMAX: "minimax_m3",
    _HUNYUAN: "hy_v3",
    _MISTRAL: "mistral",
    _COHERE: "cohere_command3 cohere_command4",
    _GEMMA: "gemma4",
    _APERTUS: "apertus",
    _KIMI: "kimi_k3",
    _HARMONY: "openai_gptoss",
}

REASONING_PARSERS: Mapping[str, ThinkingTags] = {
    name: tags for tags, names in _BY_PARSER.items() for name in names.split()
}


def thinking_tags(source: str) -> ThinkingTags | None:
    """The tags that the chat template `source` knows, or None for a model that does not think in tags."""
    for tags in _DETECTED:
        # In a template a newline is usually written as an escape.
        if tags.open.rstrip() in source and tags.close in source:
            return tags
    if _HARMONY.open in source:
        return _HARMONY
    # DeepSeek's templates cut past thinking off at the closing tag and never write the opening one.
    splits = f"split('{THINK.close}')" in source or f'split("{THINK.close}")' in source
    return THINK if splits else None


def opens_thinking(prompt: str, tags: ThinkingTags) -> bool:
    """Whether the model goes on inside its thinking, because the prompt ends with the opening tag."""
    return prompt.rstrip().endswith(tags.open.rstrip())
