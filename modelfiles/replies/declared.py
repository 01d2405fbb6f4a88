"""The tools of a request as replies are checked against them: which names exist, what their arguments are."""

import re
from collections.abc import Iterable, Mapping

from modelfiles.messages import Tool

Schema = Mapping[str, object]


class DeclaredTools:
    """Looks names up exactly first, then without regard to case where only one tool fits."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._functions = {tool.name: _mapping(tool.raw.get("function")) for tool in tools}
        self._folded: dict[str, list[str]] = {}
        for name in self._functions:
            self._folded.setdefault(name.casefold(), []).append(name)

    def find(self, written: str) -> str | None:
        """The declared spelling of the name that a model wrote, or None."""
        name = written.strip()
        if name in self._functions:
            return name
        folded = self._folded.get(name.casefold(), [])
        return folded[0] if len(folded) == 1 else None

    def find_identifier(self, written: str) -> str | None:
        """The only tool whose name becomes `written` where names must be identifiers."""
        fit = [name for name in self._functions if _identifier(name) == written]
        return fit[0] if len(fit) == 1 else None

    def longer(self, written: str) -> bool:
        """Whether some declared name goes on where this one ends."""
        begin = written.strip().casefold()
        return any(name.startswith(begin) and name != begin for name in self._folded)

    def only_with(self, arguments: Iterable[str]) -> str | None:
        """The only tool that has all these arguments, if just one has."""
        keys = set(arguments)
        fit = [name for name in self._functions if keys <= self.properties(name).keys()]
        return fit[0] if len(fit) == 1 and keys else None

    def schema(self, name: str) -> Schema:
        """The JSON Schema of all arguments of a declared tool; empty where the tool has none."""
        return _mapping(self._functions[name].get("parameters"))

    def properties(self, name: str) -> Mapping[str, Schema]:
        """The schema of each argument of a declared tool."""
        properties = _mapping(self.schema(name).get("properties"))
        return {key: _mapping(value) for key, value in properties.items()}


def _identifier(name: str) -> str:
    kept = re.sub(r"[^\w$]", "", re.sub(r"[ .-]", "_", name))
    return f"_{kept}" if kept[:1].isdigit() else kept


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
