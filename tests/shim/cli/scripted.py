"""A small real HTTP server that answers what a test tells it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any


@dataclass
class Received:
    """One request. `body` is decoded JSON, bytes for an upload, None if there was none."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """A list of items is a stream of JSON lines; `cut` ends the connection before the stream ends."""

    body: object = None
    status: int = 200
    cut: bool = False


@dataclass
class ScriptedServer:
    """Answers by method and path; what no answer was given for is found nowhere. HEAD / always answers.

    `answer_blobs` answers for all paths below /api/blobs/.
    """

    answers: dict[tuple[str, str], Answer | Callable[[Received], Answer]] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    answer_blobs: Callable[[Received], Answer] | None = None
    port: int = 0

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(request.method, request.path) for request in self.received]

    def bodies(self, path: str) -> list[Any]:
        return [request.body for request in self.received if request.path == path]

    def answer(self, request: Received) -> Answer:
        self.received.append(request)
        if (request.method, request.path) == ("HEAD", "/"):
            return Answer()
        if request.path.startswith("/api/blobs/") and self.answer_blobs is not None:
            return self.answer_blobs(request)
        answer = self.answers.get((request.method, request.path), Answer("404 page not found", 404))
        return answer(request) if callable(answer) else answer


def handler_for(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_json = self.headers.get("Content-Type") == "application/json" and data
            body = json.loads(data) if is_json else data or None
            self.reply(server.answer(Received(self.command, self.path, dict(self.headers), body)))

        def reply(self, answer: Answer) -> None:
            self.send_response(answer.status)
            if isinstance(answer.body, list):
                self.send_header("Content-Type", "application/x-ndjson")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.stream(answer)
                return
            text = "" if answer.body is None else answer.body
            data = text.encode() if isinstance(text, str) else json.dumps(text, ensure_ascii=False).encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def stream(self, answer: Answer) -> None:
            assert isinstance(answer.body, list)
            for item in answer.body:
                line = json.dumps(item, ensure_ascii=False).encode() + b"\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
            if answer.cut:
                self.close_connection = True
                return
            self.wfile.write(b"0\r\n\r\n")

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    for method in ("GET", "HEAD", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.do_any)
    return Handler


@dataclass(frozen=True)
class Result:
    """How a call of the command line ended."""

    code: int
    out: str
    err: str


Shim = Callable[..., Result]
