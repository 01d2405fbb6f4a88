"""Runs code in a process that may not write large files, which stands for a full disk on any system."""

import subprocess
import sys

_SET_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))\n"


def run_with_file_limit(code: str, limit_bytes: int) -> str:
    """What the code prints on standard error; it must fail."""
    command = [sys.executable, "-c", _SET_LIMIT.format(limit_bytes) + code]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 1, result
    return result.stderr
