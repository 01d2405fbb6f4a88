"""`/v1/messages` and `/v1/messages/count_tokens`: body to inner request. Pure; texts as in Ollama."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from modelfiles.messages import Tool, tool_from_json
from modelfiles.templates.switches import Thinking
from shim.anthropic.blocks import messages
from shim.anthropic.fields import SAMPLING
from shim.errors import bad_request, go_quoted
from shim.requests import ChatRequest, Forced

Body = Mapping[str, object]

_EFFORTS: Mapping[object, Thinking] = {
    "low": "low", "medium": "medium", "high": "high", "max": "max", "xhigh": "high",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and how its answer is to be told."""

    request: ChatRequest
    parallel_calls: bool = True


def asked(body: Body) -> Asked:
    """What a decoded body (`shim.anthropic.fields.MESSAGES`) asks for. ApiError."""
    if not body.get("model"):
        raise bad_request("model is required")
    longest = body.get("max_tokens", 0)
    if not isinstance(longest, int) or longest <= 0:
        raise bad_request("max_tokens is required and must be positive")
    return _asked(body, {"num_predict": longest, **_sampling(body)})


def counted(body: Body) -> ChatRequest:
    """The request whose tokens are to be counted (`shim.anthropic.fields.COUNT_TOKENS`). ApiError."""
    if not body.get("model"):
        raise bad_request("model is required")
    return _asked(body, {}).request


def _asked(body: Body, options: Mapping[str, object]) -> Asked:
    choice = body.get("tool_choice")
    choice = choice if isinstance(choice, Mapping) else {}
    found = messages(body.get("messages"), body.get("system"))
    if not found:
        raise bad_request("messages is required")
    tools, must_call = _tools(body.get("tools"), choice)
    request = ChatRequest(
        model=str(body["model"]),
        messages=found,
        tools=tools,
        must_call=must_call,
        options=options,
        think=_thinking(body),
        think_if_able=True,
        stream=bool(body.get("stream", False)),
        truncate=False,
        shift=False,
    )
    return Asked(request, not choice.get("disable_parallel_tool_use", False))


def _sampling(body: Body) -> dict[str, object]:
    """Only what is given: where it is not, the model's own parameters hold."""
    options: dict[str, object] = {}
    for name in SAMPLING:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise bad_request(f"{name} must be a number")
        options[name] = value
    if "stop_sequences" in body:
        options["stop"] = body["stop_sequences"]
    return options


def _thinking(body: Body) -> Thinking:
    given = body.get("thinking")
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind == "enabled":
        return True
    if kind == "disabled":
        return False
    config = body.get("output_config")
    return _EFFORTS.get(config.get("effort")) if isinstance(config, Mapping) else None


def _tools(given: object, choice: Body) -> tuple[tuple[Tool, ...], tuple[Forced, ...]]:
    """Tools that are functions, and those of which one must be called; other kinds have no meaning here."""
    functions = [_function(at, item) for at, item in enumerate(given if isinstance(given, list) else [])]
    known = [function for function in functions if function is not None]
    tools = tuple(tool_from_json({"type": "function", "function": function}) for function in known)
    forced = tuple(Forced(str(function["name"]), _schema(function)) for function in known)
    match choice.get("type", "auto"):
        case "auto":
            return tools, ()
        case "none":
            return (), ()
        case "any":
            if not forced:
                raise bad_request("tool_choice any needs tools")
            return tools, forced
        case "tool":
            chosen = tuple(call for call in forced if call.name == choice.get("name"))
            if not chosen:
                raise bad_request(f"tool_choice.name: no tool of this request is {choice.get('name')!r}")
            return tools, chosen
    raise bad_request("tool_choice.type must be auto, any, tool or none")


def _function(at: int, item: object) -> dict[str, object] | None:
    if not isinstance(item, Mapping) or (item.get("type") or "custom") != "custom":
        return None
    name, schema = item.get("name"), item.get("input_schema")
    if not isinstance(name, str) or not name:
        raise bad_request(f"tools[{at}].name must be a text")
    if schema is not None and not isinstance(schema, Mapping):
        raise bad_request(f"invalid input_schema for tool {go_quoted(name)}: it must be an object")
    return {"name": name, "description": item.get("description"), "parameters": schema or {}}


def _schema(function: Body) -> Mapping[str, object]:
    schema = function.get("parameters")
    return schema if isinstance(schema, Mapping) else {}
