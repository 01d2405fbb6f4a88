"""JSON between other tags than `<tool_call>`: the families that differ from Hermes only in their marks.

Each block is read as Hermes' is: one object, several, or a list; the closing tag may be missing at the end.
"""

from collections.abc import Callable
from typing import Any

from modelfiles.messages import ToolCall
from modelfiles.replies.blocks import BlockReader, Style
from modelfiles.replies.declared import DeclaredTools
from modelfiles.replies.json_calls import NoCall, arguments_of, calls_in
from modelfiles.replies.lenient import read_json
from modelfiles.replies.toolcalls.hermes import CLOSE, Convert, HermesReader


def cohere_calls(text: str, tools: DeclaredTools) -> list[ToolCall]:
    """Calls whose name stands under `tool_name`. `directly-answer` means none. Raises NoCall."""
    named = []
    for item in _listed(text):
        if item.get("tool_name") not in ("directly-answer", "directly_answer"):
            named.append(_call(item.get("tool_name", item.get("name")), arguments_of(item), tools))
    return named


def _apertus_calls(text: str, tools: DeclaredTools) -> list[ToolCall]:
    """Objects of one key, which is the name. Raises NoCall."""
    calls = []
    for item in _listed(text):
        if len(item) != 1:
            raise NoCall("an object that is not one name and its arguments")
        [(name, arguments)] = item.items()
        calls.append(_call(name, arguments_of({"arguments": arguments}), tools))
    return calls


def _listed(text: str) -> list[dict[str, Any]]:
    try:
        value, supplied = read_json(text)
    except ValueError as error:
        raise NoCall(f"no JSON: {error}") from error
    items = value if isinstance(value, list) else [value]
    if supplied and not isinstance(value, list):
        raise NoCall("a call that was cut")
    if not all(isinstance(item, dict) for item in items):
        raise NoCall("a value that is no object")
    return items


def _call(written: object, arguments: dict[str, object], tools: DeclaredTools) -> ToolCall:
    name = tools.find(written) if isinstance(written, str) else None
    if name is None:
        raise NoCall(f"no tool of the name {written!r}")
    return ToolCall(name, arguments)


def _opener(opens: tuple[str, ...], close: str, convert: Convert) -> Callable[[DeclaredTools], BlockReader]:
    def open_block(tools: DeclaredTools) -> BlockReader:
        return HermesReader(tools, opens, close, convert)

    return open_block


def _style(name: str, opens: str, close: str, convert: Convert = calls_in) -> Style:
    markers = tuple(opens.split("|or|"))
    return Style(name, markers, (), _opener(markers, close, convert))


_LISTS = ("<tool_calls>", "</tool_calls>")

STYLES = (
    _style("granite4", "<tool_call>", CLOSE),
    _style("ernie45", "<tool_call>", CLOSE),
    _style("longcat", "<longcat_tool_call>", "</longcat_tool_call>"),
    _style("jamba", *_LISTS),
    _style("hunyuan_a13b", *_LISTS),
    _style("apriel", *_LISTS),
    _style("minimax_m1", *_LISTS),
    _style("nemotron_nano_v2", "<TOOLCALL>", "</TOOLCALL>"),
    _style("granite-20b-fc", "<function_call>", "</function_call>"),
    _style("internlm", "<|action_start|><|plugin|>|or|<|action_start|> <|plugin|>", "<|action_end|>"),
    _style("gigachat3", "function call<|role_sep|>|or|<|function_call|>", "<|message_sep|>"),
    _style("apertus", "<|tools_prefix|>", "<|tools_suffix|>", _apertus_calls),
    _style("cohere_command3", "<|START_ACTION|>", "<|END_ACTION|>", cohere_calls),
    _style("cohere_command4", "<|START_ACTION|>", "<|END_ACTION|>", cohere_calls),
    Style("command_r_plus", (), ("Action:",), _opener(("Action:",), "\0", cohere_calls)),
)
