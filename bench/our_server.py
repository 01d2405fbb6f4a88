"""Our server: `shim serve` with a store of its own, the model created in it, asked over HTTP."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import psutil

from bench.contenders import Setup
from bench.http_streams import Timed, read_streams
from bench.measures import Decoded, Memory, Prefilled, Stream
from bench.ports import free_port, wait_for_port

SHIM = [sys.executable, "-c", "from shim.cli.main import main; main()"]
MODEL = "bench"


class RunningShim:
    """A server on a free port, with its store beside `neighbour`, so that files can be linked into it."""

    def __init__(self, neighbour: str, **settings: str) -> None:
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory(dir=Path(neighbour).resolve().parent, prefix=".bench-")
        self.folder = Path(self._folder.name)
        self.environment = os.environ | {
            "OLLAMA_HOST": f"127.0.0.1:{self.port}",
            "OLLAMA_MODELS": str(self.folder / "models"),
            "PYTHONPATH": os.getcwd(),
            **settings,
        }
        # The log goes where ours goes, so that a server that does not start says why.
        self.process = subprocess.Popen([*SHIM, "serve"], env=self.environment, stdout=sys.stderr)
        wait_for_port(self.port, self.process)

    def create(self, model: str, *lines: str) -> None:
        """Makes the model `MODEL` from a GGUF file."""
        modelfile = self.folder / "Modelfile"
        modelfile.write_text("\n".join([f"FROM {Path(model).resolve()}", *lines]) + "\n")
        self.cli("create", MODEL, "-f", str(modelfile))

    def cli(self, *arguments: str) -> None:
        """Runs `shim` with these arguments, silently; raises if it fails."""
        finished = subprocess.run([*SHIM, *arguments], env=self.environment, capture_output=True, check=False)
        if finished.returncode:
            raise RuntimeError(f"shim {' '.join(arguments)}: {finished.stderr.decode(errors='replace')}")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self._folder.cleanup()


class OurServer:
    """See `bench.contenders.Contender`."""

    def __init__(self, setup: Setup) -> None:
        self._options = {"temperature": 0, "num_ctx": setup.num_ctx, "num_thread": setup.threads}
        self._shim = RunningShim(setup.model, OLLAMA_NUM_PARALLEL=str(setup.slots))
        self._shim.create(setup.model)
        self._ask(["warm up"], 2)

    def decode(self, prompts: list[str], tokens: int) -> Decoded:
        return Decoded([_stream(timed) for timed in self._ask(prompts, tokens)])

    def prefill(self, prompt: str) -> Prefilled:
        (timed,) = self._ask([prompt], 1)
        last = msgspec.json.decode(timed.lines[-1][1])
        return Prefilled(last["prompt_eval_count"], last["prompt_eval_duration"] / 1e9, timed.lines[0][0])

    def memory(self) -> Memory:
        server = psutil.Process(self._shim.process.pid)
        workers = server.children(recursive=True)
        return Memory(server.memory_info().rss, sum(worker.memory_info().rss for worker in workers))

    def close(self) -> None:
        self._shim.close()

    def _ask(self, prompts: list[str], tokens: int) -> list[Timed]:
        bodies = [msgspec.json.encode(self._body(prompt, tokens)) for prompt in prompts]
        return read_streams(self._shim.port, "/api/generate", bodies)

    def _body(self, prompt: str, tokens: int) -> dict[str, Any]:
        options = self._options | {"num_predict": tokens}
        return {"model": MODEL, "prompt": prompt, "raw": True, "stream": True, "options": options}


def _stream(timed: Timed) -> Stream:
    last = msgspec.json.decode(timed.lines[-1][1])
    if "error" in last:
        raise RuntimeError(last["error"])
    return Stream(last["eval_count"], [seconds for seconds, _ in timed.lines[:-1]])
