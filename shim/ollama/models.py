"""Models in Ollama's JSON: lists, descriptions, what is loaded, and create requests. Pure.

Key order is Ollama's; what it leaves out when empty is left out here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import tzinfo

from modelfiles.create import CreateRequest
from modelfiles.describe import Details, ShowInfo, ShowOptions
from modelfiles.messages import Message, ToolCall
from runtime.loaded import LoadedModel
from shim.errors import bad_request
from shim.gojson import local_time, sorted_keys
from shim.models import Summary
from shim.ollama.names import requested

Body = Mapping[str, object]
Item = dict[str, object]

# How far in the future "for ever" is: the longest duration that Go knows, 292 years.
_FOREVER_NS = 2**63 - 1


def tags(summaries: Iterable[Summary], zone: tzinfo | None = None) -> Item:
    """The answer of /api/tags."""
    return {"models": [_listed(summary, zone) for summary in summaries]}


def _listed(summary: Summary, zone: tzinfo | None) -> Item:
    package = summary.package
    name = package.name.display
    return _without_empty(
        {
            "name": name,
            "model": name,
            "remote_model": package.config.remote_model,
            "remote_host": package.config.remote_host,
            "modified_at": local_time(package.modified_ns, zone),
            "size": package.size,
            "digest": package.digest,
            "details": details_item(summary.details),
            "capabilities": list(summary.capabilities),
        },
        "remote_model",
        "remote_host",
        "capabilities",
    )


def details_item(told: Details) -> Item:
    """The details object of lists and descriptions."""
    return _without_empty(
        {
            "parent_model": told.parent_model,
            "format": told.format,
            "family": told.family,
            "families": list(told.families) or None,
            "parameter_size": told.parameter_size,
            "quantization_level": told.quantization_level,
            "context_length": told.context_length,
            "embedding_length": told.embedding_length,
        },
        "context_length",
        "embedding_length",
    )


def running(loaded: Iterable[tuple[LoadedModel, Summary]], now_ns: int, zone: tzinfo | None = None) -> Item:
    """The answer of /api/ps, the last to be unloaded first."""
    expiring = [(_expires_ns(model, now_ns), model, summary) for model, summary in loaded]
    expiring.sort(key=lambda entry: (-entry[0], entry[1].name))
    return {"models": [_running(model, summary, local_time(at, zone)) for at, model, summary in expiring]}


def _expires_ns(model: LoadedModel, now_ns: int) -> int:
    return now_ns + _FOREVER_NS if model.expires_at is None else round(model.expires_at * 1e9)


def _running(model: LoadedModel, summary: Summary, expires_at: str) -> Item:
    return {
        "name": model.name,
        "model": model.name,
        "size": model.size_bytes,
        "digest": summary.package.digest,
        "details": {**details_item(summary.details), "parent_model": ""},
        "expires_at": expires_at,
        "size_vram": model.vram_bytes,
        "context_length": model.context_length,
    }


def show_options(body: Body) -> ShowOptions:
    """What a show request asks for beside the name."""
    options = body.get("options")
    return ShowOptions(
        verbose=bool(body.get("verbose")),
        system=str(body.get("system", "")),
        options=options if isinstance(options, dict) else {},
    )


def shown(info: ShowInfo, zone: tzinfo | None = None) -> Item:
    """The answer of /api/show, without what is empty; `model_info` is always there."""
    return _without_empty(
        {
            "license": info.license,
            "modelfile": info.modelfile,
            "parameters": info.parameters,
            "template": info.template,
            "system": info.system,
            "details": details_item(info.details),
            "messages": [message_item(message) for message in info.messages],
            "remote_model": info.remote_model,
            "remote_host": info.remote_host,
            "model_info": _metadata(info.model_info),
            "projector_info": _metadata(info.projector_info),
            "tensors": [
                {"name": tensor.name, "type": tensor.type, "shape": list(tensor.shape)}
                for tensor in info.tensors
            ],
            "capabilities": list(info.capabilities),
            "modified_at": local_time(info.modified_ns, zone),
            "requires": info.requires,
        },
        "license",
        "modelfile",
        "parameters",
        "template",
        "system",
        "messages",
        "remote_model",
        "remote_host",
        "projector_info",
        "tensors",
        "capabilities",
        "requires",
    )


def _metadata(values: Mapping[str, object]) -> object:
    """Sorted by key, and with null for what JSON cannot say: a file may hold any float."""
    return sorted_keys({key: _sayable(value) for key, value in values.items()})


def _sayable(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [_sayable(inner) for inner in value] if isinstance(value, list | tuple) else value


def name_for_copilot(answer: Item, requested_name: str) -> None:
    """The editor shows this key as the model's name, so that it becomes the one that was asked for."""
    info = answer["model_info"]
    if isinstance(info, dict):
        answer["model_info"] = _metadata({**info, "general.basename": requested_name})


def message_item(message: Message) -> Item:
    """One message; images as base64."""
    return _without_empty(
        {
            "role": message.role,
            "content": message.content,
            "thinking": message.thinking,
            "images": list(message.images),
            "tool_calls": [_call_item(call) for call in message.tool_calls],
            "tool_name": message.tool_name,
            "tool_call_id": message.tool_call_id,
        },
        "thinking",
        "images",
        "tool_calls",
        "tool_name",
        "tool_call_id",
    )


def _call_item(call: ToolCall) -> Item:
    function = {"index": call.index or 0, "name": call.name, "arguments": dict(call.arguments)}
    return {"id": call.id, "function": function} if call.id else {"function": function}


def create_request(body: Body) -> CreateRequest:
    """The inner request. Whether it can be carried out is decided in `modelfiles.create`."""
    license_ = body.get("license")
    texts = license_ if isinstance(license_, list) else [license_]
    return CreateRequest(
        model=requested(body),
        from_=_text(body, "from"),
        files=_texts(body, "files"),
        adapters=_texts(body, "adapters"),
        draft_files=_texts(body, "draft_files"),
        template=_text(body, "template"),
        system=_text(body, "system"),
        licenses=tuple(text for text in texts if isinstance(text, str)),
        parameters=_mapping(body, "parameters"),
        messages=tuple(map(_message, _items(body, "messages"))),
        renderer=_text(body, "renderer"),
        parser=_text(body, "parser"),
        requires=_text(body, "requires"),
        info=_mapping(body, "info"),
        remote_host=_text(body, "remote_host"),
        quantize=_text(body, "quantize") or _text(body, "quantization"),
        draft_quantize=_text(body, "draft_quantize"),
        quantize_experts=_text(body, "quantize_experts"),
        tensor_types=_texts(body, "tensor_types"),
        imatrix=_text(body, "imatrix"),
        allow_requantize=bool(body.get("allow_requantize")),
    )


def refuse_no_files(body: Body) -> None:
    """An empty `files` is not the same as none: it names weights of no known type. ApiError."""
    if "files" in body and not body["files"] and not body.get("from"):
        raise bad_request("unknown type")


def _message(item: object) -> Message:
    message = item if isinstance(item, dict) else {}
    images = message.get("images", [])
    return Message(
        role=_text(message, "role"),
        content=_text(message, "content"),
        thinking=_text(message, "thinking"),
        images=tuple(image for image in images if isinstance(image, bytes)),
    )


def _text(body: Body, name: str) -> str:
    return str(body.get(name, ""))


def _texts(body: Body, name: str) -> dict[str, str]:
    return {key: str(value) for key, value in _mapping(body, name).items()}


def _mapping(body: Body, name: str) -> dict[str, object]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _items(body: Body, name: str) -> list[object]:
    value = body.get(name)
    return value if isinstance(value, list) else []


def _without_empty(item: Item, *names: str) -> Item:
    """Without those of the named keys that hold nothing."""
    return {key: value for key, value in item.items() if value or key not in names}
