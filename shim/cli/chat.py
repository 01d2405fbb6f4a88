"""The state of an interactive chat, as values: what has been said and set, and the request made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from modelfiles.parameters import Value

Think = bool | str | None


@dataclass(slots=True)
class Chat:
    """One session with a model. `think`, `format` and `keep_alive` are None where the server decides."""

    model: str
    messages: list[dict[str, object]] = field(default_factory=list)
    system: str = ""
    options: dict[str, Value] = field(default_factory=dict)
    think: Think = None
    format: object = None
    keep_alive: object = None
    verbose: bool = False
    hide_thinking: bool = False
    word_wrap: bool = True

    def body(self) -> dict[str, object]:
        """The body of /api/chat for the messages so far."""
        return {"model": self.model, "messages": self.messages, **self._settings()}

    def load_body(self) -> dict[str, object]:
        """The body of /api/generate that only loads the model."""
        return {"model": self.model, "prompt": "", **self._settings()}

    def prompt_body(self, prompt: str) -> dict[str, object]:
        """The body of /api/generate for one prompt outside of any chat."""
        return {"model": self.model, "prompt": prompt, **self._settings()}

    def save_body(self, name: str) -> dict[str, object]:
        """The body of /api/create that keeps this session as a model."""
        body: dict[str, object] = {"model": name, "from": self.model}
        kept = [message for message in self.messages if message["role"] != "system"]
        if self.system:
            body["system"] = self.system
        if self.options:
            body["parameters"] = self.options
        if kept:
            body["messages"] = kept
        return body

    def ask(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def answer(self, content: str, thinking: str) -> None:
        """Keep what the model said; a reply that was stopped counts as far as it came."""
        message: dict[str, object] = {"role": "assistant", "content": content}
        if thinking:
            message["thinking"] = thinking
        self.messages.append(message)

    def take_back(self) -> None:
        """Forget a question that got no answer, so that it is not asked twice."""
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages.pop()

    def set_system(self, text: str) -> None:
        """A system message holds from here on; it replaces one that was set directly before."""
        self.system = text
        if self.messages and self.messages[-1]["role"] == "system":
            self.messages.pop()
        self.messages.append({"role": "system", "content": text})

    def clear(self) -> None:
        self.messages = [{"role": "system", "content": self.system}] if self.system else []

    def _settings(self) -> dict[str, object]:
        settings = {"options": self.options or None, "think": self.think, "format": self.format,
                    "keep_alive": self.keep_alive}  # fmt: skip
        return {name: value for name, value in settings.items() if value is not None}
