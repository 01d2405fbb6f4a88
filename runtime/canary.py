"""Proves an engine build before it is trusted, once for each (library, processor, weight types).

A build can be wrong for the processor it runs on: with some compilers, kernels for matrix tiles die with
SIGILL on the first quantised product. So a process of its own multiplies with every weight type of the
model first, with the re-arranged weight layouts ("extra buffers") and, when that dies or gives wrong
numbers, without them. The verdict is kept in a file. `python -m runtime.canary` is that process; the rest
runs in the server and loads no native code.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import logging
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from runtime.errors import LoadFailed
from runtime.exits import describe_exit

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 60.0


class Verdict(Struct, frozen=True):
    """Whether extra buffers may be used; ``reason`` is "" where all is well."""

    extra_buffers: bool
    reason: str = ""


def find_libraries(override: str = "") -> Path | None:
    """The folder with llama.cpp's shared libraries; ``override`` is SHIM_LLAMA_LIB."""
    if override:
        return Path(override)
    spec = importlib.util.find_spec("llama_cpp")
    return Path(spec.origin).parent / "lib" if spec and spec.origin else None


def processor() -> str:
    """What identifies the kind of processor: model and instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    found = {line.partition(":")[0].strip(): line for line in reversed(lines) if line.startswith(wanted)}
    return f"{platform.machine()} {sorted(found.values())}"


def verdict_key(libraries: Path | None, types: Iterable[str], cpu: str) -> str:
    """A name for the combination, stable between runs. Reads the kernels' library (a few MB)."""
    digest = hashlib.sha256(cpu.encode())
    files = sorted(libraries.glob("libggml*")) if libraries else []
    for file in files:
        if file.is_file():
            digest.update(file.read_bytes())
    digest.update(" ".join(sorted(types)).encode())
    return digest.hexdigest()[:32]


class Canary:
    """Proves combinations and remembers what came out in ``memory`` (a JSON file)."""

    def __init__(self, memory: Path, *, libraries: str = "", command: Sequence[str] = ()) -> None:
        self._memory = memory
        self._libraries = libraries
        self._command = tuple(command) or (sys.executable, "-m", "runtime.canary")
        self._lock = asyncio.Lock()

    async def prove(self, types: Iterable[str]) -> Verdict:
        """The verdict for a model with these weight types; LoadFailed where the build can't be used at
        all.
        """
        wanted = sorted(set(types))
        libraries = find_libraries(self._libraries)
        async with self._lock:
            key = await asyncio.to_thread(verdict_key, libraries, wanted, processor())
            known = self._read()
            if key not in known:
                known[key] = await self._try(wanted)
                self._write(known)
                if known[key].reason:
                    log.warning("%s", known[key].reason)
        return known[key]

    async def _try(self, types: list[str]) -> Verdict:
        fault = await self._run(types, extra_buffers=True)
        if not fault:
            return Verdict(True)
        plain_fault = await self._run(types, extra_buffers=False)
        if plain_fault:
            raise LoadFailed(
                "engine",
                f"this build of llama.cpp does not work on this processor ({plain_fault}); build it again "
                f"here: "
                "`make clean setup`, or reinstall llama-cpp-python from source with "
                "CMAKE_ARGS=-DGGML_NATIVE=off",
            )
        return Verdict(
            False,
            f"the engine build fails with re-arranged weights on this processor ({fault}); using plain ones",
        )

    async def _run(self, types: list[str], *, extra_buffers: bool) -> str:
        """ "" when the numbers are right, else what went wrong."""
        arguments = ["--extra"] if extra_buffers else []
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *arguments,
            *types,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            out, _ = await asyncio.wait_for(process.communicate(), TIMEOUT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            return f"no result within {TIMEOUT_SECONDS:.0f} seconds"
        if process.returncode != 0:
            return describe_exit(process.returncode or 0).reason
        return str(json.loads(out)["fault"])

    def _read(self) -> dict[str, Verdict]:
        try:
            return decode(self._memory.read_bytes(), type=dict[str, Verdict])
        except (OSError, DecodeError):
            return {}  # never written, or damaged: prove again

    def _write(self, known: dict[str, Verdict]) -> None:
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._memory.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(encode(known))
            fresh.replace(self._memory)
        except OSError as problem:
            log.warning("cannot remember the engine check in %s: %s", self._memory, problem)


def main(arguments: Sequence[str]) -> int:
    """Multiply with the named weight types; prints {"fault": "", "worst": …}. Dies where the build is
    broken.
    """
    from runtime.binding.library import LOG_WARNING, ffi, lib, start, text
    from runtime.threads import thread_count

    start(LOG_WARNING)
    names = {text(lib.ggml_type_name(index)).upper(): index for index in range(lib.GGML_TYPE_COUNT)}
    extra = "--extra" in arguments
    types = [names[name.upper()] for name in arguments if name.upper() in names]
    worst = ffi.new("float *")
    result = lib.shim_canary(types, len(types), extra, thread_count(0), worst)
    faults = {0: "", 1: f"a product is off by {worst[0]:.2g} of its size", 2: "the engine refused to compute"}
    print(json.dumps({"fault": faults[result], "worst": worst[0]}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
