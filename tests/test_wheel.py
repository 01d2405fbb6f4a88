"""Builds the wheel and looks at what is in it: four packages, the compiled binding, the right metadata."""

import ast
import email
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = {"shim", "modelfiles", "runtime", "mirrors"}
# Where a distribution's name is not the name that is imported
IMPORTED_AS = {"llama-cpp-python": "llama_cpp"}
# The engine's C code needs cffi and llama.cpp when it runs, though no Python file imports them
USED_BY_THE_BINDING = {"cffi", "llama-cpp-python"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, built from a copy so that the build leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    kept = [*sorted(PACKAGES), "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"]
    for name in kept:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(
                source, folder / "source" / name, ignore=shutil.ignore_patterns("_*.c", "*.so", "*.o")
            )
        else:
            shutil.copy(source, folder / "source" / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", str(folder)]
    built = subprocess.run([*command, str(folder / "source")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


@pytest.mark.slow
def test_it_holds_the_four_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES


@pytest.mark.slow
def test_it_holds_every_module(wheel: zipfile.ZipFile) -> None:
    sources = {
        str(path.relative_to(REPOSITORY))
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*.py")
    }
    assert sources - set(wheel.namelist()) == set()
    assert {f"{package}/py.typed" for package in PACKAGES} - set(wheel.namelist()) == set()


@pytest.mark.slow
def test_it_holds_the_compiled_binding(wheel: zipfile.ZipFile) -> None:
    assert [
        name for name in wheel.namelist() if re.fullmatch(r"runtime/native/_\w+(\.abi3)?\.(so|dylib)", name)
    ]
    assert not [name for name in wheel.namelist() if name.endswith((".gguf", ".o", ".log"))]


@pytest.mark.slow
def test_its_metadata_is_right(metadata: Message) -> None:
    assert metadata["Name"] == "moe-shim"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert "llama-cpp-python==0.3.36" in metadata.get_all("Requires-Dist", [])
    assert set(metadata.get_all("Provides-Extra", [])) == {"demo", "test", "clients", "bench"}


@pytest.mark.slow
def test_it_installs_the_command(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    assert "shim = shim.cli.main:main" in wheel.read(name).decode()


def test_every_requirement_is_imported_and_every_import_is_required() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    required = {re.split(r"[^\w.-]", line)[0] for line in project["dependencies"]}
    names = {IMPORTED_AS.get(name, name) for name in required - USED_BY_THE_BINDING}
    # build.py runs when the wheel is built, with cffi as a build requirement
    built_with = {"setuptools", "cffi", "llama_cpp"}
    assert imported_by_packages() - set(sys.stdlib_module_names) - PACKAGES - built_with == names


def imported_by_packages() -> set[str]:
    """Top-level names of everything that the four packages import anywhere."""
    found: set[str] = set()
    for path in (path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found
