"""What people reported as broken about text that is piped into `run`.

A case of `tests/data/reports.jsonl`; its number is in the names. The server only records what it is asked.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.server import ShimServer
from tests.shim.serving import CAPABLE

pytestmark = [pytest.mark.live, pytest.mark.slow]

LINES = ["first line", "second: Grüße", "third"]
INPUTS = {
    "LF": "\n".join(LINES).encode() + b"\n",
    "CR LF": "\r\n".join(LINES).encode() + b"\r\n",
    "byte order mark": b"\xef\xbb\xbf" + "\n".join(LINES).encode() + b"\n",
    "no final newline": "\n".join(LINES).encode(),
    "200 KB": ("\n".join(LINES) + "\n" + "x" * 200_000).encode(),
}
RECORDER = """
import http.server, json, sys, urllib.request
target, record = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments): pass
    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with open(record, "a") as file:
            file.write(json.dumps([self.path, body.decode()]) + "\\n")
        request = urllib.request.Request(target + self.path, body or None, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
    do_GET = do_POST = do_HEAD = pass_on
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Recorded:
    """What went through, and a command line that is pointed at the recorder."""

    def __init__(self, server: ShimServer, port: int, record: Path) -> None:
        self._server, self._port, self._record = server, port, record

    def run(self, content: bytes, *arguments: str) -> tuple[bytes, list[str]]:
        """The output of `run` and the prompts that were sent."""
        self._record.write_text("")
        done = subprocess.run(
            [sys.executable, "-c", "from shim.cli.main import main; main()", "run", "capable", *arguments],
            env={**self._server.environment(), "OLLAMA_HOST": f"127.0.0.1:{self._port}"},
            input=content, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        sent: list[Any] = [json.loads(line) for line in self._record.read_text().splitlines()]
        bodies = [json.loads(body) for path, body in sent if path in ("/api/generate", "/api/chat")]
        return done.stdout, [body["prompt"] for body in bodies if body.get("prompt")]


@pytest.fixture
def recorded(start_server: Any, tmp_path: Path) -> Any:
    server: ShimServer = start_server(SHIM_ENGINE="fake", OLLAMA_GO_TEMPLATE="1")
    weights = server.home / "capable.gguf"
    weights.write_bytes(CAPABLE)
    server.create("capable", weights, "TEMPLATE {{ .Prompt }}")  # too long a prompt is cut
    record = tmp_path / "record"
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER, f"http://{server.host}", str(record)],
        stdout=subprocess.PIPE,
        text=True,
    ) as recorder:
        assert recorder.stdout is not None
        yield Recorded(server, int(recorder.stdout.readline()), record)
        recorder.kill()


@pytest.mark.parametrize("argument", ["", "Summarise."])
def test_24_what_is_piped_in_is_one_prompt(recorded: Recorded, argument: str) -> None:
    for content in INPUTS.values():
        output, prompts = recorded.run(content, *filter(None, [argument]))
        (prompt,) = prompts
        found = prompt.replace("\r\n", "\n").split("\n")
        assert found[:2] == LINES[:2]
        assert found[2].startswith(LINES[2])
        assert prompt.endswith(argument)
        assert "\ufeff" not in prompt
        assert len(prompt) >= len(content.decode().replace("\r", "").strip("\ufeff\n"))
        assert output.strip()
        assert b"\x1b" not in output
        assert b">>>" not in output


def test_24_nothing_piped_in_ends_at_once(recorded: Recorded) -> None:
    assert recorded.run(b"") == (b"", [])
    output, prompts = recorded.run(b"", "Summarise.")
    assert prompts == ["Summarise."]
    assert output.strip()
