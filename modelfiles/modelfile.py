"""A Modelfile as a list of commands: prints itself, and says what it asks a create request for.

Opens no file: whether a FROM names a file, a folder or a model is for the caller to find out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from modelfiles.errors import ModelfileError, ParameterError
from modelfiles.messages import Message
from modelfiles.parameters import DEPRECATED, Value, add_parameter
from modelfiles.semver import is_version

FROM = "model"  # how FROM is called among the commands
MESSAGE = "message"
INSTRUCTIONS = (
    "from", "license", "template", "system", "adapter", "draft", "renderer", "parser", "parameter", "message",
    "requires",
)  # fmt: skip
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Command:
    """One instruction. A PARAMETER has its own name, FROM is `model`, a MESSAGE has the args `role: text`."""

    name: str
    args: str
    line: int = field(default=0, compare=False)
    is_parameter: bool = False

    def __str__(self) -> str:
        if self.is_parameter:
            return f"PARAMETER {self.name} {_quoted(self.args)}"
        if self.name == FROM:
            return f"FROM {self.args}"
        if self.name == MESSAGE:
            role, _, text = self.args.partition(": ")
            return f"MESSAGE {role} {_quoted(text)}"
        return f"{self.name.upper()} {_quoted(self.args)}"


@dataclass(frozen=True, slots=True)
class CreateFields:
    """What a Modelfile asks for. An absent text is None; `from_` and `drafts` keep every line, in order."""

    from_: tuple[str, ...] = ()
    adapter: str | None = None
    drafts: tuple[str, ...] = ()
    template: str | None = None
    system: str | None = None
    licenses: tuple[str, ...] = ()
    renderer: str | None = None
    parser: str | None = None
    requires: str | None = None
    messages: tuple[Message, ...] = ()
    parameters: dict[str, Value] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The fields of a create request that need no look at the disk; empty ones are left out."""
        fields: dict[str, object] = {
            "template": self.template,
            "license": list(self.licenses),
            "system": self.system,
            "parameters": self.parameters,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "renderer": self.renderer,
            "parser": self.parser,
            "requires": self.requires,
        }
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class Modelfile:
    """The commands in the order of the file."""

    commands: tuple[Command, ...]

    def __str__(self) -> str:
        return "".join(f"{command}\n" for command in self.commands)

    def create_fields(self) -> CreateFields:
        """Type the parameters and gather the rest. Raises ParameterError and ModelfileError."""
        parameters, warnings = _typed(command for command in self.commands if command.is_parameter)
        return CreateFields(
            from_=self._all(FROM),
            adapter=self._last("adapter"),
            drafts=self._all("draft"),
            template=self._last("template"),
            system=self._last("system"),
            licenses=self._all("license"),
            renderer=self._last("renderer"),
            parser=self._last("parser"),
            requires=self._version(),
            messages=tuple(_message(args) for args in self._all(MESSAGE)),
            parameters=parameters,
            warnings=warnings,
        )

    def _all(self, name: str) -> tuple[str, ...]:
        return tuple(item.args for item in self.commands if item.name == name and not item.is_parameter)

    def _last(self, name: str) -> str | None:
        found = self._all(name)
        return found[-1] if found else None

    def _version(self) -> str | None:
        for command in self.commands:
            if command.name == "requires" and not command.is_parameter and not is_version(command.args):
                raise ModelfileError("requires must be a valid semver (e.g. 0.14.0)", command.line)
        version = self._last("requires")
        return None if version is None else version.removeprefix("v")


def _typed(commands: Iterable[Command]) -> tuple[dict[str, Value], tuple[str, ...]]:
    values: dict[str, Value] = {}
    warnings: list[str] = []
    for command in commands:
        if command.name in DEPRECATED:
            warnings.append(f"parameter {command.name} is deprecated")
            continue
        try:
            add_parameter(values, command.name, command.args)
        except ParameterError as error:
            raise ParameterError(str(error), hint=error.hint, line=command.line) from error
    return values, tuple(warnings)


def _message(args: str) -> Message:
    role, _, text = args.partition(": ")
    return Message(role, text)


def _quoted(text: str) -> str:
    """Quotes only where outer blanks or line ends would be lost; a text with a quote first stays bare."""
    if "\n" not in text and not text.startswith(" ") and not text.endswith(" "):
        return text
    quotes = '"""' if '"' in text else '"'
    return f"{quotes}{text}{quotes}"
