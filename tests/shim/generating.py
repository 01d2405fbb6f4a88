"""Chat and completion over a real store and a real worker process with the engine without weights."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from modelfiles.messages import Message, ToolCall
from modelfiles.package import Config
from modelfiles.store import Store
from runtime.supervisor import Supervisor, SupervisorSettings
from shim.bridge import Threads
from shim.chat import ChatService
from shim.complete import CompletionService
from shim.events import Calls, Content, Done, Event, Thinking
from shim.generation import Generations, Outcome
from shim.headers import Headers
from shim.options import OptionDefaults
from shim.reply import Reply
from shim.requests import ChatRequest, GenerateRequest
from shim.resolve import Resolver
from tests.modelfiles.gguf.building import DENSE, STRING, U32, gguf
from tests.modelfiles.store.packing import blob, pack, params
from tests.runtime.workers import FAKE_WORKER

TEMPLATES = Path(__file__).parent.parent / "data" / "templates"
NOW = datetime(2026, 11, 30, 12, 0)
CONTEXT = 2048
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ '<assistant>' }}{# tools #}"


class Generating:
    """The services, and a store to fill."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "models")
        self.threads = Threads()
        self.supervisor = Supervisor(SupervisorSettings(worker_command=FAKE_WORKER))
        resolver = Resolver(self.store, Headers(), self.threads)
        counter = iter(range(1000))
        generations = Generations(
            resolver,
            self.supervisor,
            OptionDefaults(num_ctx=CONTEXT),
            now=lambda: NOW,
            call_ids=lambda: f"call_{next(counter)}",
        )
        self.chat = ChatService(generations)
        self.completion = CompletionService(generations)

    def add(
        self,
        name: str,
        template: str = "",
        *,
        system: str = "",
        messages: str = "",
        layer: str = "",
        metadata: Mapping[str, tuple[int, object]] | None = None,
        config: Config | None = None,
        **parameters: object,
    ) -> None:
        """A model whose weights have that chat template; `layer` is a TEMPLATE of its own."""
        keys = {**DENSE, "llama.context_length": (U32, 8192), **(metadata or {})}
        if template:
            keys["tokenizer.chat_template"] = (STRING, template)
        layers = [blob(self.store, "model", gguf(keys))]
        for kind, text in (("system", system), ("messages", messages), ("template", layer)):
            if text:
                layers.append(blob(self.store, kind, text.encode()))
        pack(self.store, name, *layers, params(self.store, **parameters), config=config)

    async def close(self) -> None:
        await self.supervisor.close()
        self.threads.close()


@asynccontextmanager
async def generating(folder: Path) -> AsyncIterator[Generating]:
    services = Generating(folder)
    try:
        yield services
    finally:
        await services.close()


def user(text: str) -> Message:
    return Message("user", text)


def say(text: str, *directives: str) -> Message:
    """A message to which the engine without weights answers with exactly `text`."""
    return Message("user", f"[[fake:say]]{text}[[fake:end]]" + "".join(f"[[fake:{d}]]" for d in directives))


def chat(model: str, *messages: Message, **fields: object) -> ChatRequest:
    return ChatRequest(model=model, messages=messages, **fields)  # type: ignore[arg-type]  # tests' own fields


def generate(model: str, prompt: str, **fields: object) -> GenerateRequest:
    return GenerateRequest(model=model, prompt=prompt, **fields)  # type: ignore[arg-type]  # as above


class Answer:
    """What a reply said."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.content = "".join(event.text for event in events if isinstance(event, Content))
        self.thinking = "".join(event.text for event in events if isinstance(event, Thinking))
        self.calls: list[ToolCall] = [
            call for event in events if isinstance(event, Calls) for call in event.calls
        ]
        ends = [event for event in events if isinstance(event, Done)]
        assert ends == events[-1:], "exactly one end, and nothing after it"
        self.done = ends[0]


async def read(outcome: Outcome) -> Answer:
    """Everything that a reply says."""
    assert isinstance(outcome, Reply), outcome
    return Answer([event async for event in outcome.events()])
