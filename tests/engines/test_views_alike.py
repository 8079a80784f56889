"""DuckDB's rows of the views are Spark's, and so are the answers to what people on call type: the same rows, types and
names, in the same order where one is asked for, over every recorded incident and random histories in one home.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.shown.plain_answers import FORMATS
from jobs.sql import register_views
from tests.engines.both import assert_equal, by_duckdb, by_spark, lines, over_data, types_of
from views.catalog import NAMES, VIEWS

MOMENTS = (0.2, 0.55, 0.9)


# ---------------------------------------------------------------- views


@pytest.mark.parametrize("name", NAMES)
def test_every_view_of_every_history(kept: SparkSession, home: Path, name: str) -> None:
    assert_equal(kept, home, f"select * from {name}")


def test_every_view_as_of_the_present(kept: SparkSession, home: Path) -> None:
    now = kept.newSession()
    register_views(now, home, at=f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M:%S}")
    for view in VIEWS:
        found = now.sql(f"select * from {view.name}")
        assert sorted(by_spark(kept.table(view.name))) == sorted(by_spark(found)), view.name


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


# ---------------------------------------------------------------- questions


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


def test_percentiles_of_many_numbers_are_equal_to_the_last_digit(kept: SparkSession, home: Path) -> None:
    shares = [0.0, 0.01, 0.05, 1 / 3, 0.5, 0.66, 0.9, 0.95, 0.99, 0.999, 1.0]
    listed = ", ".join(f"percentile(parked_ms, {share:.4f}) as p{place}" for place, share in enumerate(shares))
    assert_equal(kept, home, f"select api, {listed} from replies group by api order by api")
    assert kept.table("replies").agg(F.countDistinct("parked_ms")).first()[0] > 100  # type: ignore[index]
