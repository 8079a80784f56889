"""A home asked in SQL: `make sql Q="select ..." [AT=] [FORMAT=table|json|csv|csv-raw] [ENGINE=duckdb|spark]`.

    from rollcall.cli.sql import register_views
    register_views(spark, ".rollcall")          then spark.sql("select * from members"), as often as one likes

    register_views(spark, ".rollcall", at="2026-03-01 03:12")          everything as it was at that moment

    from rollcall.cli.sql import frame_of
    frame_of(".rollcall", "select * from members")          a pandas frame, without Spark where that is possible

    rollcall sql [--home FOLDER] [--format table|json|csv|csv-raw] [--at MOMENT] [--engine duckdb|spark] "select ..."

Queries are in Spark's SQL. DuckDB answers them, without a JVM, if it is known to give Spark's result
(`rollcall.answers.sql`); Spark answers the others. --engine duckdb takes DuckDB's own SQL. Knows which engine is asked,
and in which order. Must not load Spark, pandas or Arrow unless Spark answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from rollcall.answers.moments import moment_of
from rollcall.answers.queries import QueryError, check_home, check_query
from rollcall.answers.sql.engine import NoSuchName, NotEqual, NotParsed, ask, ask_table
from rollcall.shown.plain_answers import FORMATS, write_answer
from rollcall.shown.tables import ROWS_SHOWN
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


def frame_of(home: str | Path | Home, query: str, at: str = "") -> pd.DataFrame:
    """The answer to a query as a pandas frame, for notebooks; times are UTC. Raises as answer_query does."""
    import pandas as pd

    place = home if isinstance(home, Home) else Home(home)
    answer = _by_duckdb(place, query, at, ask)
    if answer is None:
        from rollcall.jobs.spark.answering import frame

        return frame(place, query, at or None)
    return pd.DataFrame(list(answer.rows), columns=[column.name for column in answer.columns])


def table_of(home: str | Path | Home, query: str, at: str = "") -> pa.Table:
    """As frame_of, but an Arrow table, which needs no pandas."""
    place = home if isinstance(home, Home) else Home(home)
    answer = _by_duckdb(place, query, at, ask_table)
    if answer is None:
        from rollcall.jobs.spark.answering import table

        return table(place, query, at or None)
    return answer


def _by_duckdb(home: Home, query: str, at: str, ask: Callable[[Path, str, int | None], Answered]) -> Answered | None:
    """DuckDB's answer. None: Spark has to be asked. Raises as answer_query does."""
    check_query(query)
    moment = moment_of(home, at) if at else None
    check_home(home)
    try:
        with home.read_here() as here:
            return ask(here.path, query, None if moment is None else moment.from_ms)
    except (NoSuchName, NotParsed) as mistake:
        raise QueryError(f"query: {mistake}") from None
    except (NotEqual, NotReadHere):
        return None


def answer_query(
    home: Home,
    query: str,
    at: str = "",
    form: str = "table",
    engine: str = "",
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Prints the answer to a query about a home, at a moment if one is named; returns the exit status, 0.

    engine: the only one to be asked, in its own SQL; empty: DuckDB, and Spark where DuckDB refuses or is not known to
    answer as Spark does, which err hears in one line. out, err: standard output and error unless given. Raises, in this
    order: QueryError for the form, the engine, no query or one that writes; MomentError; HomeError; QueryError for what
    has no answer.
    """
    if form not in FORMATS:
        raise QueryError(f"FORMAT={form}: is not one of {', '.join(FORMATS)}.")
    if engine and engine not in ENGINES:
        raise QueryError(f"ENGINE={engine}: is not one of {', '.join(ENGINES)}.")
    check_query(query)
    moment = moment_of(home, at) if at else None
    check_home(home)
    out = sys.stdout if out is None else out
    until_ms = None if moment is None else moment.from_ms
    why = "" if engine == "spark" else _answered_by_duckdb(home, query, until_ms, form, engine == "duckdb", out)
    if why and engine == "duckdb":
        raise QueryError(f"ENGINE=duckdb: {why}.")
    if why is not None:
        if why:
            print(f"rollcall: DuckDB does not answer {why}; Spark does, which takes longer", file=err or sys.stderr)
        _answer_by_spark(home, query, at or None, form, out)
    if moment is not None and form == "table":
        print(f"as it was at {moment.shown}", file=out)
    return 0


def _answered_by_duckdb(
    home: Home, query: str, until_ms: int | None, form: str, is_duckdbs: bool, out: TextIO
) -> str | None:
    """None if DuckDB has answered, else why it cannot. Raises QueryError: the query names something unknown."""
    try:
        with home.read_here() as here:
            check_home(here)
            answer = ask(here.path, query, until_ms, ROWS_SHOWN + 1 if form == "table" else None, is_duckdbs=is_duckdbs)
            write_answer(answer, form, out)
    except NoSuchName as missing:
        raise QueryError(f"query: {missing}") from None
    except NotParsed as unclear:
        raise QueryError(f"query: {unclear} If Spark knows this syntax, use ENGINE=spark.") from None
    except (NotEqual, NotReadHere) as reason:
        return str(reason).rstrip(".")
    return None


def _answer_by_spark(home: Home, query: str, at: str | None, form: str, out: TextIO) -> None:
    from rollcall.jobs.spark.answering import answer

    answer(home, query, at, form, out)
