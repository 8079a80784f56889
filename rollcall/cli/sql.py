"""A home asked in SQL: `make sql Q="select ..." [AT=] [FORMAT=table|json|csv|csv-raw] [ENGINE=duckdb|spark]`.

    from rollcall.cli.sql import register_views
    register_views(spark, ".rollcall")          then spark.sql("select * from members"), as often as one likes

    register_views(spark, ".rollcall", at="2026-03-01 03:12")          everything as it was at that moment

    from rollcall.cli.sql import frame_of
    frame_of(".rollcall", "select * from members")          a pandas frame, without Spark where that is possible

    rollcall sql [--home FOLDER] [--format table|json|csv|csv-raw] [--at MOMENT] [--engine duckdb|spark] "select ..."

Queries are in Spark's SQL. DuckDB answers them, without a JVM, if it is known to give Spark's result
(`rollcall.answers.sql`). Spark answers the others with --engine spark, and never starts unasked. --engine duckdb takes
DuckDB's own SQL. Must not load Spark, pandas or Arrow unless Spark answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from rollcall.answers.moments import Moments
from rollcall.answers.queries import ROWS_SHOWN, QueryError, check_query
from rollcall.answers.sql.engine import NoSuchName, NotEqual, NotParsed, ask, ask_table
from rollcall.shown.plain_answers import FORMATS, write_answer
from rollcall.tables.home import Home, NotReadHere

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import SparkSession

Answered = TypeVar("Answered")
ENGINES = ("duckdb", "spark")


def register_views(
    spark: SparkSession, home: str | Path | Home, names: Collection[str] = (), at: str | None = None
) -> None:
    """Makes a home's tables and views known to a session: see `rollcall.jobs.spark.views.register_views`."""
    from rollcall.jobs.spark import views

    views.register_views(spark, home, names, at)


def frame_of(home: str | Path | Home, query: str, at: str = "", engine: str = "") -> pd.DataFrame:
    """Return the answer to a query as a pandas frame, for notebooks; times are UTC.

    engine: "spark" to ask Spark, otherwise DuckDB. Raises as answer_query does.
    """
    import pandas as pd

    place = home if isinstance(home, Home) else Home(home)
    if engine == "spark":
        from rollcall.jobs.spark.answering import frame

        return frame(place, query, at or None)
    answer = _by_duckdb(place, query, at, engine, ask)
    return pd.DataFrame(list(answer.rows), columns=[column.name for column in answer.columns])


def table_of(home: str | Path | Home, query: str, at: str = "", engine: str = "") -> pa.Table:
    """As frame_of, but an Arrow table, which needs no pandas."""
    place = home if isinstance(home, Home) else Home(home)
    if engine == "spark":
        from rollcall.jobs.spark.answering import table

        return table(place, query, at or None)
    return _by_duckdb(place, query, at, engine, ask_table)


def _by_duckdb(
    home: Home, query: str, at: str, engine: str, ask: Callable[[Path, str, int | None], Answered]
) -> Answered:
    if engine:
        raise QueryError(f'engine="{engine}": is not "spark".')
    check_query(query)
    moment = Moments(home).read(at) if at else None
    with needing_spark('engine="spark"'), home.read_here() as here:
        return ask(here.path, query, None if moment is None else moment.from_ms)


@contextmanager
def needing_spark(option: str) -> Iterator[None]:
    """Raises QueryError for what DuckDB refuses, naming the option that asks Spark where Spark may know better."""
    try:
        yield
    except NoSuchName as missing:
        raise QueryError(f"query: {missing}") from None
    except NotParsed as unclear:
        raise QueryError(f"query: {unclear} If Spark knows this syntax, use {option}.") from None
    except NotReadHere as unread:
        raise QueryError(f"{str(unread).rstrip('.')}; Spark may read it: use {option}.") from None
    except NotEqual as reason:
        raise QueryError(f"query: this needs Spark, because of {str(reason).rstrip('.')}: use {option}.") from None


def answer_query(
    home: Home, query: str, at: str = "", form: str = "table", engine: str = "", out: TextIO | None = None
) -> int:
    """Prints the answer to a query about a home, at a moment if one is named; returns the exit status, 0.

    engine: the engine asked, in its own SQL; empty: DuckDB in Spark's SQL, if it is known to answer as Spark does.
    out: standard output unless given. Raises, in this order: QueryError for the form, the engine, no query or one that
    writes; MomentError; HomeError; QueryError for what has no answer.
    """
    if form not in FORMATS:
        raise QueryError(f"--format {form}: is not one of {', '.join(FORMATS)}.")
    if engine and engine not in ENGINES:
        raise QueryError(f"--engine {engine}: is not one of {', '.join(ENGINES)}.")
    check_query(query)
    moments = Moments(home)
    moment = moments.read(at) if at else None
    out = sys.stdout if out is None else out
    if engine == "spark":
        from rollcall.jobs.spark.answering import answer

        answer(home, query, at or None, form, out)
    else:
        _answer_by_duckdb(home, query, None if moment is None else moment.from_ms, form, engine == "duckdb", out)
    if moment is not None and form == "table":
        where = moments.outside(moment)
        print(f"as it was at {moment.shown}{where and f', {where}'}", file=out)
    return 0


def _answer_by_duckdb(home: Home, query: str, until_ms: int | None, form: str, is_duckdbs: bool, out: TextIO) -> None:
    with needing_spark("--engine spark"), home.read_here() as here:
        limit = ROWS_SHOWN + 1 if form == "table" else None
        try:
            answer = ask(here.path, query, until_ms, limit, is_duckdbs=is_duckdbs)
        except NotEqual as reason:
            if is_duckdbs and not isinstance(reason, NotParsed):
                raise QueryError(f"--engine duckdb: {str(reason).rstrip('.')}.") from None
            raise
        write_answer(answer, form, out)
