"""The flags with which the engine is compiled, and the folder that its wheel is kept in."""

import shlex
from pathlib import Path

import pytest

from scripts.engine import (
    AMX_SAFE_FLAGS,
    REPOSITORY,
    compiler_version,
    is_gcc,
    pinned_requirement,
    wheel_folder,
    with_compiler_flags,
)

SAFE = " ".join(AMX_SAFE_FLAGS)


@pytest.mark.parametrize(
    ("given", "inherited", "expected"),
    [
        ("", "", [f"-DCMAKE_C_FLAGS={SAFE}"]),
        ("-DGGML_CUDA=on", "", ["-DGGML_CUDA=on", f"-DCMAKE_C_FLAGS={SAFE}"]),
        ("-DCMAKE_C_FLAGS=-O2", "-O1", [f"-DCMAKE_C_FLAGS=-O2 {SAFE}"]),
        ("-DCMAKE_C_FLAGS:STRING='-O2 -g' -DA=1", "", ["-DA=1", f"-DCMAKE_C_FLAGS=-O2 -g {SAFE}"]),
        ("-DA=1", "-O1 -pipe", ["-DA=1", f"-DCMAKE_C_FLAGS=-O1 -pipe {SAFE}"]),
        ("-DCMAKE_CXX_FLAGS=-g", "", ["-DCMAKE_CXX_FLAGS=-g", f"-DCMAKE_C_FLAGS={SAFE}"]),
        ("-DCMAKE_C_FLAGS_RELEASE=-O3", "", ["-DCMAKE_C_FLAGS_RELEASE=-O3", f"-DCMAKE_C_FLAGS={SAFE}"]),
    ],
)
def test_flags_are_added_to_what_the_user_set(given: str, inherited: str, expected: list[str]) -> None:
    assert shlex.split(with_compiler_flags(given, "C", inherited, AMX_SAFE_FLAGS)) == expected


def test_without_flags_the_users_arguments_are_left_alone() -> None:
    given = "-DGGML_METAL=on  -DX='a b'"
    assert with_compiler_flags(given, "C", "-O2", ()) == given


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("cc (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n", True),
        ("Apple clang version 16.0.0 (clang-1600.0.26.4)\nTarget: arm64-apple-darwin24\n", False),
        ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", False),
        ("", False),
    ],
)
def test_only_gcc_is_taken_for_gcc(said: str, expected: bool) -> None:
    assert is_gcc(said) is expected


def test_a_compiler_that_is_not_there_says_nothing() -> None:
    assert compiler_version(["no-such-compiler-anywhere"]) == ""


def test_each_set_of_ingredients_has_its_own_folder(tmp_path: Path) -> None:
    folders = {wheel_folder(tmp_path, parts) for parts in (["a", "b"], ["ab", ""], ["a", "c"], ["a", "b"])}
    assert len(folders) == 3


def test_the_pin_is_read_from_the_project() -> None:
    assert pinned_requirement((REPOSITORY / "pyproject.toml").read_text()) == "llama-cpp-python==0.3.36"
