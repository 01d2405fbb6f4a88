"""Names of tools as models write them."""

import pytest

from modelfiles.messages import Tool, tool_from_json
from modelfiles.replies.declared import DeclaredTools


def tool(name: str) -> Tool:
    return tool_from_json(
        {"function": {"name": name, "parameters": {"properties": {"x": {"type": "integer"}}}}}
    )


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("get", "get"),
        (" get_all\n", "get_all"),
        ("GET_ALL", "get_all"),
        ("get-all", None),
        ("Run", "Run"),
        ("run", "run"),
        ("RUN", None),
        ("", None),
        ("fs.read-file", "fs.read-file"),
    ],
)
def test_find(written: str, found: str | None) -> None:
    tools = DeclaredTools(map(tool, ["get", "get_all", "Run", "run", "fs.read-file"]))
    assert tools.find(written) == found


def test_schemas() -> None:
    tools = DeclaredTools([tool("f"), Tool("bare", {"type": "function"})])
    assert tools.properties("f") == {"x": {"type": "integer"}}
    assert tools.properties("bare") == {}
    assert tools.schema("bare") == {}
