"""What a model can do, in Ollama's words, as its weights, its chat template and its config say.

The chat template inside the weights counts, as it is the one that renders prompts. Pure.
"""

import re
from collections.abc import Iterator, Sequence

from modelfiles.gguf import GGUF
from modelfiles.package import Package

_SPLITS_THINKING = re.compile(r"split\(\s*['\"]</think>['\"]")
_TALKS_IN_CHANNELS = ("gptoss", "gpt-oss")
# Values of the parser parameters that switch a parser off
# No parser is named: it is off, or found by the template.
_NO_PARSER = ("", "0", "1", "auto", "false", "none", "off", "true")


def capabilities(package: Package, gguf: GGUF | None, projectors: Sequence[GGUF] = ()) -> tuple[str, ...]:
    """Each capability once. `projectors` are the headers of the package's projectors, if they are known."""
    found = [*package.config.capabilities, *_of_template(package, gguf)]
    if gguf is not None:
        found += _of_weights(gguf)
    for projector in projectors:
        found += _of_projector(projector)
    if package.projectors and not projectors:
        found.append("vision")
    if package.config.model_family in _TALKS_IN_CHANNELS:
        found.append("thinking")
    return tuple(dict.fromkeys(found))


def chat_template(package: Package, gguf: GGUF | None) -> str:
    """The template that `show` shows: the one inside the weights, else that of a template layer."""
    inside = gguf.chat_template if gguf is not None else ""
    return inside or package.template or "{{ .Prompt }}"


def _of_template(package: Package, gguf: GGUF | None) -> Iterator[str]:
    template = gguf.chat_template if gguf is not None else ""
    if "tools" in template or "tool_call" in template or _is_set(package, "tool_call_parser"):
        yield "tools"
    if _thinks(template) or _is_set(package, "reasoning_parser"):
        yield "thinking"


def _thinks(template: str) -> bool:
    if "<think>" in template and "</think>" in template:
        return True
    return "reasoning_content" not in template and bool(_SPLITS_THINKING.search(template))


def _is_set(package: Package, parameter: str) -> bool:
    value = package.parameters.get(parameter)
    return isinstance(value, str) and value.strip().lower() not in _NO_PARSER


def _of_weights(gguf: GGUF) -> Iterator[str]:
    yield "embedding" if gguf.of_architecture("pooling_type") is not None else "completion"
    if gguf.of_architecture("vision.block_count"):
        yield "vision"
    if gguf.of_architecture("audio.block_count"):
        yield "audio"


def _of_projector(projector: GGUF) -> Iterator[str]:
    hears = bool(projector.of_architecture("has_audio_encoder"))
    if projector.of_architecture("has_vision_encoder") or not hears:
        yield "vision"
    if hears:
        yield "audio"
