"""DuckDB answers every construct that it is trusted with as Spark does, over rows with NULLs, ties and odd values."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from duck_sql import calls, functions
from duck_sql.aggregates import AGGREGATES, WINDOWS
from duck_sql.arrays import LAMBDAS
from duck_sql.dialect import parsed
from duck_sql.engine import ask
from duck_sql.sources import GENERATORS
from duck_sql.terms import NoSuchName, NotProven
from tests.engines.both import assert_equal, by_duckdb, lines, over_data, types_of

# ---------------------------------------------------------------- queries


@pytest.mark.parametrize("query", lines("queries"))
def test_how_a_query_is_put_together(kept: SparkSession, home: Path, query: str) -> None:
    assert_equal(kept, home, over_data(query))


def sections(name: str) -> list[list[str]]:
    """The lines of a file, twenty together: one query each."""
    found = lines(name)
    return [found[start : start + 20] for start in range(0, len(found), 20)]


@cache
def by_condition(some: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in some:
        expression, _, condition = line.partition(" WHERE ")
        found.setdefault(condition, []).append(expression)
    return found


@pytest.mark.parametrize("some", sections("expressions"), ids=lambda some: some[0])
def test_expressions_and_how_spark_names_their_columns(kept: SparkSession, home: Path, some: list[str]) -> None:
    for condition, expressions in by_condition(tuple(some)).items():
        where = f" where {condition}" if condition else ""
        listed = ", ".join(f"{one} as r{place}" for place, one in enumerate(expressions))
        assert_equal(kept, home, over_data(f"select b, {listed} from d{where} order by b"))
        for one in expressions:
            assert_named_alike(kept, home, over_data(f"select {one} from d{where}"))


def assert_named_alike(spark: SparkSession, home: Path, query: str) -> None:
    """A column whose name is not known to DuckDB's side goes to Spark, which names it."""
    try:
        types, _ = by_duckdb(home, query)
    except NotProven as reason:
        if "without a name" not in str(reason):
            raise
    else:
        assert types == types_of(spark.sql(query))


def test_aggregates_of_all_of_some_and_of_no_rows(kept: SparkSession, home: Path) -> None:
    listed = ", ".join(f"{one} as r{place}" for place, one in enumerate(lines("aggregates")))
    assert_equal(kept, home, over_data(f"select {listed} from d"))
    assert_equal(kept, home, over_data(f"select {listed} from d where i > 1000"))
    assert_equal(kept, home, over_data(f"select f, {listed} from d group by f order by f"))
    for one in lines("aggregates"):
        assert_named_alike(kept, home, over_data(f"select {one} from d"))


def test_window_functions(kept: SparkSession, home: Path) -> None:
    listed = ", ".join(f"{one} as r{place}" for place, one in enumerate(lines("windows")))
    assert_equal(kept, home, over_data(f"select b, {listed} from d order by b"))


# ---------------------------------------------------------------- what is trusted, and what is not


def names_called(query: str) -> set[str]:
    return {str(node.this).lower() for node in parsed(query).find_all(exp.Anonymous)}


def test_every_function_that_is_trusted_has_been_asked_here() -> None:
    asked = itertools.chain(
        (over_data(f"select {line.partition(' WHERE ')[0]} from d") for line in lines("expressions")),
        (over_data(f"select {line} from d") for line in (*lines("aggregates"), *lines("windows"))),
        map(over_data, lines("queries")),
        lines("on_call"),
    )
    called = set().union(*map(names_called, asked))
    sure = {*functions.SCALARS, *AGGREGATES, *WINDOWS, *LAMBDAS, *GENERATORS, "transform"} - NODES_OF_THEIR_OWN
    assert sure - called == set()
    assert set(functions.SCALARS) >= calls.KEEP_ORDER


# sqlglot has a node for each of these, so they are not found by name.
NODES_OF_THEIR_OWN = {"transform", "trim", "any"}


@pytest.mark.parametrize("query", lines("not_proven"))
def test_what_is_not_proven_goes_to_spark(home: Path, query: str) -> None:
    with pytest.raises((NotProven, NoSuchName)):
        for _ in replace(ask(home, over_data(query) if query.startswith("select") else query)).rows:
            pass
