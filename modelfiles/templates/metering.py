"""Meters in a chat template's syntax tree: what it does passes by the budget of its rendering.

Loops, output, slices, joins and comparisons get a filter around what they work on; bodies that can run more
than once begin by paying for their length. Knows nothing of messages.
"""

from typing import Any, TypeVar, cast

from jinja2 import Environment, nodes, pass_context
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from modelfiles.templates.filters import HEAVY, LIGHT, budget_of, charge_search
from modelfiles.templates.guards import check_number, safe_key

_Body = TypeVar("_Body", nodes.Macro, nodes.CallBlock, nodes.Block)


class Metering(NodeTransformer):
    """Puts a meter, which is a filter, around every expression that costs."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def _metered(self, meter: str, node: nodes.Node) -> nodes.Filter:
        return nodes.Filter(
            cast(nodes.Expr, node),
            meter,
            [],
            [],
            None,
            None,
            lineno=node.lineno,
            environment=self._environment,
        )

    def _begin(self, node: nodes.For | nodes.Macro | nodes.CallBlock | nodes.Block, size: int) -> None:
        """Let the body pay for its `size` in nodes each time it runs."""
        body = nodes.Const(size, lineno=node.lineno, environment=self._environment)
        spend = nodes.ExprStmt(self._metered("_spend", body), lineno=node.lineno)
        node.body = [spend, *node.body]

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802  # named by the base class
        size = _size(node)
        self.generic_visit(node)
        node.iter = self._metered("_loop", node.iter)
        self._begin(node, size)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:  # noqa: N802
        return self._body(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.CallBlock:  # noqa: N802
        return self._body(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Block:  # noqa: N802
        return self._body(node)

    def _body(self, node: _Body) -> _Body:
        size = _size(node)
        self.generic_visit(node)
        self._begin(node, size)
        return node

    def visit_Const(self, node: nodes.Const) -> nodes.Const:  # noqa: N802
        check_number(node.value)
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802
        node.nodes = [self._metered("_output", self._expression(child)) for child in node.nodes]
        return node

    def _expression(self, child: nodes.Expr) -> nodes.Expr:
        if isinstance(child, nodes.TemplateData):
            return nodes.Const(child.data, lineno=child.lineno, environment=self._environment)
        visited: nodes.Expr = self.visit(child)
        return visited

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Getitem:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = self._metered("_copy", node.node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno, environment=self._environment)
        return self._metered("_concat", parts)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Dict:  # noqa: N802
        self.generic_visit(node)
        for pair in node.items:
            pair.key = self._metered("_key", pair.key)
        return node

    def visit_Filter(self, node: nodes.Filter) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        if node.node is not None and node.name in LIGHT | HEAVY:
            node.node = self._metered("_read" if node.name in HEAVY else "_copy", node.node)
        return node

    def visit_FilterBlock(self, node: nodes.FilterBlock) -> nodes.FilterBlock:  # noqa: N802
        # Its operand is the block's output, which has been paid for; only its arguments are expressions.
        node.body = [self.visit(child) for child in node.body]
        return node

    def visit_Test(self, node: nodes.Test) -> nodes.Test:  # noqa: N802
        self.generic_visit(node)
        if node.args:
            node.node = self._metered("_read", node.node)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        if node.ops[0].op in ("in", "notin") and not isinstance(node.expr, nodes.Const):
            node.expr = self._metered("_hashed", node.expr)
        for operand in node.ops:
            if operand.op in ("in", "notin"):
                operand.expr = self._metered("_search", operand.expr)
            elif not isinstance(node.expr, nodes.Const) and not isinstance(operand.expr, nodes.Const):
                operand.expr = self._metered("_read", operand.expr)
        return node


@pass_context
def _loop(context: Context, items: Any) -> Any:
    return budget_of(context).metered(items)


@pass_context
def _output(context: Context, value: Any) -> Any:
    budget_of(context).charge_text(value)
    return value


@pass_context
def _copy(context: Context, value: Any) -> Any:
    if isinstance(value, str | list | tuple):
        budget_of(context).charge(len(value))
    return value


@pass_context
def _search(context: Context, container: Any) -> Any:
    charge_search(budget_of(context), container)
    return container


@pass_context
def _concat(context: Context, parts: list[Any]) -> str:
    budget_of(context).charge_text(parts)
    return "".join(map(str, parts))


@pass_context
def _hashed(context: Context, key: Any) -> Any:
    if type(key) is tuple:
        budget_of(context).charge_text(key)
    return key


@pass_context
def _spend(context: Context, units: int) -> None:
    budget_of(context).charge(units)


@pass_context
def _key(context: Context, key: Any) -> Any:
    return safe_key(key)


def _size(node: nodes.Node) -> int:
    """Nodes in `node`, as a measure of what running it takes."""
    return sum(1 for _ in node.find_all(nodes.Node))


# The sandbox calls these like any filter. They need the context, so none is computed while compiling.
METERS = {
    "_loop": _loop,
    "_output": _output,
    "_copy": _copy,
    "_read": _output,
    "_search": _search,
    "_concat": _concat,
    "_key": _key,
    "_hashed": _hashed,
    "_spend": _spend,
}
