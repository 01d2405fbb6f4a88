"""The environment that chat templates run in: Jinja's immutable sandbox, with everything they do counted.

A template is compiled once. Before that its syntax tree is rewritten so that loops, output, slices, joins
and comparisons pass by the budget of the rendering they belong to; operators and calls pass by it through the
sandbox's own hooks. Knows nothing of messages.
"""

import copy
from collections.abc import Callable
from types import BuiltinMethodType, CodeType
from typing import Any, cast

from jinja2 import TemplateError as JinjaError
from jinja2 import nodes, pass_context
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace
from jinja2.visitor import NodeTransformer

from modelfiles.errors import ModelfilesError, TemplateError
from modelfiles.templates.budget import CALL_COST, Budget
from modelfiles.templates.filters import (
    HEAVY,
    LIGHT,
    budget_of,
    charge_search,
    make_filters,
    make_tests,
)
from modelfiles.templates.guards import charge_format, check_method, operate, safe_key

MAX_SOURCE_CHARACTERS = 512 * 1024
_COMPILING_UNITS = 1_000_000


class GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}` marks what a model wrote, for training."""

    tags = {"generation"}  # noqa: RUF012  # the base class declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox whose templates pay from `budget`. `for_rendering` gives each rendering its own."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension, GenerationTag]
        )
        self.budget = Budget(_COMPILING_UNITS)
        self.filters.clear()
        self.filters.update({**make_filters(), **_METERS})
        self.tests.clear()
        self.tests.update(make_tests())
        self.globals = {
            "range": safe_range,
            "dict": _make_dict,
            "namespace": Namespace,
            "cycler": Cycler,
            "joiner": Joiner,
        }

    def compile_source(self, source: str) -> CodeType:
        """Compile a template. Raises TemplateError with the line of a syntax error."""
        if len(source) > MAX_SOURCE_CHARACTERS:
            raise TemplateError(f"the chat template has more than {MAX_SOURCE_CHARACTERS} characters")
        try:
            tree: nodes.Template = _Metering(self).visit(self.parse(source))
            return self.compile(tree)
        except ModelfilesError:
            raise
        except JinjaError as error:
            line = f" in line {error.lineno}" if hasattr(error, "lineno") else ""
            raise TemplateError(f"the chat template cannot be read{line}: {error.message}") from error
        except (RecursionError, SyntaxError, ValueError, MemoryError, OverflowError) as error:
            raise TemplateError("the chat template is nested too deeply to be read") from error

    def for_rendering(self, budget: Budget) -> "PromptEnvironment":
        """A copy that pays from `budget`."""
        environment = copy.copy(self)
        environment.budget = budget
        return environment

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return operate(self.budget, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        # Lists belong to this rendering alone, so templates that collect values in them may.
        if type(obj) is list and attr in ("append", "extend", "insert", "pop"):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """The sandbox puts its own function in the place of `str.format`; here that pays first."""
        formatting = super().wrap_str_format(value)
        if formatting is None:
            return None

        def pay_and_format(*args: Any, **kwargs: Any) -> str:
            charge_format(self.budget, value.__self__, (args, dict(kwargs)))
            return formatting(*args, **kwargs)

        return pay_and_format

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        budget = __self.budget
        budget.charge(CALL_COST)
        if isinstance(__obj, BuiltinMethodType):
            check_method(budget, __obj, args, kwargs)
        elif isinstance(__obj, LoopContext) and args:
            args = (budget.metered(args[0]), *args[1:])
        elif isinstance(getattr(__obj, "__self__", None), LoopContext):
            budget.charge_text(args)  # loop.changed compares them
        return super().call(__context, __obj, *args, **kwargs)


class _Metering(NodeTransformer):
    """Puts a meter, which is a filter, around every expression that costs."""

    def __init__(self, environment: PromptEnvironment) -> None:
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

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802  # named by the base class
        self.generic_visit(node)
        node.iter = self._metered("_loop", node.iter)
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
def _key(context: Context, key: Any) -> Any:
    return safe_key(key)


# The sandbox calls these like any filter. They need the context, so none is computed while compiling.
_METERS = {
    "_loop": _loop,
    "_output": _output,
    "_copy": _copy,
    "_read": _output,
    "_search": _search,
    "_concat": _concat,
    "_key": _key,
}


def _make_dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    made: dict[Any, Any] = dict(*args, **kwargs)
    for key in made:
        safe_key(key)
    return made
