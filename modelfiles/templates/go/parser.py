"""Reads a Go template into nodes: text, actions, and blocks that are open until their end.

Open blocks are kept in a list and not on the interpreter's stack, so that no nesting is too deep. Errors are
worded as in Go, and found in the same order. Knows nothing of running.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from modelfiles.templates.go.cursor import Cursor, Scope
from modelfiles.templates.go.lexer import Kind, Token
from modelfiles.templates.go.nodes import Action, Branch, Call, Jump, Node, Pipe, Text
from modelfiles.templates.go.pipelines import PipelineReader
from modelfiles.templates.go.quoting import quoted

Trees: TypeAlias = Mapping[str, tuple[Node, ...]]

BLANKS = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_CLAUSES = {"define": "define clause", "block": "block clause"}


@dataclass(slots=True)
class _Open:
    """A block without its end yet. `scope` is the one around it; `chained`: its end closes the next one
    too.
    """

    kind: Literal["root", "define", "block", "if", "with", "range"]
    scope: Scope
    name: str = ""
    position: int = 0
    pipe: Pipe | None = None
    variables: int = 0
    chained: bool = False
    nodes: list[Node] = field(default_factory=list)
    body: tuple[Node, ...] | None = None


def parse(text: str, functions: Collection[str]) -> Trees:
    """The nodes of every template defined in `text`; the main one has the name "". Raises TemplateError."""
    return _Parser(text, functions).run()


class _Parser:
    def __init__(self, text: str, functions: Collection[str]) -> None:
        self._cursor = Cursor(text)
        self._pipelines = PipelineReader(self._cursor, functions)
        self._trees: dict[str, tuple[Node, ...]] = {}
        self._open = [_Open("root", self._cursor.scope)]
        self._actions: dict[str, Callable[[Token], None]] = {
            "if": self._branch,
            "with": self._branch,
            "range": self._branch,
            "else": self._else,
            "end": self._end,
            "block": self._block,
            "template": self._template,
            "break": self._jump,
            "continue": self._jump,
        }

    def run(self) -> Trees:
        cursor = self._cursor
        while (token := cursor.next_solid()).kind is not Kind.END:
            if token.kind is Kind.TEXT:
                self._nodes.append(Text(token.position, token.text))
            elif token.kind is Kind.OPEN:
                self._action(token)
            else:
                cursor.unexpected(token, "input")
        if len(self._open) > 1:
            cursor.fail("unexpected EOF")
        self._add("", self._nodes)
        return self._trees

    @property
    def _nodes(self) -> list[Node]:
        return self._open[-1].nodes

    def _action(self, opening: Token) -> None:
        cursor = self._cursor
        word = cursor.peek_solid()
        keyword = word.text if word.kind is Kind.KEYWORD else ""
        if keyword == "define" and self._open[-1].kind == "root":
            cursor.at += 1
            self._define()
            return
        cursor.scope.action_line = opening.line
        if keyword in self._actions:
            cursor.at += 1
            self._actions[keyword](word)
        else:
            self._nodes.append(Action(word.position, self._pipelines.pipeline("command")))
            cursor.scope.action_line = 0

    def _define(self) -> None:
        around = self._cursor.scope
        self._cursor.scope = Scope()
        context = _CLAUSES["define"]
        token = self._cursor.expect(context, Kind.STRING, Kind.RAW_STRING)
        name = self._pipelines.string(token, context)
        self._cursor.expect(context, Kind.CLOSE)
        self._open.append(_Open("define", around, name))

    def _block(self, _: Token) -> None:
        context = _CLAUSES["block"]
        token = self._cursor.next_solid()
        name = self._pipelines.string(token, context)
        pipe = self._pipelines.pipeline(context)
        self._open.append(_Open("block", self._cursor.scope, name, token.position, pipe))
        self._cursor.scope = Scope()

    def _template(self, _: Token) -> None:
        context = "template clause"
        token = self._cursor.next_solid()
        name = self._pipelines.string(token, context)
        pipe = None
        if self._cursor.peek_solid().kind is Kind.CLOSE:
            self._cursor.at += 1
        else:
            pipe = self._pipelines.pipeline(context)
        self._nodes.append(Call(token.position, name, pipe))
        self._cursor.scope.action_line = 0

    def _jump(self, word: Token) -> None:
        written = "{{" + word.text + "}}"
        self._cursor.expect(written, Kind.CLOSE)
        if not self._cursor.scope.ranges:
            self._cursor.fail(f"{written} outside {{{{range}}}}")
        self._nodes.append(Jump("break" if word.text == "break" else "continue", word.position))
        self._cursor.scope.action_line = 0

    def _branch(self, word: Token, *, chained: bool = False) -> None:
        scope = self._cursor.scope
        kind: Literal["if", "with", "range"] = "if" if word.text == "if" else "with"
        kind = "range" if word.text == "range" else kind
        known = len(scope.variables)
        pipe = self._pipelines.pipeline(kind)
        scope.ranges += kind == "range"
        self._open.append(_Open(kind, scope, "", pipe.position, pipe, known, chained))

    def _else(self, _: Token) -> None:
        cursor, current = self._cursor, self._open[-1]
        follows = cursor.peek_solid()
        condition = follows.text if follows.kind is Kind.KEYWORD and follows.text in ("if", "with") else ""
        if not condition:
            cursor.expect("else", Kind.CLOSE)
        cursor.scope.action_line = 0
        self._check_else(current)
        self._end_body(current)
        if condition and condition == current.kind:
            cursor.at += 1
            self._branch(follows, chained=True)

    def _check_else(self, current: _Open) -> None:
        if current.kind == "root":
            self._cursor.fail("unexpected {{else}}")
        if current.kind in _CLAUSES:
            self._unended(current, "{{else}}")
        if current.body is not None:
            self._cursor.fail("expected end; found {{else}}")

    def _unended(self, current: _Open, found: str) -> None:
        """Complain in the name of a block's surroundings, as Go does, or of the define itself."""
        if current.kind == "block":
            self._cursor.scope = current.scope
        self._cursor.fail(f"unexpected {found} in {_CLAUSES[current.kind]}")

    def _end_body(self, current: _Open) -> None:
        current.body = tuple(current.nodes)
        current.nodes = []
        self._cursor.scope.ranges -= current.kind == "range"

    def _end(self, _: Token) -> None:
        cursor = self._cursor
        cursor.expect("end", Kind.CLOSE)
        if self._open[-1].kind == "root":
            cursor.fail("unexpected {{end}}")
        cursor.scope.action_line = 0
        while self._close(self._open.pop()):
            pass

    def _close(self, current: _Open) -> bool:
        """Put a block into the one around it; whether that one is closed by the same end."""
        if current.kind in _CLAUSES:
            self._add(current.name, current.nodes)
            self._cursor.scope = current.scope
            if current.kind == "block":
                self._nodes.append(Call(current.position, current.name, current.pipe))
                current.scope.action_line = 0
            return False
        otherwise = None if current.body is None else tuple(current.nodes)
        if current.body is None:
            self._end_body(current)
        del self._cursor.scope.variables[current.variables :]
        self._nodes.append(_branch_node(current, otherwise))
        return current.chained

    def _add(self, name: str, nodes: list[Node]) -> None:
        known = self._trees.get(name)
        if known is None or _is_empty(known):
            self._trees[name] = tuple(nodes)
        elif not _is_empty(nodes):
            self._cursor.fail(f"template: multiple definition of template {quoted(name)}")


def _branch_node(current: _Open, otherwise: tuple[Node, ...] | None) -> Branch:
    assert current.pipe is not None  # every branch begins with one
    assert current.kind in ("if", "with", "range")
    return Branch(current.kind, current.position, current.pipe, current.body or (), otherwise)


def _is_empty(nodes: Collection[Node]) -> bool:
    return all(isinstance(node, Text) and not node.text.strip(BLANKS) for node in nodes)
