"""A model's Go template: parsed once, rendered for every request in the way that Ollama runs such templates.

Which way that is follows from the names that it mentions. Pure: the date is an argument. Templates come from
strangers; none can loop or allocate without end.
"""

from collections.abc import Mapping, Sequence
from datetime import date

from modelfiles.errors import TemplateError
from modelfiles.messages import Message, Tool
from modelfiles.templates.budget import measure
from modelfiles.templates.go.data import messages_value, tools_value
from modelfiles.templates.go.functions import NAMES
from modelfiles.templates.go.machine import Machine, Program
from modelfiles.templates.go.mentions import names, thinking_tags, tool_call_tag
from modelfiles.templates.go.nodes import Action, Command, Field, Pipe
from modelfiles.templates.go.parser import Trees, parse
from modelfiles.templates.go.program import compile_nodes
from modelfiles.templates.go.quoting import clean, joined
from modelfiles.templates.go.turns import Turn, collated, system_text, turns
from modelfiles.templates.go.values import INVALID, Value
from modelfiles.templates.switches import Thinking
from modelfiles.templates.tags import ThinkingTags

# Real templates have up to 20 000; reading them takes time that nobody counts.
MAX_SOURCE_CHARACTERS = 256 * 1024
# Units of work: about a character written or a step made. Some templates look at all messages for each one.
_BASE_UNITS = 8_000_000
_UNITS_PER_CHARACTER = 1_000
_UNITS_PER_INPUT_AND_CHARACTER = 4  # of the template
_MOST_UNITS = 400_000_000
_DEFAULT_LEVEL = "medium"

_RESPONSE = Action(0, Pipe(0, False, (), (Command(0, (Field(0, ("Response",)),)),)))


def parse_template(text: str) -> "GoTemplate":
    """Raises TemplateError, which names the line, in the words of Go."""
    if len(text) > MAX_SOURCE_CHARACTERS:
        raise TemplateError(f"template: it has more than {MAX_SOURCE_CHARACTERS} characters")
    trees = dict(parse(text, NAMES))
    mentioned = names(trees)
    if not mentioned & {"messages", "response"}:
        trees[""] = (*trees[""], _RESPONSE)
    return GoTemplate(text, trees)


class GoTemplate:
    """Rendering is thread-safe. `variables` are the names it mentions, in lower case.

    `tool_call_tag` is what the model writes before its tool calls, `{` if that is nothing in particular.
    """

    def __init__(self, source: str, trees: Trees) -> None:
        self.source = source
        self.variables = names(trees)
        self.thinking_tags: ThinkingTags | None = thinking_tags(trees[""])
        self.tool_call_tag = tool_call_tag(trees[""])
        self._programs = {name: compile_nodes(nodes) for name, nodes in trees.items()}
        self._last_turn = {"": compile_nodes(trees[""], cut=True)}

    def render(
        self, messages: Sequence[Message], *, today: date, tools: Sequence[Tool] = (), think: Thinking = None
    ) -> str:
        """The prompt's text. Raises TemplateError, which names line and column, in the words of Go."""
        run = _Rendering(self.source, today, think, [*messages, *tools])
        merged = collated(messages)
        if "messages" in self.variables:
            data: dict[str, Value] = {
                "System": clean(system_text(messages)),
                "Messages": messages_value(merged),
                "Tools": tools_value(tools),
                "Response": "",
            }
            return run.finished(run(self._programs, data))
        *earlier, last = turns(merged)
        texts = [run(self._programs, _turn_data(turn)) for turn in earlier]
        texts.append(run(self._last_turn, _turn_data(last), missing=INVALID))
        return run.finished("".join(texts))

    def render_insert(self, prompt: str, suffix: str, *, today: date, think: Thinking = None) -> str:
        """The prompt for text that goes between two others. Raises TemplateError like `render`."""
        run = _Rendering(self.source, today, think, [prompt, suffix])
        data: dict[str, Value] = {"Prompt": clean(prompt), "Suffix": clean(suffix), "Response": ""}
        return run.finished(run(self._programs, data))


class _Rendering:
    """Runs programs that share one budget; `inputs` are what the templates may be given."""

    def __init__(self, source: str, today: date, think: Thinking, inputs: Sequence[object]) -> None:
        self._source = source
        self._today = today
        self._thinking: dict[str, Value] = {
            "Think": think is not None and think is not False,
            "ThinkLevel": think if isinstance(think, str) else _DEFAULT_LEVEL if think else "",
            "IsThinkSet": think is not None,
        }
        self._units = _units(source, inputs)

    def __call__(
        self, programs: Mapping[str, Program], data: Mapping[str, Value], *, missing: Value = None
    ) -> str:
        root = {**data, **self._thinking}
        machine = Machine(self._source, programs, root, self._today, self._units, missing)
        try:
            text = machine.run()
        except RecursionError as error:
            raise TemplateError("template: the values are nested too deeply") from error
        self._units = machine.left
        return text

    @staticmethod
    def finished(text: str) -> str:
        """As the model gets it."""
        return clean(joined(text))


def _units(source: str, inputs: Sequence[object]) -> int:
    """What a rendering may cost."""
    size = sum(_size(value) for value in inputs)
    per_input = _UNITS_PER_INPUT_AND_CHARACTER * len(source)
    return min(_BASE_UNITS + _UNITS_PER_CHARACTER * size + per_input * len(inputs), _MOST_UNITS)


def _size(value: object) -> int:
    match value:
        case Message():
            calls = [call.arguments for call in value.tool_calls]
            return measure([value.content, value.thinking, calls], _MOST_UNITS)
        case Tool():
            return measure(value.raw, _MOST_UNITS)
    return measure(value, _MOST_UNITS)


def _turn_data(turn: Turn) -> dict[str, Value]:
    return {
        "System": clean(turn.system),
        "Prompt": clean(turn.prompt),
        "Response": clean(turn.response),
    }
