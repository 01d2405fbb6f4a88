"""The state of an interactive chat, as values: what has been said and set, and the request made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from modelfiles.parameters import Value
from shim.cli.answers import objects, texts

Think = bool | str | None


@dataclass(slots=True)
class Chat:
    """One session with a model. `think`, `format` and `keep_alive` are None where the server decides.

    `opening` are the model's own messages, which the server puts before those of the session.
    """

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
    keeps_history: bool = True
    think_is_given: bool = False
    capabilities: tuple[str, ...] = ()
    opening: list[dict[str, object]] = field(default_factory=list)

    def meet(self, shown: Mapping[str, object]) -> None:
        """Learn from /api/show what the model can do; one that can think does, unless told otherwise."""
        self.capabilities = tuple(texts(shown, "capabilities"))
        self.opening = objects(shown, "messages")
        thinks = "thinking" in self.capabilities
        if not self.think_is_given:
            self.think = True if thinks else None

    def change_model(self, model: str, shown: Mapping[str, object]) -> None:
        """Begin anew with another model; what is set about the display stays."""
        self.model, self.messages, self.system, self.options = model, [], "", {}
        self.meet(shown)
        if "thinking" not in self.capabilities:
            self.think, self.think_is_given = None, False

    def body(self) -> dict[str, object]:
        """The body of /api/chat for the messages so far."""
        return {"model": self.model, "messages": self.messages, **self._settings()}

    def load_body(self) -> dict[str, object]:
        """The body of /api/generate that only loads the model."""
        return {"model": self.model, "prompt": "", **self._settings()}

    def prompt_body(self, prompt: str, images: Sequence[str] = ()) -> dict[str, object]:
        """The body of /api/generate for one prompt outside of any chat; `images` are in base64."""
        media = {"images": list(images)} if images else {}
        return {"model": self.model, "prompt": prompt, **media, **self._settings()}

    def save_body(self, name: str) -> dict[str, object]:
        """The body of /api/create that keeps this session as a model."""
        body: dict[str, object] = {"model": name, "from": self.model}
        kept = [message for message in self.messages if message["role"] != "system"]
        if self.system:
            body["system"] = self.system
        if self.options:
            body["parameters"] = self.options
        if kept:
            body["messages"] = [*self.opening, *kept]
        return body

    def ask(self, text: str, images: Sequence[str] = ()) -> None:
        media = {"images": list(images)} if images else {}
        self.messages.append({"role": "user", "content": text, **media})

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
