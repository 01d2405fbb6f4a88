"""The overview that `shim show` prints: the server's answer in, text out."""

from __future__ import annotations

from collections.abc import Iterator

from shim.cli.answers import JSON, integer, mapping, objects, text, texts
from shim.cli.formats import count_text, table

Rows = list[tuple[str, ...]]

_INDENT = "  "
_LONG_LIST = 8
_TEXT_LINES = 2


def overview(answer: JSON, *, verbose: bool = False) -> str:
    """Sections with a title and rows, a blank line after each; empty sections are left out."""
    sections: list[tuple[str, Rows]] = [
        ("Model", _model(answer)),
        ("Capabilities", [(name,) for name in texts(answer, "capabilities")]),
        ("Projector", _projector(answer)),
        ("Parameters", _parameters(answer)),
    ]
    if verbose:
        sections += [("Metadata", _metadata(answer)), ("Tensors", _tensors(answer))]
    sections += [("System", _head(text(answer, "system"))), ("License", _head(text(answer, "license")))]
    return "".join(_section(title, rows) for title, rows in sections if rows)


def _section(title: str, rows: Rows) -> str:
    return f"{_INDENT}{title}\n{table(rows, _INDENT * 2)}\n"


def _model(answer: JSON) -> Rows:
    info, details = mapping(answer, "model_info"), mapping(answer, "details")
    architecture = text(info, "general.architecture") or text(details, "family")
    size = text(details, "parameter_size")
    count = integer(info, "general.parameter_count")
    rows = [
        ("Remote model", text(answer, "remote_model")),
        ("Remote URL", text(answer, "remote_host")),
        ("architecture", architecture),
        ("parameters", size or (count_text(count) if count else "")),
        ("context length", _number(info, f"{architecture}.context_length")),
        ("embedding length", _number(info, f"{architecture}.embedding_length")),
        ("experts", _experts(answer, info, architecture)),
        ("quantization", text(details, "quantization_level")),
        ("requires", text(answer, "requires")),
    ]
    return [row for row in rows if row[1]]


def _experts(answer: JSON, info: JSON, architecture: str) -> str:
    """How many experts each layer has, and how many of them a token uses: the Modelfile's number wins."""
    experts = integer(info, f"{architecture}.expert_count")
    if not experts:
        return ""
    own = _number(info, f"{architecture}.expert_used_count")
    chosen = next((row[1] for row in _parameters(answer) if row[0] == "num_experts_used"), "")
    if chosen and chosen != own:
        return f"{experts}, {chosen} used ({own} by default)"
    return f"{experts}, {own} used" if own else str(experts)


def _number(info: JSON, key: str) -> str:
    value = integer(info, key)
    return str(value) if value else ""


def _projector(answer: JSON) -> Rows:
    info = mapping(answer, "projector_info")
    count = integer(info, "general.parameter_count")
    rows = [
        ("architecture", text(info, "general.architecture")),
        ("parameters", count_text(count) if count else ""),
        ("embedding length", _number(info, "clip.vision.embedding_length")),
        ("dimensions", _number(info, "clip.vision.projection_dim")),
    ]
    return [row for row in rows if row[1]]


def _parameters(answer: JSON) -> Rows:
    lines = (line.split(None, 1) for line in text(answer, "parameters").splitlines() if line.strip())
    return [(parts[0], parts[1].strip() if len(parts) > 1 else "") for parts in lines]


def _metadata(answer: JSON) -> Rows:
    return [(key, _value_text(value)) for key, value in sorted(mapping(answer, "model_info").items())]


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and len(value) > _LONG_LIST:
        return f"[{', '.join(map(str, value[:_LONG_LIST]))}, ... {len(value) - _LONG_LIST} more]"
    return str(value).replace("\n", "\\n")


def _tensors(answer: JSON) -> Rows:
    return [
        (text(tensor, "name"), text(tensor, "type"), str(tensor.get("shape", "")))
        for tensor in objects(answer, "tensors")
    ]


def _head(body: str) -> Rows:
    """The first lines that are not blank, and dots for the rest."""
    lines = list(_filled_lines(body))
    return [(line,) for line in lines[:_TEXT_LINES] + ["..."] * (len(lines) > _TEXT_LINES)]


def _filled_lines(body: str) -> Iterator[str]:
    return (line.strip() for line in body.splitlines() if line.strip())
