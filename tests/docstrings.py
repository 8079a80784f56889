"""Docstrings say what is so: a field or parameter that one names is there, and every sentence comes to its end.

What a field means stands beside the field, not in its class's docstring. Knows how docstrings name fields (`name: what
it means`, at the start of a sentence). Must not know what they mean.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef

NAMED = re.compile(r"(?:\A|(?<=\. ))((?:[a-z]\w*\*?, )*[a-z]\w*\*?): ")
"""Names before a colon at the start of a sentence; `slowest_*` stands for all that begin so."""
ENDED = re.compile(r"[.:?!…][)\"`']*\Z")
NO_PROSE = (" ", "-", "|", "python -m ")
"""How a line of an example, a list or a table begins."""


def misnamed(trees: dict[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """(module, what it is about and the name) of each name that is none."""
    classes = {node.name: node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                known = _fields(node, classes)
            elif isinstance(node, Function):
                known = _parameters(node)
            else:
                continue
            for paragraph in _paragraphs(ast.get_docstring(node) or ""):
                names = [name for found in NAMED.finditer(paragraph) for name in found[1].split(", ")]
                yield from ((module, f"{node.name}: {name}") for name in names if not _is_known(name, known))


def explained_apart(tree: ast.Module) -> list[str]:
    """Each field of a class that the class's docstring explains."""
    return [
        f"{node.name}: {name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for paragraph in _paragraphs(ast.get_docstring(node) or "")
        for found in NAMED.finditer(paragraph)
        for name in found[1].split(", ")
        if _is_known(name, _declared(node))
    ]


def unended(tree: ast.Module) -> list[str]:
    """The last line of each paragraph of prose, in any docstring, that no full stop or colon ends."""
    return [
        last
        for text in _docstrings(tree)
        for last in (paragraph.rstrip().splitlines()[-1] for paragraph in re.split(r"\n\s*\n", text.strip("\n")))
        if not last.startswith(NO_PROSE) and not ENDED.search(last)
    ]


def _is_known(name: str, known: set[str]) -> bool:
    return any(each.startswith(name[:-1]) for each in known) if name.endswith("*") else name in known


def _paragraphs(text: str) -> list[str]:
    return [paragraph.replace("\n", " ") for paragraph in re.split(r"\n\s*\n", text)]


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Those of the module, of classes and functions, and the strings that stand below a constant or a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            for child in node.body:
                if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                    text = child.value.value
                    if isinstance(text, str):
                        yield inspect.cleandoc(text)


def _parameters(node: Function) -> set[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {each.arg for each in every if each is not None}


def _fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """What a class declares, what its methods are, what it is made with and sets on itself, and its bases' own."""
    found: set[str] = set()
    for child in node.body:
        match child:
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(child.name)
                if child.name == "__init__":
                    found |= _parameters(child) | _set_on_itself(child)
            case _:
                pass
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)} - {node.name}
    return found.union(*(_fields(classes[base], classes) for base in bases if base in classes))


def _declared(node: ast.ClassDef) -> set[str]:
    """The fields that a class itself declares with their types."""
    return {
        child.target.id
        for child in node.body
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
    }


def _set_on_itself(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
