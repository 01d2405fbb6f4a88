"""What `shim doctor` looks at: each check looks at one thing of this machine and says what to do about it.

Checks change nothing. Reads files and starts the engine's own test processes; loads no native code itself.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from modelfiles.errors import ModelfilesError
from modelfiles.package import Package
from modelfiles.store import Store
from runtime.errors import LoadFailed
from shim.cli.answers import text
from shim.cli.client import Client
from shim.cli.errors import CommandError
from shim.cli.findings import Finding
from shim.cli.formats import size_text
from shim.cli.transfer_checks import check_mirrors, check_proxy
from shim.settings import Settings

_GB = 10**9
_ANSWER_SECONDS = 2.0
_LITTLE_MEMORY_BYTES = 2 * _GB
_LITTLE_DISK_BYTES = 5 * _GB
# Weight types of most files that people run; the server proves those of each model before it loads it.
_PROVED_TYPES = ("F16", "F32", "Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0")
_CPU_FEATURES = (
    "avx", "avx2", "fma", "f16c", "bmi2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8",
    "asimd", "asimddp", "i8mm", "sve",
)  # fmt: skip
_NEEDED_ON_X86 = "avx2"


def findings(settings: Settings) -> Iterator[Finding]:
    """All checks, in the order of what depends on what."""
    yield check_engine()
    yield check_kernels(settings)
    yield check_processor(cpu_flags(Path("/proc/cpuinfo")), platform.machine())
    yield check_memory()
    yield check_disk(settings.models)
    yield check_store(settings.models)
    yield check_port(settings)
    yield check_mirrors(settings)
    yield check_proxy(settings)
    yield from (
        Finding("setting", "warning", warning, "correct or unset it") for warning in settings.warnings
    )


def check_engine() -> Finding:
    """Whether llama.cpp's libraries load and are those that the binding was compiled for."""
    from runtime.engine_check import engine_version

    try:
        version = engine_version()
    except LoadFailed as error:
        remedy = "reinstall moe-shim; SHIM_LLAMA_LIB must be unset or right"
        return Finding("engine", "failed", str(error), remedy)
    return Finding("engine", "ok", f"llama.cpp / ggml {version}; built already, no compiler is needed")


def check_kernels(settings: Settings) -> Finding:
    """Whether the engine calculates rightly on this processor, by its own proof, made anew."""
    from runtime.canary import Canary

    with tempfile.TemporaryDirectory() as folder:
        canary = Canary(Path(folder) / "proofs.json", libraries=settings.llama_lib)
        try:
            verdict = asyncio.run(canary.prove(_PROVED_TYPES))
        except LoadFailed as error:
            return Finding("kernels", "failed", str(error), "build the engine here, as the text says")
    if verdict.reason:
        remedy = "nothing has to be done: the slower kernels are used; a build made here would be faster"
        return Finding("kernels", "warning", verdict.reason, remedy)
    return Finding("kernels", "ok", f"right products with {', '.join(_PROVED_TYPES)}")


def cpu_flags(path: Path) -> frozenset[str]:
    """What Linux says of the processor; nothing elsewhere."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    named = (line.partition(":") for line in lines)
    return frozenset(
        flag for key, _, flags in named if key.strip() in ("flags", "Features") for flag in flags.split()
    )


def check_processor(flags: frozenset[str], machine: str) -> Finding:
    """Which instructions there are that make models quick."""
    known = [name for name in _CPU_FEATURES if name in flags]
    found = f"{machine}: {', '.join(known)}" if known else machine
    if flags and machine.lower() in ("x86_64", "amd64") and _NEEDED_ON_X86 not in flags:
        remedy = "models run, but slowly; a virtual machine must pass the processor's features through"
        return Finding("processor", "warning", f"{found}; no {_NEEDED_ON_X86}", remedy)
    return Finding("processor", "ok", found)


def check_memory() -> Finding:
    """What a model may take, under the limits of containers and users too."""
    from runtime.free_memory import system_bytes

    free = system_bytes()
    found = f"{size_text(free)} free"
    if free < _LITTLE_MEMORY_BYTES:
        remedy = "unload models ('shim ps', 'shim stop'), end other programs, or raise the container's limit"
        return Finding("memory", "warning", found, remedy)
    return Finding("memory", "ok", found)


def check_disk(models: Path) -> Finding:
    """Room where models are stored, or will be."""
    place = next(folder for folder in (models, *models.absolute().parents) if folder.exists())
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Finding("disk", "failed", f"{place}: {error.strerror}", "OLLAMA_MODELS names another folder")
    found = f"{size_text(free)} free at {models}"
    if free < _LITTLE_DISK_BYTES:
        remedy = "'shim rm' removes models; OLLAMA_MODELS names a folder on another disk"
        return Finding("disk", "warning", found, remedy)
    return Finding("disk", "ok", found)


def check_store(models: Path) -> Finding:
    """Whether each model can be read and has all its files, in the sizes that its manifest tells."""
    if not models.exists():
        return Finding("store", "ok", f"{models} does not exist yet; 'shim create' makes it")
    if not os.access(models, os.R_OK | os.X_OK):
        return Finding("store", "failed", f"{models} cannot be read", "give this user the right to read it")
    store = Store(models)
    names, faults = store.names(), list[str]()
    for name in names:
        try:
            faults += _wrong_sizes(store, store.load(name))
        except (ModelfilesError, OSError) as error:
            faults.append(f"{name.display}: {error}")
    if faults:
        remedy = "create or pull these models again, or remove them with 'shim rm'"
        return Finding("store", "warning", "; ".join(faults), remedy)
    if not os.access(models, os.W_OK):
        remedy = "models run, but none can be created; give this user the right to write"
        return Finding("store", "warning", f"{models} cannot be written", remedy)
    return Finding("store", "ok", f"{len(names)} model{'' if len(names) == 1 else 's'} at {models}")


def _wrong_sizes(store: Store, package: Package) -> Iterator[str]:
    for layer in package.layers:
        size = store.blob_path(layer.digest).stat().st_size
        if size != layer.size:
            yield f"{package.name.display}: {layer.digest[:19]} has {size} bytes instead of {layer.size}"


def check_port(settings: Settings) -> Finding:
    """Whether a server answers at the address, or one could be started there."""
    client = Client(settings.host, seconds=_ANSWER_SECONDS)
    try:
        version = text(client.get("/api/version"), "version")
        return Finding("server", "ok", f"answers at {client.url}, API version {version or 'unknown'}")
    except CommandError:
        pass
    if not client.is_local:
        remedy = "OLLAMA_HOST names the server; is it running, and is its port open?"
        return Finding("server", "warning", f"nothing answers at {client.url}", remedy)
    reason = _cannot_listen(settings)
    if reason:
        remedy = "end the program that uses it, or choose a port: OLLAMA_HOST=127.0.0.1:11500 shim serve"
        return Finding("server", "failed", f"{client.url} cannot be listened on ({reason})", remedy)
    return Finding("server", "ok", f"{client.url} is free; 'shim serve' starts a server there")


def _cannot_listen(settings: Settings) -> str:
    """Why, or nothing."""
    family = socket.AF_INET6 if ":" in settings.host.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if sys.platform != "win32":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings.host.host, settings.host.port))
    except OSError as error:
        return error.strerror or str(error)
    return ""
