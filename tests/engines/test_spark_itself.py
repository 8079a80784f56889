"""Spark itself is asked what its kept answers are to, and what cannot be kept: random histories, and how it prints."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rollcall.answers.sql.engine import ask
from rollcall.answers.views.catalog import NAMES
from rollcall.cli.sql import register_views
from rollcall.jobs.spark import answering as answers
from rollcall.shown.plain_answers import FORMATS, write_answer
from tests.engines.ask_spark import answer, ask_views, by_spark
from tests.engines.both import FILES, by_duckdb, kept, over_data, queries
from tests.engines.recorded import HOMES, write_random_home


@pytest.mark.parametrize("name", FILES)
def test_the_kept_answers_are_sparks(kept_views: SparkSession, name: str) -> None:
    known = kept(name)
    assert {query: answer(kept_views, query) for query in queries(name)} == known


@pytest.mark.parametrize("name", HOMES)
def test_the_kept_answers_of_the_views_are_sparks(spark: SparkSession, homes: dict[str, Path], name: str) -> None:
    assert ask_views(spark, homes[name], {}) == kept(name)


@pytest.fixture(scope="module")
def random_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_home(tmp_path_factory.mktemp("random"))


@pytest.mark.parametrize("name", NAMES)
def test_every_view_of_random_histories(spark: SparkSession, random_home: Path, name: str) -> None:
    session = spark.newSession()
    register_views(session, random_home, [name])
    query = f"select * from {name}"
    names, rows = by_duckdb(random_home, query)
    their_names, theirs = by_spark(session, query)
    assert (names, sorted(rows)) == (their_names, sorted(theirs))


@pytest.mark.parametrize("form", FORMATS)
def test_each_form_is_printed_alike(kept_views: SparkSession, home: Path, form: str) -> None:
    odd = "select i, b / 3 as third, z, q, t, d, f, t - timestamp'2026-01-01' as since, s, array(1, null) as n from d"
    asked = [f"select * from {name} order by group_id, 2, 3, 4" for name in ("rebalances", "members", "deploys")]
    for query in (*asked, over_data(f"{odd} order by b")):
        theirs, ours = io.StringIO(), io.StringIO()
        answers.write_answer(kept_views.sql(query), form, theirs)
        write_answer(ask(home, query, None, 1001 if form == "table" else None), form, ours)
        assert ours.getvalue() == theirs.getvalue(), query
