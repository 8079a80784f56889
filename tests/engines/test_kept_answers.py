"""DuckDB answers as Spark did when its answers were kept: every view on every recording, and every query of `asked`.

What is not known to be equal is not answered at all. Spark itself is asked by test_spark_itself.
"""

from __future__ import annotations

import contextlib
import random
import re
from pathlib import Path

import pytest
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from rollcall.answers.sql import engine, functions, known_equal, spark_sql
from rollcall.answers.sql.engine import NoSuchName, NotEqual, columns
from rollcall.answers.views.catalog import NAMES
from tests.engines.both import (
    FILES,
    MOMENTS,
    by_duckdb,
    each_by_duckdb,
    kept,
    moments,
    over_data,
    queries,
    share_of,
    shares,
    view_kept,
    view_question,
)
from tests.engines.recorded import HOMES

# ---------------------------------------------------------------- views


@pytest.mark.parametrize("of_home", HOMES)
def test_the_views_were_asked_as_they_were_at_these_moments(homes: dict[str, Path], of_home: str) -> None:
    asked = {view_question(name, until_ms) for name in NAMES for until_ms in moments(homes[of_home])}
    assert asked == set(kept(of_home))
    assert len(moments(homes[of_home])) == len(MOMENTS) + 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("of_home", HOMES)
def test_every_view_on_every_recording(homes: dict[str, Path], of_home: str, name: str) -> None:
    _, rows = by_duckdb(homes[of_home], f"select * from {name}")
    assert view_kept(rows) == kept(of_home)[name]


PAST = [(name, question) for name in HOMES for question in kept(name) if " at " in question]


@pytest.mark.parametrize(("of_home", "question"), PAST)
def test_every_view_as_it_was_at_these_moments(homes: dict[str, Path], of_home: str, question: str) -> None:
    name, _, until_ms = question.partition(" at ")
    _, rows = by_duckdb(homes[of_home], f"select * from {name}", int(until_ms))
    assert view_kept(rows) == kept(of_home)[question]


# ---------------------------------------------------------------- queries


@pytest.mark.parametrize("name", FILES)
def test_an_answer_is_kept_of_every_query(name: str) -> None:
    assert set(kept(name)) == set(queries(name))


@pytest.mark.parametrize(("name", "share"), [(name, share) for name in FILES for share in shares(name)])
def test_what_is_known_to_be_equal_is(home: Path, name: str, share: int) -> None:
    answers = kept(name)
    expected = {query: answers[query] for query in share_of(name, share)}
    assert expected
    for query, answer in each_by_duckdb(home, name, share):
        assert answer == expected.pop(query), query
    assert expected == {}


@pytest.mark.parametrize("query", queries("to_spark"))
def test_what_is_not_known_to_be_equal_is_not_answered(home: Path, query: str) -> None:
    with pytest.raises((NotEqual, NoSuchName)):
        by_duckdb(home, over_data(query))


# ---------------------------------------------------------------- functions


def names_called(query: str) -> set[str]:
    tree = known_equal.parsed(query, known_equal.TypedDialect)
    calls = {call.name.lower() for call in tree.find_all(exp.Anonymous)}
    return calls | {node.sql_name().lower() for node in tree.find_all(exp.Func)}


def test_every_function_and_node_that_is_known_to_be_equal_is_asked() -> None:
    # The data are the same for each: they are looked at once.
    asked = [over_data("select * from d"), *(query for name in FILES for query in queries(name))]
    assert sorted(known_equal.FUNCTIONS - set[str]().union(*map(names_called, asked))) == []
    asked = [query for query in asked if engine.statement(query) is None]
    nodes = {type(node).__name__ for query in asked for node in known_equal.parsed(query).walk()}
    assert sorted(known_equal.NODES - nodes) == []
    assert {*known_equal.FUNCTIONS, *known_equal.OTHER_NAMES.values()} >= functions.NAMES


def test_every_other_function_of_sparks_is_not_answered() -> None:
    others = {name.lower() for name in Spark.Parser.FUNCTIONS} - known_equal.FUNCTIONS
    assert {"first", "map", "rand", "stddev", "struct", "to_json", "uuid"} < others
    for name in others:
        with pytest.raises(NotEqual):
            spark_sql.translated(f"select {name}(cause) as r from rebalances", columns())


def test_whatever_is_typed_is_translated_or_refused_in_a_sentence() -> None:
    chance, typed = random.Random(27), [query for name in FILES for query in queries(name)]
    for _ in range(1000):
        words = re.findall(r"\w+|'[^']*'|\S", chance.choice(typed))
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(words))
            words[place : place + chance.randint(0, 1)] = chance.choice([[], [chance.choice(words)]])
            words = words or ["select"]
        with contextlib.suppress(NotEqual, NoSuchName):
            spark_sql.translated(" ".join(words), columns())
