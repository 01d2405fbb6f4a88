"""Holds the rules of the code's layout: imports go one way, without cycles; files and functions are small."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("shim", "modelfiles", "runtime", "mirrors")
MAY_IMPORT = {
    "shim": {"modelfiles", "runtime", "mirrors"},
    "modelfiles": set[str](),
    "runtime": set[str](),
    "mirrors": set[str](),
}
OURS = (*PACKAGES, "demo", "bench", "scripts", "tests")
DRAWERS = {"util", "utils", "common", "helper", "helpers", "core", "misc"}
LONGEST_FILE = 400
LONGEST_FUNCTION = 60


def python_files(*folders: str) -> list[Path]:
    """All Python files below these folders, in a fixed order."""
    return sorted(path for folder in folders for path in (REPOSITORY / folder).rglob("*.py"))


def native_files() -> list[Path]:
    """The C files that people write; those that a build makes start with an underscore."""
    found = (REPOSITORY / "runtime" / "native").rglob("*.[ch]")
    return sorted(path for path in found if not path.name.startswith("_"))


def named(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def module_of(path: Path) -> str:
    return named(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def imports(path: Path, modules: set[str]) -> Iterator[str]:
    """Every module of ours that a file imports, also inside functions, but not for type checking alone."""
    for node in without_type_checking(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(path)}:{node.lineno} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)


def without_type_checking(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from without_type_checking(child)


def import_graph(package: str) -> dict[str, set[str]]:
    files = {module_of(path): path for path in python_files(package)}
    return {name: set(imports(path, set(files))) & set(files) - {name} for name, path in files.items()}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Some way round through the graph, or nothing."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name not in done:
            for target in sorted(graph[name]):
                if found := walk(target, [*way, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package: str) -> None:
    forbidden = set(OURS) - {package} - MAY_IMPORT[package]
    modules = {module_of(path) for path in python_files(*PACKAGES)}
    wrong = [
        f"{named(path)} imports {target}"
        for path in python_files(package)
        for target in imports(path, modules)
        if target.split(".")[0] in forbidden
    ]
    assert wrong == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_imports_in_a_circle(package: str) -> None:
    assert cycle_in(import_graph(package)) == []


def test_a_circle_would_be_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_files_are_small() -> None:
    lengths = {
        named(path): len(path.read_text().splitlines()) for path in [*python_files(*OURS), *native_files()]
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_functions_are_small() -> None:
    found = {}
    for path in python_files(*OURS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                found[f"{named(path)}:{node.lineno} {node.name}"] = lines
    assert {name: lines for name, lines in found.items() if lines > LONGEST_FUNCTION} == {}


def test_functions_in_c_are_small() -> None:
    long = {}
    for path in native_files():
        start = 0
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.endswith("{") and not line[0].isspace():
                start = number
            elif line == "}" and number - start + 1 > LONGEST_FUNCTION:
                long[f"{named(path)}:{start}"] = number - start + 1
    assert long == {}


def test_no_file_is_a_drawer() -> None:
    parts = {
        named(path): {*path.relative_to(REPOSITORY).with_suffix("").parts} for path in python_files(*OURS)
    }
    assert [name for name, words in parts.items() if words & DRAWERS] == []


def test_every_module_says_what_it_does() -> None:
    silent = [
        named(path) for path in python_files(*OURS) if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_tests_stand_where_their_sources_stand() -> None:
    sources = {named(path) for path in python_files(*PACKAGES)}
    folders = {str(Path(source).parent) for source in sources}
    strays = [
        named(path)
        for path in python_files(*(f"tests/{package}" for package in PACKAGES))
        if str(path.parent.relative_to(REPOSITORY / "tests")) not in folders
    ]
    assert strays == []


def test_nothing_names_one_machine() -> None:
    """Paths and addresses of one place only; the pattern is put together so as not to find itself."""
    pattern = re.compile("|".join(["/work" + "/", "/root" + "/", "pypi" + r"\.org", "python" + "hosted"]))
    texts = [*python_files(*OURS), *native_files(), *REPOSITORY.glob("*.md"), *REPOSITORY.glob("*.toml")]
    texts += [*(REPOSITORY / "scripts").iterdir(), REPOSITORY / "Makefile", REPOSITORY / ".ci" / "run"]
    assert [named(path) for path in texts if path.is_file() and pattern.search(path.read_text())] == []
