"""Which build of llama.cpp workers use: asked in a process of its own, `python -m runtime.engine_check`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from runtime.errors import LoadFailed
from runtime.exits import describe_exit

TIMEOUT_SECONDS = 60.0


def engine_version(command: Sequence[str] = ()) -> str:
    """ "llama.cpp version / ggml version". Blocking. LoadFailed, with what to do, if it cannot be loaded."""
    chosen = list(command) or [sys.executable, "-m", "runtime.engine_check"]
    try:
        done = subprocess.run(chosen, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise LoadFailed("engine", f"the engine did not load within {TIMEOUT_SECONDS:.0f} seconds") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise LoadFailed(
            "engine", f"the engine cannot be loaded ({describe_exit(done.returncode).reason})"
        ) from None
    if "error" in answer:
        raise LoadFailed("engine", str(answer["error"]))
    return str(answer["version"])


def main() -> int:
    """Print {"version"}, or {"error"} for libraries that are missing or of another version."""
    from runtime.errors import LoadError

    try:
        from runtime.binding.library import check_version

        print(json.dumps({"version": check_version()}))
    except LoadError as error:
        print(json.dumps({"error": str(error)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
