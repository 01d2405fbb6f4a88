"""The official JavaScript client, under Node: each step prints what it saw, and Python checks it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.dictated import ASK_WEATHER, ENDLESS, WEATHER, say
from tests.live.server import ShimServer
from tests.shim.serving import CAPABLE

pytestmark = [pytest.mark.live, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("everything.cjs")


@pytest.fixture(scope="module")
def seen(node: Path, node_modules: Path, scripted: ShimServer) -> dict[str, Any]:
    """What the client saw, by step."""
    digest_of = scripted.home / "uploaded.gguf"
    digest_of.write_bytes(CAPABLE)
    task = {
        "host": f"http://{scripted.host}", "model": "capable", "modules": str(node_modules), "tool": WEATHER,
        "callPrompt": ASK_WEATHER, "endless": ENDLESS, "say": say("Grüße!"), "file": str(digest_of),
    }  # fmt: skip
    done = subprocess.run(
        [str(node), str(PROGRAM)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_chat(seen: dict[str, Any]) -> None:
    assert seen["chat"]["message"] == {"role": "assistant", "content": "Grüße!"}
    assert seen["chat"]["done"] is True
    assert seen["chat"]["eval_count"] > 0


def test_a_streamed_chat_says_the_same(seen: dict[str, Any]) -> None:
    assert "".join(seen["pieces"]) == "Grüße!"
    assert len(seen["pieces"]) > 2


def test_tools_pass_through(seen: dict[str, Any]) -> None:
    (call,) = seen["tools"]["message"]["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert call["function"]["arguments"] == {"city": "Zürich"}
    assert seen["afterTool"]["message"]["content"] == "Grüße!"


def test_abort_ends_the_stream_and_frees_the_only_slot(seen: dict[str, Any]) -> None:
    assert seen["aborted"] == "AbortError"
    assert seen["afterAbort"] == "Grüße!"


def test_embeddings(seen: dict[str, Any]) -> None:
    assert [len(vector) > 1 for vector in seen["embed"]["embeddings"]] == [True, True]
    assert seen["embed"]["prompt_eval_count"] > 1


def test_create_from_another_model_and_by_digest(seen: dict[str, Any]) -> None:
    assert seen["created"][-1] == "success"
    assert "Be brief." in seen["shown"]["modelfile"]
    assert {"capable:latest", "js:latest"} <= set(seen["listed"])
    assert seen["deleted"] == "success"


def test_errors_are_told_in_words(seen: dict[str, Any]) -> None:
    assert seen["missing"] == {"status": 404, "message": "model 'nobody' not found"}
