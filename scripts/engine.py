"""Compiles llama.cpp, as llama-cpp-python packs it, into a wheel, once for each processor and set of flags.

    python scripts/engine.py        # prints the wheel's path; compiles it if it is not there yet

pip's own cache does not know with which flags a wheel was compiled, so it could hand out one without the
flags below, or one without the GPU that was asked for. The wheels made here lie in a folder named after
everything that goes into them. Only the standard library is used: nothing is installed yet when this runs.
"""

import hashlib
import os
import platform
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# With -march=native on a processor with AMX, GCC 12 drops the stores that set up the tiles, and the first
# quantised matrix product dies of SIGILL (llama.cpp issue 28756). Other compilers and processors, and GCC
# before version 11, do not know these flags, nor do they need them.
AMX_SAFE_FLAGS = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")
X86 = ("x86_64", "amd64", "i686")
# CMake's name of the language, the variable that names its compiler, the usual compiler, the variable for its
# flags
LANGUAGES = (("C", "CC", "cc", "CFLAGS"), ("CXX", "CXX", "c++", "CXXFLAGS"))


def is_gcc(version_text: str) -> bool:
    """Whether what a compiler says of itself (`cc --version`) is GCC's."""
    return "Free Software Foundation" in version_text and "clang" not in version_text.lower()


def with_compiler_flags(cmake_args: str, language: str, inherited: str, flags: tuple[str, ...]) -> str:
    """CMAKE_ARGS with `flags` added to what was set there for `language` (C or CXX), or else to `inherited`.

    Setting CMAKE_C_FLAGS makes CMake ignore the environment's CFLAGS; `inherited` carries these over.
    """
    if not flags:
        return cmake_args
    arguments = shlex.split(cmake_args)
    pattern = re.compile(rf"-DCMAKE_{language}_FLAGS(:[A-Z]+)?=(.*)", re.DOTALL)
    given = [match[2] for argument in arguments if (match := pattern.fullmatch(argument))]
    before = given[-1] if given else inherited
    kept = [argument for argument in arguments if not pattern.fullmatch(argument)]
    return shlex.join([*kept, f"-DCMAKE_{language}_FLAGS={' '.join([before, *flags]).strip()}"])


def wheel_folder(cache: Path, ingredients: list[str]) -> Path:
    """A folder for the wheel that these ingredients make."""
    return cache / hashlib.sha256("\0".join(ingredients).encode()).hexdigest()[:16]


def pinned_requirement(project: str) -> str:
    """The exact llama-cpp-python that pyproject.toml asks for, given its text."""
    requirements = tomllib.loads(project)["build-system"]["requires"]
    return next(str(one) for one in requirements if one.startswith("llama-cpp-python=="))


def compiler_version(compiler: list[str]) -> str:
    """What a compiler says of itself; empty if there is none."""
    try:
        return subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def safe_flags(compiler: list[str]) -> tuple[str, ...]:
    """The flags that this compiler needs on this machine."""
    if platform.machine().lower() not in X86 or not is_gcc(compiler_version(compiler)):
        return ()
    trial = [*compiler, *AMX_SAFE_FLAGS, "-fsyntax-only", "-x", "c", os.devnull]
    return () if subprocess.run(trial, capture_output=True, check=False).returncode else AMX_SAFE_FLAGS


def processor() -> str:
    """The instruction sets of this machine's processor: a wheel is compiled for exactly these."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


def build(requirement: str, folder: Path, cmake_args: str) -> None:
    """Compiles the wheel into `folder`; on failure shows the end of the compiler's log and exits."""
    new = folder / f"new-{os.getpid()}"
    new.mkdir(parents=True)
    log = folder / "build.log"
    settings = (
        {"CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1)} | os.environ | {"CMAKE_ARGS": cmake_args}
    )
    command = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-cache-dir"]
    command += ["--no-binary", "llama-cpp-python", "--wheel-dir", str(new), requirement]
    say(f"compiling the engine ({requirement}) with CMAKE_ARGS={cmake_args!r}")
    say(f"this happens once and takes about six minutes on two cores; log: {log}")
    started = time.monotonic()
    with log.open("wb") as out, subprocess.Popen(command, env=settings, stdout=out, stderr=out) as compiling:
        while True:
            try:
                failed = compiling.wait(30)
                break
            except subprocess.TimeoutExpired:
                say(f"  {time.monotonic() - started:.0f} s …")
    if failed:
        say("\n".join(log.read_text(errors="replace").splitlines()[-40:]))
        sys.exit(f"the engine could not be compiled; the whole log is {log}")
    for wheel in new.iterdir():
        wheel.replace(folder / wheel.name)
    new.rmdir()


def say(line: str) -> None:
    """To standard error, since standard output carries the wheel's path."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Prints the path of the wheel for this machine and the user's CMAKE_ARGS."""
    requirement = pinned_requirement((REPOSITORY / "pyproject.toml").read_text())
    cmake_args = os.environ.get("CMAKE_ARGS", "")
    ingredients = [requirement, processor()]
    for language, variable, default, flags in LANGUAGES:
        compiler = shlex.split(os.environ.get(variable) or default)
        inherited = os.environ.get(flags, "")
        cmake_args = with_compiler_flags(cmake_args, language, inherited, safe_flags(compiler))
        ingredients += [compiler_version(compiler), inherited]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moe-shim" / "engine"
    folder = wheel_folder(cache, [*ingredients, cmake_args])
    if not list(folder.glob("*.whl")):
        build(requirement, folder, cmake_args)
    print(next(folder.glob("*.whl")))


if __name__ == "__main__":
    main()
