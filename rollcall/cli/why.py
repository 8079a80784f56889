"""A rebalance explained: `make why GROUP=g [GENERATION=n | AT="2026-03-01 03:12"] [EVIDENCE=1] [FORMAT=text|json]`.

    from rollcall.cli.why import explain_rebalance
    explain_rebalance(spark, ".rollcall", "orders", generation_id=7).show(truncate=False)

Knows the question and the forms of the answer. Must not know how an explanation is found
(`rollcall.answers.why`) or laid out (`rollcall.shown.why_page`).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rollcall.answers.moments import Moments
from rollcall.answers.why.explanation import Explanation, explain, with_cost
from rollcall.answers.why.past import Read
from rollcall.answers.why.sections import Line, lines_of
from rollcall.history.rebalances import NoSuchRebalance, Span
from rollcall.jobs.group_facts import GroupFacts, read_by_spark
from rollcall.programs.errors import UserError
from rollcall.programs.terminal import Terminal
from rollcall.programs.timestamps import iso_utc
from rollcall.programs.visible import visible_json
from rollcall.shown.why_page import show_page
from rollcall.tables.home import Home, NotReadHere

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "part STRING COMMENT 'what, who, timeline, member, held, moved, stopped, cost, slack or next', "
    "about STRING COMMENT 'what of it the line is about', "
    "text STRING COMMENT 'the line as it is shown', "
    "at TIMESTAMP COMMENT 'when, where it has a moment', "
    "client STRING COMMENT 'whom it is about', "
    "member_id STRING COMMENT 'the member id', "
    "topic STRING COMMENT 'the topic', "
    "partition INT COMMENT 'the partition', "
    "duration_ms BIGINT COMMENT 'how long, ms'"
)


class WhyError(UserError):
    """The question cannot be answered; the text says why."""


def explain_rebalance(
    spark: SparkSession, home: str | Path | Home, group_id: str, generation_id: int | None = None, at: str | None = None
) -> DataFrame:
    """The explanation of the rebalance that led to a generation, or of the one at a moment (default: the latest).

    One row is one line: see COLUMNS and `rollcall.answers.why.sections`. Raises, in this order: HomeError; NoSuchGroup;
    MomentError; WhyError, where the group had no such rebalance.
    """
    place = home if isinstance(home, Home) else Home(home)
    span = None if at is None else _span(place, at)
    found = _explained(group_id, read_by_spark(spark, place, group_id), generation_id, span)
    return spark.createDataFrame([_row(line) for line in lines_of(found)], COLUMNS)


def explanation_of(home: Home, group_id: str, generation_id: int | None = None, at: str | None = None) -> Explanation:
    """As explain_rebalance, but returns an explanation, and uses Spark only if nothing else can read the home."""
    span = None if at is None else _span(home, at)
    try:
        with home.read_here() as here:
            facts = GroupFacts(here, group_id)
            found, asked = _explained(group_id, facts.read, generation_id, span), facts.asked()
            return found if asked is None else with_cost(found, asked)
    except NotReadHere:
        from rollcall.jobs.spark.session import spark_session

    spark = spark_session("rollcall why", is_brief=True)
    spark.sparkContext.setLogLevel("OFF")
    return _explained(group_id, read_by_spark(spark, home, group_id), generation_id, span)


def _explained(group_id: str, read: Read, generation_id: int | None, span: Span | None) -> Explanation:
    try:
        return explain(group_id, read, generation_id, span)
    except NoSuchRebalance as none:
        raise WhyError(str(none)) from None


def _span(home: Home, at: str) -> Span:
    return Span(*Moments(home).read(at))


def _row(line: Line) -> tuple[object, ...]:
    at = None if line.at_ms is None else datetime.fromtimestamp(line.at_ms / 1000, UTC)
    row = line._asdict() | {"at_ms": at}
    return tuple(row.values())


def as_json(line: Line) -> str:
    """Return a timestamp in ISO 8601 with its zone."""
    row: dict[str, object] = {("at" if name == "at_ms" else name): value for name, value in line._asdict().items()}
    if line.at_ms is not None:
        row["at"] = iso_utc(line.at_ms / 1000)
    return visible_json(json.dumps(row, ensure_ascii=False))


def answer(home: Home, group_id: str, generation: str, at: str, form: str, *, shows_evidence: bool = False) -> None:
    """Prints an explanation. form: text or json. generation, at: empty if not asked for.

    Raises WhyError, naming what is wrong with the question, and as explanation_of does.
    """
    if not group_id:
        raise WhyError("GROUP names no group.")
    if generation and at:
        raise WhyError("--generation and --at: name one of them, not both.")
    if generation and not generation.isdecimal():
        raise WhyError(f"--generation {generation}: is not a whole number.")
    found = explanation_of(home, group_id, int(generation) if generation else None, at or None)
    if form == "json":
        for line in lines_of(found, shows_evidence=shows_evidence):
            print(as_json(line))
        return
    show_page(found, Terminal(highlight=False, soft_wrap=True), shows_evidence=shows_evidence)
