"""The project's own source as data: its files, their modules, what each imports and which names it uses.

Knows Python's syntax tree and the folders of the project. Must not know any rule; those are in the tests.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXED = ("schemas", "coordinator_udfs", "jobs")
"""The rooms whose folders stand at the root; their modules are imported from rollcall, through links."""
SOURCES = ("rollcall", *FIXED, "benchmarks")
FLOORS = (
    *("programs", "schemas", "coordinator_udfs", "tables", "history", "inputs", "answers", "serve", "shown", "jobs"),
    *("cli", "__main__"),
)
"""What lies in rollcall: none imports from one that comes later."""
TEXT_FOLDERS = (*SOURCES, "tests", "conf", "docs", "notebooks", ".ci")
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".conf", ".properties", ".ipynb", ".sh", ".sql", ""}


def source_files() -> list[Path]:
    """Every Python file of the project's packages, tests apart."""
    return sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))


def files_of_tests() -> list[Path]:
    """Every Python file of the tests."""
    return sorted((ROOT / "tests").rglob("*.py"))


def text_files() -> list[Path]:
    """Every file that people write: sources, tests, pages, settings, and what lies beside them at the top."""
    inside = [path for folder in TEXT_FOLDERS for path in (ROOT / folder).rglob("*")]
    found = [path for path in [*ROOT.iterdir(), *inside] if path.is_file() and path.suffix in TEXT_SUFFIXES]
    return sorted(path for path in found if path.name not in {".git", ".DS_Store"})


def module_name(path: Path) -> str:
    """`coordinator_udfs/protocol/__init__.py` is `rollcall.coordinator_udfs.protocol`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("rollcall", *parts) if parts[0] in FIXED else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> dict[str, Path]:
    """Every module of the project's packages by its dotted name."""
    return {module_name(path): path for path in source_files()}


def is_within(module: str, package: str) -> bool:
    """Whether a dotted name is a package or lies inside it."""
    return module == package or module.startswith(package + ".")


@cache
def imported_names(source: str) -> frozenset[str]:
    """Every dotted name that a source imports, wherever in the file: `from a import b` gives `a.b`, a relative `.b`."""
    return frozenset(imported for _, _, imported in _imports(source))


def used_names(source: str) -> set[str]:
    """Every dotted name that a source uses, followed through its imports: `dt.now` may be `datetime.datetime.now`.

    A name that nothing imported stands as one of `builtins`, also when it is a variable.
    """
    imports = _imports(source)
    bound = {local: stands_for for local, stands_for, _ in imports}
    found = {imported for _, _, imported in imports}
    for node in ast.walk(ast.parse(source)):
        head, dot, rest = _dotted(node).partition(".")
        if head:
            found.add(bound.get(head, f"builtins.{head}") + dot + rest)
    return found


@cache
def _imports(source: str) -> tuple[tuple[str, str, str], ...]:
    """(local name, the dotted name it stands for, the dotted name imported) of each import: `import a.b` binds `a`."""
    found = list[tuple[str, str, str]]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    found.append((alias.asname or top, alias.name if alias.asname else top, alias.name))
            case ast.ImportFrom(names=names, module=module, level=level):
                for alias in names:
                    name = "." * level + (f"{module}." if module else "") + alias.name
                    found.append((alias.asname or alias.name, name, name))
            case _:
                pass
    return tuple(found)


def _dotted(node: ast.AST) -> str:
    """`a.b.c` of an attribute chain that starts at a plain name; empty for any other node."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute) if head := _dotted(value):
            return f"{head}.{attribute}"
        case _:
            return ""
