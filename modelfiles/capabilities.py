"""What a model can do, in Ollama's words, as its weights, its template and its config say.

Of two templates the one counts that renders prompts. Pure.
"""

from collections.abc import Iterator, Sequence

from modelfiles.gguf import GGUF
from modelfiles.package import Package
from modelfiles.replies.builtin import builtin_parser
from modelfiles.templates.languages import (
    BARE,
    Language,
    abilities_of_go,
    abilities_of_jinja,
    parsed,
    winner,
)

_TALKS_IN_CHANNELS = ("gptoss", "gpt-oss")
_CHANNEL_MARKS = ("<|start|>", "<|end|>")
# No parser is named: it is off, or found by the template.
_NO_PARSER = ("", "0", "1", "auto", "false", "none", "off", "true")


def capabilities(
    package: Package,
    gguf: GGUF | None,
    projectors: Sequence[GGUF] = (),
    *,
    go_template: bool | None = None,
) -> tuple[str, ...]:
    """Each capability once. `projectors` are the headers of the package's projectors, if they are known.

    `go_template` as in `template_language`.
    """
    language = template_language(package, gguf, go_template=go_template)
    found = [*package.config.capabilities]
    if language == "jinja":
        found += abilities_of_jinja(jinja_sources(gguf)).capabilities
    found += _of_parameters(package)
    if gguf is not None:
        found += _of_weights(gguf)
    for projector in projectors:
        found += _of_projector(projector)
    if package.projectors and not projectors:
        found.append("vision")
    found += _of_speech(package, language)
    return tuple(dict.fromkeys(found))


def template_language(
    package: Package, gguf: GGUF | None, *, go_template: bool | None = None
) -> Language | None:
    """In which language the template is that counts; `go_template` is what the user prefers."""
    return winner(
        package.template,
        parsed(package.template),
        gguf.chat_template if gguf is not None else "",
        setting=go_template,
        renders_itself=bool(package.config.renderer) or package.config.model_family in _TALKS_IN_CHANNELS,
    )


def chat_template(package: Package, gguf: GGUF | None, *, go_template: bool | None = None) -> str:
    """The template that `show` shows: the one that counts."""
    if gguf is not None and template_language(package, gguf, go_template=go_template) == "jinja":
        return gguf.chat_template
    return package.template or BARE


def parser_of(package: Package, template: str) -> str:
    """The name of Ollama's parser for replies to prompts of `template`; empty for none."""
    in_channels = package.config.model_family in _TALKS_IN_CHANNELS
    implied = in_channels and all(mark in template for mark in _CHANNEL_MARKS)
    return package.config.parser or ("harmony" if implied else "")


def jinja_sources(gguf: GGUF | None) -> str:
    """All chat templates inside the weights as one text, to look things up in."""
    if gguf is None:
        return ""
    for_tools = gguf.metadata.get("tokenizer.chat_template.tool_use")
    return "\n".join((gguf.chat_template, for_tools if isinstance(for_tools, str) else ""))


def _of_parameters(package: Package) -> Iterator[str]:
    if _is_set(package, "tool_call_parser"):
        yield "tools"
    if _is_set(package, "reasoning_parser"):
        yield "thinking"


def _of_speech(package: Package, language: Language | None) -> Iterator[str]:
    """What the TEMPLATE and the names of Ollama's parsers say."""
    go = parsed(package.template)
    if go is not None and language == "go":
        yield from abilities_of_go(go).capabilities
    elif go is not None and "insert" in abilities_of_go(go).capabilities:
        yield "insert"
    parser = builtin_parser(package.config.parser)
    if parser is not None:
        yield from parser.capabilities
    if package.config.model_family in _TALKS_IN_CHANNELS:
        yield "thinking"


def _is_set(package: Package, parameter: str) -> bool:
    value = package.parameters.get(parameter)
    return isinstance(value, str) and value.strip().lower() not in _NO_PARSER


def _of_weights(gguf: GGUF) -> Iterator[str]:
    yield "embedding" if gguf.of_architecture("pooling_type") is not None else "completion"
    if gguf.of_architecture("vision.block_count"):
        yield "vision"
    if gguf.of_architecture("audio.block_count"):
        yield "audio"
    if all(f"tokenizer.ggml.fim_{part}_token_id" in gguf.metadata for part in ("pre", "suf", "mid")):
        yield "insert"


def _of_projector(projector: GGUF) -> Iterator[str]:
    hears = bool(projector.of_architecture("has_audio_encoder"))
    if projector.of_architecture("has_vision_encoder") or not hears:
        yield "vision"
    if hears:
        yield "audio"
