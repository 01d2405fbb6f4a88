"""Reads a whole text as one model's reply, as it would have been read while it was written.

For whoever wants to know what becomes of a reply, and why: without any model, prompt or server.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from modelfiles.messages import Tool, ToolCall
from modelfiles.replies.checks import Check, failed_check
from modelfiles.replies.choice import check_parsers, choose_style, choose_tags
from modelfiles.replies.families import tags_of
from modelfiles.replies.pieces import Content, Thinking
from modelfiles.replies.stream import ReplyReader
from modelfiles.templates.tags import ThinkingTags


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something that looks like a call is none; `check` is the one that it failed."""

    check: Check
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply consists of."""

    content: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    failures: tuple[Failure, ...]


def read_reply(
    text: str,
    tools: tuple[Tool, ...],
    parser: str = "auto",
    *,
    reasoning: str = "auto",
    template: str = "",
    chunk: int = 0,
) -> Reading:
    """`parser` and `reasoning` are names, or say that `template` is to tell; `chunk`: characters at once.

    Without a template, a parser's family tells how it thinks, and a closing tag with no opening one before it
    that the prompt had opened the thinking. Raises ParameterError for names that are not known.
    """
    check_parsers({"tool_call_parser": parser, "reasoning_parser": reasoning})
    style = choose_style(parser, template)
    tags = choose_tags(reasoning, template)
    if tags is None and style is not None and reasoning == "auto" and not template:
        tags = tags_of(style.name)
    reader = ReplyReader(tags, style, tools, inside=tags is not None and _begins_inside(text, tags))
    pieces = [piece for part in _parts(text, chunk) for piece in reader.feed(part)] + reader.finish()
    return Reading(
        "".join(piece.text for piece in pieces if isinstance(piece, Content)),
        "".join(piece.text for piece in pieces if isinstance(piece, Thinking)),
        tuple(piece for piece in pieces if isinstance(piece, ToolCall)),
        tuple(Failure(failed_check(reason), reason) for reason in reader.failures),
    )


def _begins_inside(text: str, tags: ThinkingTags) -> bool:
    close, opening = text.find(tags.close), text.find(tags.open)
    return not tags.turns and close >= 0 and not 0 <= opening < close


def _parts(text: str, chunk: int) -> Iterator[str]:
    size = chunk if chunk > 0 else max(len(text), 1)
    return (text[at : at + size] for at in range(0, len(text), size))
