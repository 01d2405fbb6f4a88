"""What a template mentions: the names that decide how it is run, and the tags around thinking and tool calls.

Knows nothing of running.
"""

from collections.abc import Iterable, Iterator, Sequence

from modelfiles.errors import TemplateError
from modelfiles.templates.go.nodes import (
    Action,
    Branch,
    Call,
    Field,
    Node,
    Pipe,
    Text,
    Variable,
    operands,
    walk,
)
from modelfiles.templates.go.parser import BLANKS, Trees
from modelfiles.templates.tags import ThinkingTags

# Of tool calls where a template shows none: any JSON may be one.
_ANY_JSON = "{"


def names(trees: Trees) -> frozenset[str]:
    """Every field and variable in lower case; but none in a chain behind parentheses, as in Ollama.

    Raises TemplateError for a template that is called without a value, which Ollama refuses.
    """
    found: set[str] = set()
    for nodes in trees.values():
        for word in _all_operands(nodes):
            if isinstance(word, Field | Variable):
                found.update(name.lower() for name in word.path)
    return frozenset(found)


def _all_operands(nodes: Sequence[Node]) -> Iterator[object]:
    for node in walk(nodes):
        if isinstance(node, Call) and node.pipe is None:
            raise TemplateError("undefined template specified")
        if isinstance(node, Action | Branch | Call) and node.pipe is not None:
            yield from operands(node.pipe)


def thinking_tags(nodes: Sequence[Node]) -> ThinkingTags | None:
    """The text that opens and closes the list of nodes in which a range over messages has `.Thinking`.

    A later place wins over an earlier one.
    """
    opening = closing = ""
    for siblings in _around_thinking(nodes):
        first, last = siblings[0], siblings[-1]
        opening = first.text.strip(BLANKS) if isinstance(first, Text) else opening
        closing = last.text.strip(BLANKS) if isinstance(last, Text) else closing
    return ThinkingTags(opening, closing) if opening and closing else None


def _around_thinking(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    pending: list[tuple[Node, Sequence[Node], Pipe | None]] = [
        (node, nodes, None) for node in reversed(nodes)
    ]
    while pending:
        node, siblings, ranged = pending.pop()
        if isinstance(node, Branch) and node.kind == "range":
            ranged = node.pipe
        pipe = node.pipe if isinstance(node, Action | Branch | Call) else None
        if pipe and ranged and _has_field(ranged, "Messages"):
            yield from (siblings for word in operands(pipe) if _begins_with(word, "Thinking"))
        if isinstance(node, Branch):
            for inner in (node.otherwise or (), node.body):
                pending += [(child, inner, ranged) for child in reversed(inner)]


def _has_field(pipe: Pipe, name: str) -> bool:
    return any(_begins_with(word, name) for word in operands(pipe))


def _begins_with(word: object, name: str) -> bool:
    return isinstance(word, Field) and word.path[0] == name


def tool_call_tag(nodes: Sequence[Node]) -> str:
    """What a model writes before its tool calls: the first text where the template writes them, up to `{`."""
    for node in walk(nodes):
        if isinstance(node, Branch) and node.kind == "if" and _mentions_calls(node.pipe):
            text = _first_text(node.body).replace("\r\n", "\n")
            return text.partition("{")[0].strip(BLANKS) or _ANY_JSON
    return _ANY_JSON


def _mentions_calls(pipe: Pipe) -> bool:
    words = (word for command in pipe.commands for word in command.words)
    return any(isinstance(word, Field) and "ToolCalls" in word.path for word in words)


def _first_text(nodes: Iterable[Node]) -> str:
    """Text that comes before any value is printed; empty if none does."""
    pending = [nodes]
    while pending:
        for node in pending.pop():
            if isinstance(node, Text) and node.text.strip(BLANKS):
                return node.text
            if isinstance(node, Branch):
                pending += [node.otherwise or (), node.body]
            if isinstance(node, Branch | Action):
                break
    return ""
