"""Prompts that decide what the engine without weights answers, and the tool that clients offer it."""

from typing import Any

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "its name"}},
            "required": ["city"],
        },
    },
}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
ENDLESS = "[[fake:forever]][[fake:delay=0.005]]"


def say(text: str) -> str:
    """A prompt that is answered with exactly `text`."""
    return f"[[fake:say]]{text}[[fake:end]]"


ASK_WEATHER = say(CALL)
