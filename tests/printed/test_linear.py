"""Reading takes time in proportion to what is read, whatever stands in a line."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import partial
from re import _constants, _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import pytest

import rollcall.inputs.printed as printed
from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.templates import Template
from tests.nightly import nightly_but
from tests.printed.growth import AT_MOST, growth
from tests.printed.long_lines import LONG_LINES, MANY_LINES, Lines, nested

_SHORT, _LONG, _LONGEST = 20_000, 250_000, 2_500_000
"""Characters that are read the first time."""
_MODULES = [
    importlib.import_module(found.name) for found in pkgutil.walk_packages(printed.__path__, f"{printed.__name__}.")
]


def _read(lines: list[str]) -> None:
    groups_in(merged([read_lines("f", lines)]))


def _follow(lines: list[str]) -> None:
    GrowingLog("-", None).read([*enumerate(lines, 1)], is_pause=True)


@pytest.mark.parametrize("shape", LONG_LINES)
def test_a_long_line(shape: str) -> None:
    assert growth(_read, LONG_LINES[shape], _SHORT) <= AT_MOST


@pytest.mark.parametrize("shape", MANY_LINES)
@pytest.mark.parametrize("work", [_read, _follow])
def test_many_lines(shape: str, work: Callable[[list[str]], None]) -> None:
    assert growth(work, MANY_LINES[shape], _SHORT) <= AT_MOST


@pytest.mark.parametrize("seed", nightly_but(range(20), range(400)))
def test_nested_lines(seed: int) -> None:
    assert growth(_read, nested(seed), _SHORT) <= AT_MOST


@pytest.mark.parametrize("piece", [" has left, ", ", connector", "a = b, ", '"', ")", " "])
@pytest.mark.parametrize("text", ["Member {member_id} has left", "Member {group_id}", "Member ({member_id})"])
def test_what_stands_behind_a_message(text: str, piece: str) -> None:
    template = Template(FactKind.CLOSED, text)
    read = partial(template.read, by_client=True)
    assert growth(read, lambda length: f"Member ({piece * (length // len(piece))}!", _SHORT) <= AT_MOST


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("shape", "length"),
    [
        *((lines, _LONG) for lines in (LONG_LINES | MANY_LINES).values()),
        *((lines, _LONGEST) for lines in MANY_LINES.values()),
    ],
    ids=[*LONG_LINES, *MANY_LINES, *(f"{name}, longest" for name in MANY_LINES)],
)
def test_a_megabyte_and_more(shape: Lines, length: int) -> None:
    assert growth(_read, shape, length) <= AT_MOST


def _patterns() -> Iterator[tuple[str, str]]:
    for module in _MODULES:
        for name, found in vars(module).items():
            if isinstance(found, re.Pattern):
                yield module.__name__, name


def _is_searched(module: ModuleType, name: str) -> bool:
    """Return True if a pattern is looked for anywhere in a text, or handed on."""
    assert module.__file__ is not None
    with open(module.__file__) as file:
        tree = ast.parse(file.read())
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    anchored = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("match", "fullmatch", "pattern")
    ]
    return any(isinstance(use.ctx, ast.Load) and not any(use is one for one in anchored) for use in uses)


_SAMPLES = "a1 .-_[({\"'<>\x1b\t\\x,|"


def _pieces(tokens: Any) -> list[str]:
    """Return a text that a pattern matches, piece by piece, without its look-arounds."""
    found: list[str] = []
    for kind, value in tokens:
        if kind is _constants.LITERAL:
            found.append(chr(value))
        elif kind is _constants.SUBPATTERN:
            found += _pieces(value[3])
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            found.append("".join(_pieces(value[2])) * max(value[0], 1))
        elif kind is _constants.BRANCH:
            found += _pieces(value[1][0])
        elif kind in (_constants.IN, _constants.ANY, _constants.NOT_LITERAL):
            found.append(_one_of(kind, value))
    return found


def _one_of(kind: Any, value: Any) -> str:
    if kind is _constants.IN and value[0][0] is _constants.LITERAL:
        return chr(value[0][1])
    if kind is _constants.IN and value[0][0] is _constants.RANGE:
        return chr(value[0][1][0])
    if kind is _constants.IN and value[0] == (_constants.CATEGORY, _constants.CATEGORY_SPACE):
        return " "
    if kind is _constants.IN and value[0] == (_constants.CATEGORY, _constants.CATEGORY_DIGIT):
        return "1"
    refused = [chr(code) for what, code in value[1:] if what is _constants.LITERAL] if kind is _constants.IN else []
    return next(sample for sample in _SAMPLES if sample not in refused)


def _branches(tokens: Any) -> Iterator[list[str]]:
    """Yield the pieces of each alternative within a pattern."""
    for kind, value in tokens:
        if kind is _constants.BRANCH:
            for one in value[1]:
                yield _pieces(one)
                yield from _branches(one)
        elif kind is _constants.SUBPATTERN:
            yield from _branches(value[3])
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            yield from _branches(value[2])


def _pumped(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    """Return beginnings of what a pattern matches, and what may stand behind them again and again."""
    tokens = _parser.parse(pattern.pattern, pattern.flags)
    whole = _pieces(tokens)
    found = {("", "".join(pieces[:end])) for pieces in (whole, *_branches(tokens)) for end in range(1, len(pieces) + 1)}
    found |= {("".join(whole[:end]), "".join(whole[end - 1 : end])) for end in range(1, len(whole) + 1)}
    return {(before, unit) for before, unit in found if unit}


@pytest.mark.parametrize(("module", "name"), [*_patterns()])
def test_a_pattern_in_texts_that_nearly_match(module: str, name: str) -> None:
    home = importlib.import_module(module)
    pattern = getattr(home, name)
    find = pattern.search if _is_searched(home, name) else pattern.match
    for before, unit in _pumped(pattern):
        for after in ("", "\0"):
            found = growth(find, lambda length: before + unit * (length // len(unit)) + after, 2_000)  # noqa: B023
            assert found <= AT_MOST, (before, unit, after)
