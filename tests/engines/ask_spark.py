"""Asks Spark everything that lies in `asked`, and keeps its answers there.

    python -m tests.engines.ask_spark          what has no kept answer yet; --all: everything anew

Knows Spark's side. What DuckDB answers is compared with it by the tests.
"""

from __future__ import annotations

import datetime
import io
import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from rollcall.answers.views.catalog import NAMES
from rollcall.cli.sql import register_views
from rollcall.jobs.spark import answering as answers
from rollcall.jobs.spark.session import spark_session
from tests.engines.both import ASKED, FILES, Kept, kept, kept_of, moments, over_data, queries, view_kept, view_question
from tests.engines.recorded import HOMES, write_home


def by_spark(spark: SparkSession, query: str) -> tuple[list[str], list[str]]:
    found, out = spark.sql(query), io.StringIO()
    answers.write_answer(found, "json", out)
    return found.columns, out.getvalue().splitlines()


def answer(spark: SparkSession, query: str) -> Kept:
    return kept_of(query, *by_spark(spark, over_data(query)))


def ask_views(spark: SparkSession, home: Path, known: dict[str, Kept]) -> dict[str, Kept]:
    found: dict[str, Kept] = {}
    for until_ms in moments(home):
        wanted = [name for name in NAMES if view_question(name, until_ms) not in known]
        if wanted:
            session = spark.newSession()
            register_views(session, home, at=None if until_ms is None else _shown(until_ms))
            for name in wanted:
                rows = by_spark(session, f"select * from {name}")[1]
                found[view_question(name, until_ms)] = view_kept(rows)
                print(view_question(name, until_ms), len(rows), flush=True)
    return found


def _shown(at_ms: int) -> str:
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=at_ms)).isoformat(sep=" ")


def keep(name: str, found: dict[str, Kept]) -> None:
    text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in found.items())
    (ASKED / f"{name}.answers.jsonl").write_text(text)


def main(anew: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = write_home(Path(folder) / "home")
        spark = spark_session("rollcall engines")
        register_views(spark, home)
        for view in NAMES:
            spark.table(view).cache()
        for name in FILES:
            known = {} if anew else kept(name)
            keep(name, {query: known.get(query) or answer(spark, query) for query in queries(name)})
            print(name, len(queries(name)), flush=True)
        for name, write in HOMES.items():
            known = {} if anew else kept(name)
            asked = home if write is write_home else write(Path(folder) / name)
            keep(name, known | ask_views(spark, asked, known))
        spark.stop()


if __name__ == "__main__":
    main("--all" in sys.argv[1:])
