"""How many tokens a second become embeddings: our server beside llama-server, on the same model and texts.

python -m bench.embeddings --model FILE.gguf --llama-server PATH

Both get a list of texts in one request, and every text is new to both. Rounds alternate who begins.
"""

import http.client
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

import click
import msgspec

from bench.our_server import MODEL, RunningShim
from bench.ports import free_port, wait_for_port
from bench.prompts import reading

READY_SECONDS = 120
LENGTHS = (10, 60, 200)  # words of a text
Ask = Callable[[list[str]], int]


def post(port: int, path: str, body: dict[str, Any]) -> Any:
    """One request, answered whole."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", path, msgspec.json.encode(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {data[:300]!r}")
    return msgspec.json.decode(data)


def ours(shim: RunningShim) -> Ask:
    def ask(texts: list[str]) -> int:
        return int(post(shim.port, "/api/embed", {"model": MODEL, "input": texts})["prompt_eval_count"])

    return ask


def theirs(port: int) -> Ask:
    def ask(texts: list[str]) -> int:
        return int(post(port, "/v1/embeddings", {"input": texts})["usage"]["prompt_tokens"])

    return ask


def start_theirs(binary: str, model: str, pooling: str, threads: int) -> tuple[subprocess.Popen[bytes], int]:
    """llama-server in its mode for embeddings, with room for each text in one batch."""
    port = free_port()
    command = [binary, "-m", model, "--port", str(port), "--no-webui", "--embeddings", "--pooling", pooling]
    command += ["-c", "4096", "-b", "512", "-ub", "512", "-t", str(threads), "-tb", str(threads)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_port(port, server)
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/health")
        if connection.getresponse().status == 200:
            return server, port
        time.sleep(0.2)
    raise TimeoutError("llama-server does not get ready")


def rate(ask: Ask, texts: list[str]) -> float:
    """Tokens a second."""
    began = time.perf_counter()
    return ask(texts) / (time.perf_counter() - began)


@click.command()
@click.option("--model", type=click.Path(exists=True, dir_okay=False), required=True, help="GGUF file.")
@click.option("--llama-server", "binary", type=click.Path(exists=True), required=True)
@click.option("--pooling", default="last", show_default=True, help="What llama-server is told.")
@click.option("--threads", default=2, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--texts", "count", default=16, show_default=True, help="Texts in a request.")
def main(model: str, binary: str, pooling: str, threads: int, rounds: int, count: int) -> None:
    """Compare embeddings a second, for short, middling and long texts."""
    shim = RunningShim(model)
    shim.create(model, f"PARAMETER num_thread {threads}")
    server, port = start_theirs(binary, model, pooling, threads)
    try:
        contenders = [ours(shim), theirs(port)]
        for ask in contenders:
            ask(["warm up"] * 4)
        for words in LENGTHS:
            report(words, count, compared(contenders, words, count, rounds))
    finally:
        shim.close()
        server.terminate()
        server.wait(20)


def compared(contenders: list[Ask], words: int, count: int, rounds: int) -> list[tuple[float, float]]:
    """Both rates of every round."""
    found = []
    for round_ in range(rounds):
        texts = [reading(1000 * words + round_ * count + text, words) for text in range(count)]
        turn = [0, 1] if round_ % 2 else [1, 0]
        rates = {who: rate(contenders[who], texts) for who in turn}
        found.append((rates[0], rates[1]))
    return found


def report(words: int, count: int, found: list[tuple[float, float]]) -> None:
    """Medians over the rounds, and the median of the ratios within them."""
    mine, other = (statistics.median(column) for column in zip(*found, strict=True))
    ratio = statistics.median(ours_ / theirs_ for ours_, theirs_ in found)
    click.echo(
        f"{count} texts of {words} words: {mine:.0f} tokens/s, llama-server {other:.0f} ({ratio:.3f}x)"
    )


if __name__ == "__main__":
    main()
