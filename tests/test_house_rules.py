"""What holds for every file. What counts lines, words and files is in `tests.house`, which warns."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests import house
from tests.docstrings import explained_apart, misnamed, unended
from tests.source_tree import (
    FIXED,
    FLOORS,
    ROOT,
    SOURCES,
    files_of_tests,
    imported_names,
    source_files,
    text_files,
    used_names,
)

# Put together here, so that this file does not find itself.
UNFINISHED = re.compile("|".join((r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b")))


PACED = {
    "tests/waiting.py",
    "tests/gateway/table_coordinator.py",
    "tests/gateway/parity_play.py",
    "tests/peers_kafka/storm.py",
}
"""What may sleep: the one wait, a coordinator with a batch length, plays that keep to given times."""
WAITS = re.compile(r"^(async )?def (until|wait_until|wait_for|eventually)\b", re.MULTILINE)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_source_file_opens_with_a_docstring() -> None:
    assert [relative(path) for path in source_files() if not path.read_text().startswith('"""')] == []


def test_a_file_promises_nothing_for_later() -> None:
    promises = {relative(path): UNFINISHED.findall(path.read_text()) for path in text_files()}
    assert {name: found for name, found in promises.items() if found} == {}


def test_the_rules_are_held_against_the_files_of_every_kind() -> None:
    found = {relative(path) for path in text_files()}
    assert found >= {"Makefile", "pyproject.toml", ".ci/run", "jobs/spark/jars.py", "tests/conftest.py"}
    assert UNFINISHED.findall("# TO" + "DO: later") != []


def test_a_target_for_one_file_of_tests_runs_what_is_nightly_in_it() -> None:
    recipes = re.findall(r"^\t@(.*pytest.* (tests/[\w/]+\.py).*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "tests/tables/test_killed_writers.py" in {file for _, file in recipes}
    for recipe, file in recipes:
        assert "mark.nightly" not in (ROOT / file).read_text() or "NIGHTLY=all" in recipe, recipe


def test_no_module_imports_from_a_module_of_tests() -> None:
    imports = {relative(path): imported_names(path.read_text()) for path in files_of_tests()}
    wrong = {
        name: sorted(each for each in imported if re.match(r"tests\.(\w+\.)*test_\w+\.", each))
        for name, imported in imports.items()
    }
    assert {name: found for name, found in wrong.items() if found} == {}
    assert "tests.waiting.until" in imports["tests/streaming/live.py"]


def test_there_is_one_way_to_wait_and_no_test_sleeps() -> None:
    sources = {relative(path): path.read_text() for path in files_of_tests()}
    assert [name for name, source in sources.items() if WAITS.search(source)] == ["tests/waiting.py"]
    about_sleep = {name: source for name, source in sources.items() if "sleep" in source}
    sleepers = {name for name, source in about_sleep.items() if {"time.sleep", "asyncio.sleep"} & used_names(source)}
    assert sleepers == PACED


def test_the_map_has_every_package_once() -> None:
    rows = re.findall(r"^\| `([\w/]+)/` \| .+ \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert all((ROOT / row).is_dir() for row in rows)
    floors = {name if name in FIXED else f"rollcall/{name}" for name in FLOORS[:-1]}
    assert floors - set(rows) == {"rollcall/inputs", "rollcall/answers", "rollcall/serve"}
    assert {path.parent.name for path in ROOT.glob("*/*.py")} - {"tests"} == set(SOURCES)
    assert {path.parent.name for path in ROOT.glob("rollcall/*/*.py")} == set(FLOORS[:-1])


def test_the_files_that_pages_name_are_there() -> None:
    """conf/cluster.conf is the reader's own; tests/peers_ the beginning of a name."""
    named = {
        path: relative(page)
        for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
        for path in re.findall(r"`(\w+/[\w/.-]*)`", page.read_text())
        if path.partition("/")[0] in {*SOURCES, "tests", "docs", "conf"}
    }
    assert named["tests/engines/asked/to_spark.sql"] == "docs/decisions/0008-duckdb-answers-spark-sql.md"
    assert {path for path in named if not (ROOT / path).exists()} == {"conf/cluster.conf", "tests/peers_"}


def test_one_library_reads_every_command_line() -> None:
    """Click does, in the way of `rollcall.programs.command_line`, so that a mistake reads the same everywhere."""
    own = {relative(path): imported_names(path.read_text()) for path in [*source_files(), *files_of_tests()]}
    others = {"argparse", "optparse", "getopt"}
    assert {name: found & others for name, found in own.items() if found & others} == {}


def test_the_rules_find_what_they_look_for() -> None:
    source = '''
"""A module that stops in

the middle."""
class Base:
    kept: int
class Pair(Base):
    """Two. first: the one. kept, third: are others. Note that: this is not a name."""
    first: int
    """The one that comes"""
def turn(pair: Pair) -> None:
    """Turns. pair: the pair. hard: how. Its kinds: none."""
'''
    tree = ast.parse(source)
    assert list(misnamed({"m": tree})) == [("m", "Pair: third"), ("m", "turn: hard")]
    assert unended(tree) == ["A module that stops in", "The one that comes"]
    assert explained_apart(tree) == ["Pair: first"]


def test_a_warning_names_the_place_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "LINES_ALLOWED", 390)
    assert any(re.fullmatch(r"[\w/]+\.py has 39\d lines, more than 390: move .+", each) for each in house.long_files())
    assert list(house.of_recipes()) == []
    monkeypatch.setattr(house, "MOST_FILES", {"A view": 4, "A spell": 1})
    assert [each.partition(": ")[2].partition(", ")[0] for each in house.of_recipes()] == [
        "'A view' changes 5 files",
        "write it",
    ]
    monkeypatch.setattr(house, "MOST_FILES", {"A cause": 4})
    monkeypatch.setattr(house, "IN_NO_OTHER_FILE", {"A cause": lambda _: "session_expired"})
    assert any(
        each.startswith("rollcall/answers/why/") or each.startswith("rollcall/answers/views/")
        for each in house.of_recipes()
    )
