"""Requests that several live tests send."""

from collections.abc import Iterable
from typing import Any

COUNTING = "1, 2, 3, 4, 5, 6, 7, 8,"


def long_job(model: str, *, tokens: int = 800, num_ctx: int = 4096) -> dict[str, Any]:
    """A streamed /api/generate that surely makes `tokens` tokens: SmolLM2 counts on and on."""
    return generate(model, COUNTING, num_predict=tokens, num_ctx=num_ctx, stream=True)


def generate(model: str, prompt: str, *, stream: bool = False, **options: Any) -> dict[str, Any]:
    """A raw /api/generate, at temperature 0 unless told otherwise."""
    settings = {"temperature": 0, **options}
    return {"model": model, "prompt": prompt, "raw": True, "stream": stream, "options": settings}


def chat(model: str, *contents: str, stream: bool = False, **options: Any) -> dict[str, Any]:
    """An /api/chat: `contents` are turns of user and assistant, beginning with the user."""
    roles = ("user", "assistant")
    messages = [{"role": roles[turn % 2], "content": content} for turn, content in enumerate(contents)]
    return {"model": model, "messages": messages, "stream": stream, "options": {"temperature": 0, **options}}


def text_of(items: Iterable[dict[str, Any]]) -> str:
    """The joined text of a stream's items (or of one whole answer in a list)."""
    return "".join(item["response"] if "response" in item else item["message"]["content"] for item in items)
