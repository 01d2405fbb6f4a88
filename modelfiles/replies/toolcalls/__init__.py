"""The styles in which models write tool calls, one shape a file. A new one touches its file and this list."""

from collections.abc import Mapping

from modelfiles.replies.blocks import Style
from modelfiles.replies.toolcalls import (
    attributes,
    bare_json,
    braces,
    functionary,
    glimmer,
    hermes,
    key_values,
    kimi_k3,
    minimax_m3,
    mistral,
    named_json,
    openai,
    pythonic,
    qwen3_coder,
    tagged_json,
)

STYLES: Mapping[str, Style] = {
    style.name: style
    for style in (
        hermes.STYLE,
        *qwen3_coder.STYLES,
        *tagged_json.STYLES,
        *bare_json.STYLES,
        *named_json.STYLES,
        mistral.STYLE,
        *pythonic.STYLES,
        *key_values.STYLES,
        *attributes.STYLES,
        *braces.STYLES,
        *functionary.STYLES,
        kimi_k3.STYLE,
        minimax_m3.STYLE,
        glimmer.STYLE,
        openai.STYLE,
    )
}

# Other names of the same styles: those of other servers, and of model families.
ALIASES: Mapping[str, str] = {
    alias: name
    for name, aliases in {
        "hermes": "qwen qwen2.5 qwen25 qwen3 qwen3-thinking qwen3-vl-instruct qwen3-vl-thinking smollm3 "
        "trinity",
        "qwen3_coder": "mimo nemotron-3-nano nemotron-3.5-nano nemotron_v3 ornith qwen3.5 qwen3.6 qwen3.8 "
        "qwen3_xml step3p5",
        "internlm": "interns1",
        "deepseek_v3": "deepseekv3 cogito deepseek_r1",
        "deepseek_v31": "deepseekv31 deepseek3 deepseek3.1",
        "deepseek_v32": "deepseekv32",
        "deepseek_v4": "deepseekv4",
        "glm45": "glm",
        "glm47": "glm-4.7 glm-ocr",
        "poolside_v1": "laguna",
        "openai": "gpt-oss gptoss harmony openai_gptoss",
        "llama3_json": "llama3",
        "functionary_v3_1": "functionary",
        "glimmer": "muse",
        "hy_v3": "hunyuan",
        "apertus": "apertus2509",
        "mistral": "ministral",
        "gemma4": "gemma4-no-thinking",
        "lfm2": "lfm2-thinking",
        "olmo3": "olmo3-think",
        "cohere_command4": "cohere",
        "phi4_mini_json": "firefunction",
        "minimax_m2": "minimax-m2",
    }.items()
    for alias in aliases.split()
}
