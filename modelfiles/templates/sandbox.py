"""The environment that chat templates run in: Jinja's immutable sandbox, with everything they do counted.

A template is compiled once, with meters in its syntax tree (`metering`); operators and calls pass by the
budget of their rendering through the sandbox's own hooks. Knows nothing of messages.
"""

import copy
from collections.abc import Callable, Sized
from types import BuiltinMethodType, CodeType
from typing import Any

from jinja2 import TemplateError as JinjaError
from jinja2 import nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace

from modelfiles.errors import ModelfilesError, TemplateError
from modelfiles.templates.budget import CALL_COST, ITEM_COST, Budget
from modelfiles.templates.filters import make_filters, make_tests
from modelfiles.templates.guards import charge_format, check_method, operate, safe_key
from modelfiles.templates.metering import METERS, Metering

# Real templates have up to 17 000 characters and 1 300 nodes.
MAX_SOURCE_CHARACTERS = 256 * 1024
MAX_NODES = 6_000
_FUNCTION_NODES = 5  # compiling one costs that many times what other nodes cost
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
        self.filters.update({**make_filters(), **METERS})
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
            tree = self.parse(source)
            _check_size(tree)
            return self.compile(Metering(self).visit(tree))
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

    def getitem(self, obj: Any, argument: Any) -> Any:
        if type(argument) is tuple:
            self.budget.charge_text(argument)  # hashing it reads all of it
        return super().getitem(obj, argument)

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
        budget.charge(CALL_COST + ITEM_COST * (len(args) + len(kwargs)))
        if any(__obj is copying for copying in _COPYING):
            budget.charge(ITEM_COST * sum(len(arg) for arg in args if isinstance(arg, Sized)))
        elif isinstance(__obj, BuiltinMethodType):
            check_method(budget, __obj, args, kwargs)
        elif isinstance(__obj, LoopContext) and args:
            args = (budget.metered(args[0]), *args[1:])
        elif isinstance(getattr(__obj, "__self__", None), LoopContext):
            budget.charge_text(args)  # loop.changed compares them
        return super().call(__context, __obj, *args, **kwargs)


def _check_size(tree: nodes.Template) -> None:
    left = MAX_NODES
    for node in tree.find_all(nodes.Node):
        left -= _FUNCTION_NODES if isinstance(node, nodes.Macro | nodes.Block | nodes.CallBlock) else 1
        if left < 0:
            raise TemplateError(f"the chat template has more than {MAX_NODES} parts")


def _make_dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    if args and not isinstance(args[0], dict):
        args = ([(safe_key(key), value) for key, value in args[0]],)
    return dict(*args, **kwargs)


_COPYING = (_make_dict, Namespace, Cycler)
