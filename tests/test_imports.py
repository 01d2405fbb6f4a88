"""What importing costs: the command line must start fast, so it loads little until a command runs."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
HEAVY = {"aiohttp", "asyncio", "cffi", "jinja2", "llama_cpp", "numpy", "prometheus_client", "rich"}


def loaded_by(statement: str) -> set[str]:
    """The top-level names of all modules that are loaded after `statement` in a new Python."""
    program = f"import sys\n{statement}\nprint('\\n'.join({{name.split('.')[0] for name in sys.modules}}))"
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return set(finished.stdout.split())


@pytest.mark.slow
def test_the_command_line_starts_light() -> None:
    assert loaded_by("import shim.cli.main") & HEAVY == set()


@pytest.mark.slow
@pytest.mark.parametrize("package", ["modelfiles", "runtime", "mirrors", "shim"])
def test_a_package_alone_loads_nothing(package: str) -> None:
    ours = {"modelfiles", "runtime", "mirrors", "shim"}
    assert loaded_by(f"import {package}") & (HEAVY | ours) == {package}
