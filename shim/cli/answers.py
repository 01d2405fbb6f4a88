"""Reads fields of the server's JSON: a missing field or one of another type is the empty value of its type.

The server may be another one than ours; what it leaves out must not end a command.
"""

from collections.abc import Mapping
from datetime import datetime

from shim.cli.formats import parse_time

JSON = Mapping[str, object]


def text(answer: JSON, key: str) -> str:
    value = answer.get(key)
    return value if isinstance(value, str) else ""


def integer(answer: JSON, key: str) -> int:
    value = answer.get(key)
    return int(value) if isinstance(value, int | float) else 0


def mapping(answer: JSON, key: str) -> dict[str, object]:
    value = answer.get(key)
    return value if isinstance(value, dict) else {}


def objects(answer: JSON, key: str) -> list[dict[str, object]]:
    value = answer.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(answer: JSON, key: str) -> list[str]:
    value = answer.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def moment(answer: JSON, key: str) -> datetime | None:
    try:
        return parse_time(text(answer, key))
    except ValueError:
        return None
