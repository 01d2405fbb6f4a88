"""How long a command takes from a new process to its end: `shim list` against a running server.

python -m bench.cli --model FILE.gguf
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import click

from bench.our_server import SHIM, RunningShim


def installed_command() -> list[str]:
    """The `shim` that was installed beside this Python, or the module where there is none."""
    beside = Path(sys.executable).parent / "shim"
    return [str(beside)] if beside.exists() else SHIM


@click.command()
@click.option(
    "--model", type=click.Path(exists=True, dir_okay=False), required=True, help="To have one to list."
)
@click.option("--rounds", default=10, show_default=True)
def main(model: str, rounds: int) -> None:
    """Time `shim list` and, as the floor under it, Python doing nothing."""
    shim = RunningShim(model)
    try:
        shim.create(model)
        bare, listed = [], []
        for _ in range(rounds):
            bare.append(seconds([sys.executable, "-c", "pass"], shim))
            listed.append(seconds([*installed_command(), "list"], shim))
    finally:
        shim.close()
    click.echo(f"python -c pass  {statistics.median(bare) * 1000:.0f} ms")
    click.echo(
        f"shim list       {statistics.median(listed) * 1000:.0f} ms, at most {max(listed) * 1000:.0f} ms"
    )


def seconds(command: list[str], shim: RunningShim) -> float:
    """One run."""
    began = time.perf_counter()
    subprocess.run(command, env=shim.environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
