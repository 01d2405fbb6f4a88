"""llama-server, where the path of its binary is given: the same model, slots, context and threads."""

import http.client
import subprocess
import time
from typing import Any

import msgspec
import psutil

from bench.contenders import Setup
from bench.http_streams import Timed, read_streams
from bench.measures import Decoded, Memory, Prefilled, Stream
from bench.ports import free_port, wait_for_port

READY_SECONDS = 120


class LlamaServer:
    """See `bench.contenders.Contender`."""

    def __init__(self, setup: Setup) -> None:
        self._port = free_port()
        threads, slots = str(setup.threads), str(setup.slots)
        command = [setup.binary, "-m", setup.model, "--port", str(self._port), "--no-webui"]
        command += ["-c", str(setup.num_ctx * setup.slots), "-np", slots, "-t", threads, "-tb", threads]
        command += ["-b", "512", "-ub", "512"]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(self._port, self._server)
        self._wait_until_loaded()
        self._ask(["warm up"], 2)

    def decode(self, prompts: list[str], tokens: int) -> Decoded:
        return Decoded([_stream(timed) for timed in self._ask(prompts, tokens)])

    def prefill(self, prompt: str) -> Prefilled:
        (timed,) = self._ask([prompt], 1)
        timings = msgspec.json.decode(timed.lines[-1][1])["timings"]
        return Prefilled(timings["prompt_n"], timings["prompt_ms"] / 1000, timed.lines[0][0])

    def memory(self) -> Memory:
        return Memory(0, psutil.Process(self._server.pid).memory_info().rss)

    def close(self) -> None:
        self._server.terminate()
        self._server.wait(20)

    def _wait_until_loaded(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
            time.sleep(0.2)
        raise TimeoutError("llama-server does not get ready")

    def _ask(self, prompts: list[str], tokens: int) -> list[Timed]:
        bodies = [msgspec.json.encode(_body(prompt, tokens)) for prompt in prompts]
        return read_streams(self._port, "/completion", bodies)


def _body(prompt: str, tokens: int) -> dict[str, Any]:
    settings = {"temperature": 0, "top_k": 1, "ignore_eos": True, "cache_prompt": False}
    return {"prompt": prompt, "n_predict": tokens, "stream": True, **settings}


def _stream(timed: Timed) -> Stream:
    last = msgspec.json.decode(timed.lines[-1][1])
    return Stream(last["timings"]["predicted_n"], [seconds for seconds, _ in timed.lines[:-1]])
