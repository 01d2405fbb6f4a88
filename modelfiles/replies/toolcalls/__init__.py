"""The styles in which models write tool calls, one a file. Adding one touches its file and this list."""

from collections.abc import Mapping

from modelfiles.replies.blocks import Style
from modelfiles.replies.toolcalls import hermes, qwen3_coder

STYLES: Mapping[str, Style] = {style.name: style for style in (hermes.STYLE, qwen3_coder.STYLE)}

# Other names of the same styles: those of other servers, and of model families.
ALIASES: Mapping[str, str] = {
    alias: name
    for name, aliases in {
        "hermes": "granite4 qwen qwen2.5 qwen25 qwen3 qwen3-thinking trinity",
        "qwen3_coder": "mimo nemotron-3-nano nemotron_v3 ornith qwen3.5 qwen3.6 qwen3.8 qwen3_xml step3p5",
    }.items()
    for alias in aliases.split()
}
