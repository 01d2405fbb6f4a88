"""Reading several streamed answers at once, from a real server of the standard library."""

import http.server
import threading
from collections.abc import Iterator

import pytest

from bench.http_streams import read_streams


class Chunked(http.server.BaseHTTPRequestHandler):
    """Answers with the request's body between two other lines, as a chunked stream."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in (b'data: {"n":1}\n\n', body + b"\n", b'{"done":true}\n'):
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server has
        """Tests are silent."""


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chunked)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield int(server.server_address[1])
    server.shutdown()
    thread.join()
    server.server_close()


def test_every_answer_has_its_own_lines(port: int) -> None:
    answers = read_streams(port, "/x", [b'{"a":1}', b'{"a":2}', b'{"a":3}'], 10)
    found = [[line for _, line in answer.lines] for answer in answers]
    assert found == [[b'{"n":1}', b'{"a":%d}' % number, b'{"done":true}'] for number in (1, 2, 3)]


def test_times_go_forward(port: int) -> None:
    (answer,) = read_streams(port, "/x", [b"{}"], 10)
    times = [seconds for seconds, _ in answer.lines]
    assert times == sorted(times)
    assert times[0] > 0
