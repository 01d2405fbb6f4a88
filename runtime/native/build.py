"""Compiles the native engine (cffi API mode) against the llama.cpp headers and libraries that
llama-cpp-python ships.

Only those headers and shared libraries are used, never llama-cpp-python's own Python layer. The libraries
are linked by their SONAME with a run path relative to this module, so exactly one copy of each is loaded:
the wheel holds every library under three names, and a second copy would have a registry of its own.
"""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent
SOURCES = [
    "engine.c",
    "calls.c",
    "slot.c",
    "decode.c",
    "sampler.c",
    "chain.c",
    "text.c",
    "outbox.c",
    "masks.c",
    "canary.c",
    "embed.c",
    "host.c",
    "quantize.c",
]


def find_llama() -> tuple[Path, Path]:
    """The folders of llama.cpp's headers and libraries inside the installed llama-cpp-python."""
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        raise SystemExit(
            "The native engine is built against llama-cpp-python, which is not installed in this "
            "environment.\n"
            "Run `make setup`, or `pip install llama-cpp-python==0.3.36` first."
        )
    package = Path(spec.origin).parent
    include, libraries = package.parent / "include", package / "lib"
    if not (include / "llama.h").exists() or not libraries.is_dir():
        raise SystemExit(
            f"llama-cpp-python at {package} has no headers or libraries: install it again from source."
        )
    return include, libraries


def version_of(libraries: Path) -> str:
    """ "llama.cpp version / ggml version" of the libraries compiled against; a worker refuses to run with
    others.
    """
    ffi = FFI()
    ffi.cdef("const char *llama_version(void); const char *ggml_version(void);")
    suffix = "dylib" if sys.platform == "darwin" else "so"
    base, llama = (ffi.dlopen(str(libraries / f"lib{name}.{suffix}")) for name in ("ggml-base", "llama"))
    return f"{ffi.string(llama.llama_version()).decode()} / {ffi.string(base.ggml_version()).decode()}"


def has_openmp() -> bool:
    """Whether to sample on llama.cpp's own OpenMP threads: GCC on Linux, where both use the one libgomp."""
    compiler = sysconfig.get_config_var("CC") or ""
    return sys.platform.startswith("linux") and "clang" not in os.environ.get("CC", compiler)


def make_builder() -> FFI:
    """The cffi builder that setuptools asks for."""
    include, libraries = find_llama()
    origin = "@loader_path" if sys.platform == "darwin" else "$ORIGIN"
    runpath = [f"-Wl,-rpath,{origin}/../../llama_cpp/lib", f"-Wl,-rpath,{libraries}"]
    if sys.platform.startswith("linux"):
        runpath.append("-Wl,--enable-new-dtags")  # so that LD_LIBRARY_PATH (SHIM_LLAMA_LIB) comes first
    openmp = ["-fopenmp"] if has_openmp() else []
    builder = FFI()
    builder.cdef((HERE / "engine.cdef.txt").read_text())
    builder.set_source(
        "runtime.native._engine",
        '#include "engine.h"\n#include "quantize.h"\n#include "ggml-backend.h"\n'
        f'const char *shim_built_for(void) {{ return "{version_of(libraries)}"; }}\n',
        sources=[
            str((HERE / name).relative_to(Path.cwd()))
            if HERE.is_relative_to(Path.cwd())
            else str(HERE / name)
            for name in SOURCES
        ],
        include_dirs=[str(include), str(HERE)],
        library_dirs=[str(libraries)],
        libraries=["llama", "ggml", "ggml-base"],
        extra_compile_args=[
            "-std=gnu11",
            "-O3",
            "-Wall",
            "-Wextra",
            "-Wno-unused-function",
            "-Wno-unused-parameter",
            *openmp,
        ],
        extra_link_args=[*runpath, *openmp, "-lpthread", "-lm"],
    )
    return builder


if __name__ == "__main__":
    make_builder().compile(verbose=True)
else:
    ffibuilder = make_builder()
