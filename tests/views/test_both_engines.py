"""DuckDB's answers are Spark's: the same rows, types and names, in the same order where one is asked for.

Over every recorded incident and random histories in one home: every view, now and at moments; what people on call type;
and every construct that DuckDB is trusted with, over rows that have NULLs, ties and odd values.
"""

from __future__ import annotations

import datetime
import io
import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlglot import exp

from duck_sql import calls, functions
from duck_sql.aggregates import AGGREGATES, WINDOWS
from duck_sql.arrays import LAMBDAS
from duck_sql.dialect import parsed
from duck_sql.engine import ask
from duck_sql.sources import GENERATORS
from duck_sql.terms import NoSuchName, NotProven
from jobs.shown import answers
from jobs.shown.plain_answers import FORMATS, write_answer
from jobs.sql import register_views
from tests.request_log.truth import NAMES as CAPTURES
from tests.views.random_homes import random_histories
from tests.views.story import write_effects
from tests.why.reading import capture
from views.catalog import NAMES, VIEWS

ASKED = Path(__file__).parent / "asked"
DATA = """
  select 1 as i, 10000000000 as b, 'alpha-1' as s, timestamp'2026-02-28 23:59:59.999' as t, date'2024-02-29' as d,
    true as f, array('x', null, 'y') as a, 0.25 as q, cast(2.5 as double) as z
  union all select -7, -3, 'Beta 22', timestamp'2026-11-21 05:38:55.036', date'2026-12-31', false, array(), 1.75,
    cast(-2.675 as double)
  union all select 3, 0, '', timestamp'2024-02-29 00:00:00', date'1999-01-01', null, array('z'), 0.00,
    cast(0.1 as double)
  union all select null, null, null, null, null, null, null, null, null
  union all select 3, 7, 'o\\'Neil_%', timestamp'1970-01-01 00:00:00.001', date'1970-01-01', true, array('b', 'a', 'b'),
    12.50, cast(1234567.891 as double)
"""
MOMENTS = (0.2, 0.55, 0.9)
PLAYS, FLEETS = 40, 25


def lines(name: str) -> list[str]:
    return [line for line in (ASKED / f"{name}.sql").read_text().splitlines() if not line.startswith("--")]


def over_data(query: str) -> str:
    """A query over the table d."""
    if query.lower().startswith("with "):
        return f"with d as ({DATA}), {query[5:]}"
    return f"with d as ({DATA}) {query}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All histories in one home, each incident's groups with its name before theirs."""
    home = tmp_path_factory.mktemp("both")
    for name in CAPTURES:
        write_effects(home, {f"{name}/{group_id}": rows for group_id, rows in capture(name).items()})
    write_effects(home, {name: history.rows for name, history in random_histories(PLAYS, FLEETS).items()})
    return home


@pytest.fixture(scope="module")
def kept(spark: SparkSession, home: Path) -> Iterator[SparkSession]:
    """The home's views in a Spark session, each computed once."""
    register_views(spark, home)
    for name in NAMES:
        spark.table(name).cache()
    yield spark
    spark.catalog.clearCache()


def types_of(found: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in found.schema.fields]


def by_spark(found: DataFrame, form: str = "json") -> list[str]:
    out = io.StringIO()
    answers.write_answer(found, form, out)
    return out.getvalue().splitlines()


def by_duckdb(
    home: Path, query: str, form: str = "json", until_ms: int | None = None
) -> tuple[list[tuple[str, str]], list[str]]:
    out, limit = io.StringIO(), 1001 if form == "table" else None
    answer = ask(home, query, until_ms, limit)
    write_answer(answer, form, out)
    return [(column.name, column.type.shown) for column in answer.columns], out.getvalue().splitlines()


def assert_equal(spark: SparkSession, home: Path, query: str, form: str = "json") -> None:
    found = spark.sql(query)
    types, rows = by_duckdb(home, query, form)
    assert types == types_of(found)
    is_ordered = "order by" in query.lower()
    theirs = by_spark(found, form)
    assert rows == theirs if is_ordered else sorted(rows) == sorted(theirs)


# ---------------------------------------------------------------- views


@pytest.mark.parametrize("name", NAMES)
def test_every_view_of_every_history(kept: SparkSession, home: Path, name: str) -> None:
    assert_equal(kept, home, f"select * from {name}")


@pytest.mark.parametrize("share", MOMENTS)
def test_every_view_as_it_was_at_a_moment(kept: SparkSession, home: Path, share: float) -> None:
    times = [row.at_ms for row in kept.sql("select distinct at_ms from effects order by at_ms").collect()]
    at_ms = times[int(share * len(times))]
    at = (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=at_ms)).isoformat(sep=" ")
    then = kept.newSession()
    register_views(then, home, at=at)
    for view in VIEWS:
        query = f"select * from {view.name}"
        types, rows = by_duckdb(home, query, until_ms=at_ms)
        found = then.sql(query)
        assert types == types_of(found), view.name
        assert sorted(rows) == sorted(by_spark(found)), view.name


# ---------------------------------------------------------------- queries


@pytest.mark.parametrize("query", lines("on_call"))
def test_what_people_on_call_type(kept: SparkSession, home: Path, query: str) -> None:
    assert_equal(kept, home, query)


@pytest.mark.parametrize("form", FORMATS)
def test_each_form_is_printed_alike(kept: SparkSession, home: Path, form: str) -> None:
    for name in ("rebalances", "members", "deploys", "storms"):
        query = f"select * from {name} order by group_id, 2, 3, 4"
        assert_equal(kept, home, query, form)
    odd = "select i, b / 3 as third, z, q, t, d, f, t - timestamp'2026-01-01' as since, s, array(1, null) as n from d"
    assert_equal(kept, home, over_data(f"{odd} order by b"), form)


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


def test_percentiles_of_many_numbers_are_equal_to_the_last_digit(kept: SparkSession, home: Path) -> None:
    shares = [0.0, 0.01, 0.05, 1 / 3, 0.5, 0.66, 0.9, 0.95, 0.99, 0.999, 1.0]
    listed = ", ".join(f"percentile(parked_ms, {share:.4f}) as p{place}" for place, share in enumerate(shares))
    assert_equal(kept, home, f"select api, {listed} from replies group by api order by api")
    assert kept.table("replies").agg(F.countDistinct("parked_ms")).first()[0] > 100  # type: ignore[index]
