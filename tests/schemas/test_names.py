"""The names that cross a boundary: effects in rows, and every word of the coordinator that the views' SQL compares."""

from __future__ import annotations

import ast
import re
from typing import get_args

import pytest

from rollcall.answers.views.catalog import VIEWS
from rollcall.answers.views.view import View
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.consumer_effects import ConsumerEffect
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import AnyEffect, RecordedEffect
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS
from tests.source_tree import ROOT, source_files

WORDS: dict[str, set[str]] = {
    "effect": set(EffectName),
    "api": set(APIS),
    "error_code": set(Error),
    "cause": {*CauseKind, *EndCause},
    "end_cause": set(EndCause),
    "state": set(GroupState),
}
"""What a column may be compared with."""
_VALUES = r"\(?((?:\s*'[^']*',?)+)"
COMPARED = re.compile(rf"\b({'|'.join(WORDS)})\b\s*(?:=|<>|!=|\bNOT IN\b|\bIN\b)\s*{_VALUES}", re.IGNORECASE)
SNAKE = re.compile(r"(?<!^)(?=[A-Z])")


def unknown_words(sql: str) -> list[str]:
    """Every word that a query compares one of these columns with, and that nothing ever writes there."""
    return [
        f"{column} {word}"
        for column, words in COMPARED.findall(sql)
        for word in re.findall(r"'([^']*)'", words)
        if word not in WORDS[column.lower()]
    ]


def test_every_effect_has_its_name_and_every_name_its_effect() -> None:
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(AnyEffect | ConsumerEffect | RecordedEffect)}
    assert kinds.keys() == set(EffectName)
    assert all(name == SNAKE.sub("_", kind.__name__).lower() for name, kind in kinds.items())


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_compares_columns_with_words_that_are_written_there(view: View) -> None:
    assert unknown_words(view.sql) == []


def test_the_rule_finds_a_word_that_is_never_written() -> None:
    assert unknown_words("a WHERE effect IN ('reply', 'replied') AND cause <> 'left' OR b.api = 'Heartbeat'") == [
        "effect replied",
        "cause left",
    ]
    compared = {column for view in VIEWS for column, _ in COMPARED.findall(view.sql)}
    assert compared == WORDS.keys()


def test_no_module_spells_the_name_of_an_effect() -> None:
    also_mean_something_else = {*CauseKind, *EndCause, "group_removed"}
    names = set(EffectName) - also_mean_something_else
    spelt = {
        str(path.relative_to(ROOT)): found
        for path in source_files()
        if path.name != "effect_names.py" and (found := names & _texts(path.read_text()))
    }
    assert spelt == {}


def _texts(source: str) -> set[str]:
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str)}
