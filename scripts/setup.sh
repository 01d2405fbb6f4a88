#!/usr/bin/env bash
# Sets up .venv with the engine and this package in it; does nothing when that is done and nothing has changed.
# Says what is missing from the machine, and the line that installs it.
set -euo pipefail
cd "$(dirname "$0")/.."

ready=.venv/.ready
built_with=.venv/.cmake-args

# -- Is there anything to do?

is_ready() {
    [ -e "$ready" ] && [ -x .venv/bin/python ] || return 1
    [ -z "${CMAKE_ARGS:-}" ] || [ "$CMAKE_ARGS" = "$(cat "$built_with")" ] || return 1
    for source in pyproject.toml setup.py scripts/setup.sh scripts/engine.py runtime/native/*.[ch] \
        runtime/native/*.txt runtime/native/build.py; do
        case $source in runtime/native/_*) continue ;; esac # made by the build
        [ "$ready" -nt "$source" ] || return 1
    done
}

if is_ready; then
    exit 0
fi

# -- What does the machine lack?

how_to_install() { # names for apt, dnf, brew
    if command -v apt-get >/dev/null; then
        echo "sudo apt-get install $1"
    elif command -v dnf >/dev/null; then
        echo "sudo dnf install $2"
    elif [ "$(uname)" = Darwin ]; then
        echo "$3"
    else
        echo "install $1 with your system's package manager"
    fi
}

missing() { # what, why, names
    printf 'missing: %s (%s)\n    %s\n' "$1" "$2" "$(how_to_install "$3" "$4" "$5")" >&2
    lacking=1
}

lacking=
python=${PYTHON:-}
for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
    [ -z "$python" ] || break
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
    fi
done
if [ -z "$python" ]; then
    missing "Python 3.11 or newer" "everything is written in it; PYTHON=/path/to/python chooses one" \
        "python3 python3-venv python3-dev" "python3.12 python3.12-devel" "brew install python"
else
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        missing "Python's venv module" "packages are installed into .venv" python3-venv python3 "brew install python"
    "$python" -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' 2>/dev/null ||
        missing "Python's C headers" "the engine binding is compiled" python3-dev python3-devel "brew install python"
fi
for compiler in "${CC:-cc}" "${CXX:-c++}"; do
    # Word splitting is meant: CC may hold arguments.
    # shellcheck disable=SC2086
    if ! $compiler --version >/dev/null 2>&1; then
        missing "a C and C++ compiler" "the engine is compiled here, for this processor; tried $compiler" \
            build-essential "gcc gcc-c++ make" "xcode-select --install"
        break
    fi
done
[ -z "$lacking" ] || exit 1
command -v cmake >/dev/null ||
    echo "note: no cmake here, so pip will fetch one to build with (or: $(how_to_install cmake cmake "brew install cmake"))"

# -- Set up

quietly() { # a build backend says much that nobody needs to read, unless it fails
    "$@" >.venv/install.log 2>&1 || { cat .venv/install.log >&2; exit 1; }
}

echo "installing into .venv"
[ -x .venv/bin/python ] || "$python" -m venv .venv
bin=.venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK=1
quietly $bin/python -m pip install --upgrade pip "setuptools>=77" "cffi>=1.17"
engine=$($bin/python scripts/engine.py)
# Without build isolation the binding is compiled against the engine that is installed here. With it, pip would
# compile the engine a second time, and with other flags.
quietly $bin/python -m pip install --force-reinstall --no-deps "$engine"
quietly $bin/python -m pip install --no-build-isolation --editable ".[demo,test,clients,bench]"
printf '%s' "${CMAKE_ARGS:-}" >"$built_with"
touch "$ready"
echo "ready: $bin/shim"
