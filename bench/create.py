"""How long `shim create` takes for a local GGUF file, beside `sha256sum` on the same file, and what disk it
costs.

python -m bench.create --model FILE.gguf
"""

import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import click

from bench.our_server import MODEL, RunningShim


def seconds_of_sha256sum(model: Path) -> float:
    """One run of the system's own program."""
    program = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]
    began = time.perf_counter()
    subprocess.run([*program, str(model)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def seconds_of_create(shim: RunningShim, model: Path) -> float:
    """One create of a file that the store cannot know: its time of change is new, so it is hashed again."""
    os.utime(model)
    began = time.perf_counter()
    shim.create(str(model))
    return time.perf_counter() - began


def extra_bytes(shim: RunningShim, model: Path) -> int:
    """Disk that the store takes beyond the model's own file: blobs that are links to it cost nothing."""
    source = model.stat()
    blobs = [path.stat() for path in (shim.folder / "models").rglob("*") if path.is_file()]
    return sum(blob.st_blocks * 512 for blob in blobs if blob.st_ino != source.st_ino)


@click.command()
@click.option("--model", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True)
@click.option("--rounds", default=5, show_default=True)
def main(model: Path, rounds: int) -> None:
    """Compare `shim create` with `sha256sum`, round by round."""
    shim = RunningShim(str(model))
    try:
        hashing, creating, costs = [], [], 0
        for _ in range(rounds):
            hashing.append(seconds_of_sha256sum(model))
            creating.append(seconds_of_create(shim, model))
            costs = max(costs, extra_bytes(shim, model))
            shim.cli("rm", MODEL)
    finally:
        shim.close()
    ratio = statistics.median(mine / theirs for mine, theirs in zip(creating, hashing, strict=True))
    click.echo(f"{model}: {model.stat().st_size / 1e6:.0f} MB")
    click.echo(f"sha256sum    {statistics.median(hashing):.3f} s")
    click.echo(
        f"shim create  {statistics.median(creating):.3f} s ({ratio:.2f}x), extra disk {costs / 1e6:.2f} MB"
    )


if __name__ == "__main__":
    main()
