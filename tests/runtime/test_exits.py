"""Ends of processes in words."""

from __future__ import annotations

import pytest

from runtime.exits import describe_exit, telling_line


@pytest.mark.parametrize(
    ("returncode", "signal", "part"),
    [
        (-9, "SIGKILL", "out of memory"),
        (-11, "SIGSEGV", "memory fault"),
        (-4, "SIGILL", "processor"),
        (-6, "SIGABRT", "gave up"),
        (3, "", "exit status 3"),
        (0, "", "exit status 0"),
        (-250, "signal 250", "signal 250"),
    ],
)
def test_reason_names_the_signal_and_its_meaning(returncode: int, signal: str, part: str) -> None:
    ended = describe_exit(returncode)
    assert ended.signal == signal
    assert part in ended.reason
    assert signal in ended.reason
    assert not ended.out_of_memory


@pytest.mark.parametrize(
    "line",
    [
        "alloc_buffer: allocating 9.00 MiB on device 0: cudaMalloc failed: out of memory",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "llama_kv_cache: failed to allocate buffer for kv cache",
    ],
)
def test_memory_is_named_when_the_log_names_it(line: str) -> None:
    ended = describe_exit(-6, ["loading", line])
    assert ended.out_of_memory
    assert "SIGABRT" in ended.reason
    assert "ran out of memory" in ended.reason
    assert ended.last_lines == ("loading", line)


def test_the_telling_line_is_the_last_that_speaks_of_a_fault() -> None:
    assert (
        telling_line(["error: first", "GGML_ASSERT(x) failed ", "stack frame 1"]) == "GGML_ASSERT(x) failed"
    )
    assert telling_line(["all is well"]) == ""
    assert telling_line([]) == ""


def test_a_kill_for_want_of_memory_is_said() -> None:
    ended = describe_exit(-9, oom_killed=True)
    assert ended.reason == "signal SIGKILL (the system ran out of memory)"
    assert ended.out_of_memory
    assert not describe_exit(-11, oom_killed=True).out_of_memory
