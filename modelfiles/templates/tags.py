"""The tags between which a model thinks: told by its chat template, or by the name of a reasoning parser.

Pure facts about model families. Knows nothing of how replies are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThinkingTags:
    """Both as the model writes them; white space around them is not part of them.

    `also`: other pairs that mean the same. `dropped`: marks around the answer, which are no part of it.
    `turns`: the reply is messages with headers, and the tags are how thinking and the answer usually begin.
    """

    open: str
    close: str
    also: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    turns: bool = False


THINK = ThinkingTags("<think>", "</think>")
_RESPONSE = ThinkingTags("<think>", "</think>", dropped=("<response>", "</response>"))
_ANSWER = ThinkingTags("<think>", "</think>", dropped=("<answer>", "</answer>", "助手："))
_LAGUNA = ThinkingTags("<think>", "</think>", dropped=("</assistant>",))
_GRANITE = ThinkingTags(
    "<think>",
    "</think>",
    also=(
        ("Here is my thought process:", "Here is my response:"),
        ("Here's my thought process:", "Here's my response:"),
    ),
    dropped=("<response>", "</response>"),
)
_APRIEL = ThinkingTags(
    "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]", dropped=("[END FINAL RESPONSE]",)
)
_SOLAR = ThinkingTags(
    "<|think|>", "<|end|>", dropped=("<|begin|>assistant<|content|>", "<|begin|>assistant", "<|end|>")
)
_HORIZON = ThinkingTags(
    "<ifm|think>",
    "</ifm|think>",
    also=(("<ifm|think_fast>", "</ifm|think_fast>"), ("<ifm|think_faster>", "</ifm|think_faster>")),
)
_SEED = ThinkingTags("<seed:think>", "</seed:think>")
_MINIMAX = ThinkingTags("<mm:think>", "</mm:think>")
_HUNYUAN = ThinkingTags("<think:opensource>", "</think:opensource>", also=(("<think>", "</think>"),))
_MISTRAL = ThinkingTags("[THINK]", "[/THINK]")
_COHERE = ThinkingTags(
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    dropped=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
)
_GEMMA = ThinkingTags("<|channel>thought\n", "<channel|>")
_APERTUS = ThinkingTags("<|inner_prefix|>", "<|inner_suffix|>")
_KIMI = ThinkingTags(
    "<|open|>think<|sep|>",
    "<|close|>think<|sep|>",
    dropped=(
        "<|open|>response<|sep|>",
        "<|close|>response<|sep|>",
        "<|close|>message<|sep|>",
        "<|end_of_msg|>",
    ),
)

# Channels: what the model says to itself, and where it turns to the user.
HARMONY = ThinkingTags(
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    turns=True,
)

GLIMMER = ThinkingTags(
    "to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>", turns=True
)

# Those that no other family's template mentions come first; <think> is named by many in passing.
_DETECTED = (
    _SEED, _MINIMAX, _HUNYUAN, _MISTRAL, _COHERE, _GEMMA, _APERTUS, _KIMI, _HORIZON, _SOLAR, _APRIEL, THINK,
)  # fmt: skip
# Where thinking is between <think> tags, and the template writes one of these marks around the answer too,
# but not the last one, in whose family they mean something else.
_AROUND_ANSWERS = (
    (_ANSWER, "</answer>", "\0"),
    (_RESPONSE, "</response>", "minimax"),
    (_LAGUNA, "</assistant>", "\0"),
)

_BY_PARSER: Mapping[ThinkingTags, str] = {
    THINK: "deepseek_r1 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 glm45 glm47 holo2 kimi_k2 mimo "
    "minimax_m2 nemotron_v3 olmo3 qwen3 step3 step3p5 qwen3.5",
    _RESPONSE: "ernie45",
    _GRANITE: "granite",
    _ANSWER: "hunyuan_a13b",
    _LAGUNA: "poolside_v1",
    _APRIEL: "apriel",
    _SOLAR: "solar_open solar_open2",
    _HORIZON: "k2_horizon",
    _SEED: "seed_oss",
    _MINIMAX: "minimax_m3",
    _HUNYUAN: "hy_v3",
    _MISTRAL: "mistral",
    _COHERE: "cohere_command3 cohere_command4",
    _GEMMA: "gemma4",
    _APERTUS: "apertus",
    _KIMI: "kimi_k3",
    HARMONY: "openai_gptoss",
    GLIMMER: "glimmer",
}

REASONING_PARSERS: Mapping[str, ThinkingTags] = {
    name: tags for tags, names in _BY_PARSER.items() for name in names.split()
}


def thinking_tags(source: str) -> ThinkingTags | None:
    """The tags that the chat template `source` knows, or None for a model that does not think in tags."""
    for tags in _DETECTED:
        # In a template a newline is usually written as an escape.
        if tags.open.rstrip() in source and tags.close in source:
            return _with_answer(tags, source) if tags is THINK else tags
    if HARMONY.open in source:
        return HARMONY
    if "to=self<|message|>" in source:
        return GLIMMER
    if "open_tag('think'" in source and "<|end_of_msg|>" in source:
        return _KIMI
    if "'<think{}>'" in source and ":opensource" in source:
        return _HUNYUAN
    # DeepSeek's templates cut past thinking off at the closing tag and never write the opening one.
    splits = f"split('{THINK.close}')" in source or f'split("{THINK.close}")' in source
    return THINK if splits else None


def _with_answer(tags: ThinkingTags, source: str) -> ThinkingTags:
    found = (marked for marked, mark, other in _AROUND_ANSWERS if mark in source and other not in source)
    return next(found, tags)


def opens_thinking(prompt: str, tags: ThinkingTags) -> bool:
    """Whether the model goes on inside its thinking, because the prompt ends with the opening tag."""
    return prompt.rstrip().endswith(tags.open.rstrip())
