"""JSON as Go's encoder makes it of the values of a template: compact, HTML-safe, keys of maps sorted.

Raises ValueError for what JSON cannot hold. Knows nothing of printing.
"""

import base64
import json
from collections.abc import Iterable

from modelfiles.encoding import number
from modelfiles.templates.go.data import PROPERTY_TYPE
from modelfiles.templates.go.values import (
    INVALID,
    UINT8,
    Map,
    Pointer,
    Slice,
    Struct,
    Value,
    is_nil,
    sorted_entries,
    type_of,
)

_ESCAPES = {
    code: f"\\u{code:04x}" for code in (ord("<"), ord(">"), ord("&"), 0x2028, 0x2029)
} | dict.fromkeys(range(55296, 57344), "\\ufffd")


def marshal(value: Value) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return _object(sorted_entries(value))
    if isinstance(value, list):
        return _array(value)
    if isinstance(value, bytes):
        return _text(base64.b64encode(value).decode())
    return "null" if is_nil(value) else _typed(value)


def _typed(value: Value) -> str:
    match value:
        case Map(entries=entries):
            return _object(sorted_entries(entries or {}))
        case Pointer(target=target):
            return _object((target or {}).items())
        case Slice(type=type_) if type_.element is UINT8:
            return _text(base64.b64encode(bytes(map(_byte, value))).decode())
        case Slice(type=type_) if type_ is PROPERTY_TYPE and len(value) == 1:
            return marshal(value.at(0))
        case Slice():
            return _array(value)
        case Struct():
            return _struct(value)
    raise ValueError(f"json: unsupported type: {type_of(value).name}")


def _struct(value: Struct) -> str:
    written = [
        (field.key or field.name, value.fields[field.name])
        for field in value.type.fields
        if not (field.omitted and _is_empty(value.fields[field.name]))
    ]
    return _object(written)


def _is_empty(value: Value) -> bool:
    """An interface is empty only if it is nil, whatever it holds; no field of a number's type is ever
    omitted.
    """
    if isinstance(value, str | Slice | Pointer):
        return not value
    return value is None or value is INVALID


def _object(items: Iterable[tuple[str, Value]]) -> str:
    return "{" + ",".join(f"{_text(key)}:{marshal(item)}" for key, item in items) + "}"


def _array(items: Iterable[Value]) -> str:
    return "[" + ",".join(map(marshal, items)) + "]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


def _byte(value: Value) -> int:
    return value if isinstance(value, int) else 0
