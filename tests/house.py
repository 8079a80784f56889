"""Warns of what a branch may break for another: long files, docstrings, recipes, words, pages that lack a row.

    python -m tests.house       # part of make check

Each warning says what to do. Knows the rules of style; none of them fails a change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from rollcall.answers.views.catalog import VIEWS
from tests.attack.cost.broker import Broker
from tests.attack.cost.commands import COMMANDS, READERS
from tests.attack.cost.table import kept_names
from tests.docstrings import explained_apart, misnamed, unended
from tests.page.hostile_requests import PAGES
from tests.source_tree import ROOT, SOURCES, module_name, source_files

LINES_ALLOWED = 400
A_KIND = "A kind of group"
MOST_FILES = {
    "A broker API": 5,
    "A setting that the gateway must know": 4,
    "A view": 5,
    "A detector": 5,
    "A column of rebalances": 6,
    "A cause": 4,
    A_KIND: 15,
}
"""Recipes of docs/extending.md, with how many files each may change."""
IN_NO_OTHER_FILE: dict[str, Callable[[str], str]] = {
    "A broker API": lambda example: f"{example}Request",
    "A setting that the gateway must know": lambda example: f"({example}|{example.replace('_', '.')})",
    "A view": str,
    "A detector": str,
    "A cause": str,
}
"""Recipes whose example no other file may name, with how code spells the example."""
NOT_AT_WORK = ("rollcall/inputs/request_log", "rollcall/answers/whatif", "benchmarks")
"""What the recipe of a setting leaves out, besides files of tests: they know settings of others' brokers."""
CODE = (".py", ".html", ".js")
KAFKAS_WORDS = ("rollcall/inputs/printed/groups/reasons.py",)
"""Files that match Kafka's own sentences."""
BRANCHES = re.compile(r"is_consumer|\"(consumer|connect|classic)\"|'(consumer|connect|classic)'|GroupType\b")
"""What asks which kind a group is."""


def warnings() -> Iterator[str]:
    """Each place that breaks a rule, with what to do about it."""
    yield from long_files()
    yield from of_docstrings()
    yield from of_recipes()
    yield from of_kinds()
    yield from missing_rows()
    yield from of_words()


def long_files() -> Iterator[str]:
    for path in source_files():
        lines = len(path.read_text().splitlines())
        if lines > LINES_ALLOWED:
            yield f"{_name(path)} has {lines} lines, more than {LINES_ALLOWED}: move a whole thought to another file"


def of_docstrings() -> Iterator[str]:
    trees = {module_name(path): ast.parse(path.read_text()) for path in source_files()}
    for module, found in misnamed(trees):
        yield f"{module}: a docstring names {found}, which is not there: name a field or parameter that is"
    for module, tree in trees.items():
        for found in explained_apart(tree):
            yield f"{module}: the docstring of a class explains {found}: put that below the field"
        for found in unended(tree):
            yield f"{module}: a docstring's paragraph ends without a full stop: {found!r}"


def of_recipes() -> Iterator[str]:
    """A recipe names few files, its example stands in each of them, and of some in no other file."""
    for title, most in MOST_FILES.items():
        found = _recipe_of(title)
        if found is None:
            yield f"docs/extending.md has no recipe {title!r} with an example: write it, or drop it here"
            continue
        example, files = found
        if len(files) > most:
            yield f"docs/extending.md: {title!r} changes {len(files)} files, more than {most}: declare it in fewer"
        spelt = IN_NO_OTHER_FILE.get(title, str)(example)
        for name in files:
            if title != A_KIND and not _stands(spelt, name):
                yield f"docs/extending.md: {title!r} names {name}, where {example} does not stand: correct the recipe"
        for name in sorted(set(_code(title)) - set(files)) if title in IN_NO_OTHER_FILE else ():
            if _stands(spelt, name):
                yield f"{name} names {example}, and {title!r} of docs/extending.md leaves it out: add it to the recipe"


def _recipe_of(title: str) -> tuple[str, list[str]] | None:
    """The example of a recipe, and the file of each of its steps; of a kind of group all files that it names."""
    pages = (ROOT / "docs" / "extending.md").read_text().split("\n## ")
    recipe = next((page for page in pages if page.startswith(f"{title}\n")), "")
    example = re.search(r"^For example `(\w+)`", recipe, re.MULTILINE)
    files = re.findall(r"`([\w/]+\.\w+)`" if title == A_KIND else r"^\d+\. `([\w/]+\.\w+)`", recipe, re.MULTILINE)
    return (example[1], list(dict.fromkeys(files))) if example and files else None


def _code(title: str) -> Iterator[str]:
    """The product's files that a recipe speaks of."""
    left_out = NOT_AT_WORK if title == "A setting that the gateway must know" else ()
    names = (_name(path) for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in CODE)
    yield from (name for name in names if not name.startswith(left_out))


def _stands(pattern: str, name: str) -> bool:
    path = ROOT / name
    return path.exists() and re.search(rf"\b{pattern}\b", path.read_text(), re.IGNORECASE) is not None


def of_kinds() -> Iterator[str]:
    """What shows a group asks its kind (rollcall/history/kinds.py) and never which it is."""
    for path in (
        path
        for room in ("answers/why", "answers/pictures", "serve/page", "shown")
        for path in (ROOT / "rollcall" / room).rglob("*")
    ):
        if path.suffix in CODE and _name(path) != "rollcall/history/kinds.py" and BRANCHES.search(path.read_text()):
            yield f"{_name(path)} asks which kind a group is: ask its attribute in rollcall/history/kinds.py"


def of_words() -> Iterator[str]:
    """Words that docs/style.md avoids, in the pages of the documentation and in the sources of the product."""
    style = ROOT / "docs" / "style.md"
    instead = re.findall(r"^\| ([\w ]+) \| ([\w ,]+) \|$", style.read_text(), re.MULTILINE)[1:]
    pages = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - {style})]
    sources = [path for path in source_files() if not _name(path).startswith(("tests", *KAFKAS_WORDS))]
    for path in pages + sources:
        text = path.read_text()
        for word, better in instead:
            for found in re.finditer(rf"\b{word}\b(?! longer)", text):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{_name(path)}:{line} says {word!r}: write {better}"


def missing_rows() -> Iterator[str]:
    sentence = (ROOT / "README.md").read_text().partition("Its views are ")[2].partition(". ")[0]
    for name in sorted({view.name for view in VIEWS} ^ set(re.findall(r"`(\w+)`", sentence))):
        yield f"README.md lists other views than there are: {name}"
    broker = Broker()
    wanted = {*broker.codecs, *PAGES, *(f"rollcall {name}" for name in COMMANDS), *READERS}
    broker.close()
    for name in sorted(wanted ^ set(kept_names())):
        yield f"SECURITY.md's tables of costs have other rows than there are requests: {name}: run make costs"


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def main() -> None:
    """Prints the warnings."""
    for warning in warnings():
        print(f"warning: {warning}")


if __name__ == "__main__":
    main()
