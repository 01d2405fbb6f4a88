"""Why a worker process ended, in words. Pure: a return code and the last log lines in, a sentence out."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

# What native code writes when memory is short (ggml, libstdc++, the CUDA and Metal back ends).
OUT_OF_MEMORY_SIGNS = (
    "out of memory",
    "bad_alloc",
    "failed to allocate",
    "cannot allocate memory",
    "unable to allocate",
    "insufficient memory",
)
MEANINGS = {
    "SIGKILL": "killed from outside; if nobody did it, the system was out of memory",
    "SIGSEGV": "a memory fault in native code",
    "SIGBUS": "a mapped file shrank or could not be read, or a memory fault in native code",
    "SIGABRT": "native code gave up on an error",
    "SIGILL": "an instruction that this processor cannot run",
    "SIGFPE": "an arithmetic fault in native code",
    "SIGTERM": "asked to end from outside",
}


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: by ``signal`` (its name) or, if that is "", with exit code ``code``."""

    code: int
    signal: str
    reason: str
    out_of_memory: bool
    last_lines: tuple[str, ...] = ()


def describe_exit(returncode: int, last_lines: Sequence[str] = (), *, oom_killed: bool = False) -> Exit:
    """``returncode`` as `subprocess` gives it: negative for a signal.

    ``oom_killed``: the system has just ended some process for want of memory.
    """
    name = _signal_name(-returncode) if returncode < 0 else ""
    complained = any(sign in line.lower() for line in last_lines for sign in OUT_OF_MEMORY_SIGNS)
    killed = oom_killed and name == "SIGKILL"
    if killed:
        meaning = "the system ran out of memory"
    elif complained:
        meaning = "native code ran out of memory"
    else:
        meaning = MEANINGS.get(name, "")
    what = f"signal {name}" if name else f"exit status {returncode}"
    reason = f"{what} ({meaning})" if meaning else what
    return Exit(returncode, name, reason, killed or complained, tuple(last_lines))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def telling_line(last_lines: Sequence[str]) -> str:
    """The line that says most about a fault: the last one with the word error, failed or assert, or "" ."""
    signs = ("error", "failed", "assert", "abort", "terminate", *OUT_OF_MEMORY_SIGNS)
    telling = [line for line in last_lines if any(sign in line.lower() for sign in signs)]
    return telling[-1].strip() if telling else ""
