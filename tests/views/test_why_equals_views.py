"""`make why` reads facts without Spark; what it makes of them is what the views make of them, and so are its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rollcall.answers.no_such_group import NoSuchGroup
from rollcall.answers.why.sections import lines_of
from rollcall.answers.why.slack import gaps_of, nearest_to_expiry
from rollcall.cli.why import WhyError, explain_rebalance, explanation_of
from rollcall.history.facts import Fact, effects_in, facts_of
from rollcall.history.holdings import holdings_of
from rollcall.history.members import Membership, memberships_of
from rollcall.history.rebalances import Rebalance, rebalances_of
from rollcall.schemas.effect_rows import EffectRow
from rollcall.tables.home import Home
from tests.views.histories import stories
from tests.views.random_homes import random_histories
from tests.views.story import write_effects
from tests.views.view_rows import Views
from tests.why.reading import as_columns, recorded

Rows = dict[str, list[EffectRow]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """The history of every group."""
    random = {name: history.rows for name, history in random_histories(150, 10).items()}
    return random | {story.group_id: story.rows for story in stories()} | dict(recorded("topic", "n-classic-mixed"))


@pytest.fixture(scope="module")
def views(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> Views:
    home = tmp_path_factory.mktemp("home")
    write_effects(home, rows)
    return Views(home)


@pytest.fixture(scope="module")
def facts(rows: Rows) -> dict[str, list[Fact]]:
    return {name: facts_of(map(as_columns, some)) for name, some in rows.items()}


def shown(views: Views, view: str, *columns: str) -> list[tuple[Any, ...]]:
    """A view's rows, timestamps as ms, in order."""
    return sorted((tuple(row[name] for name in columns) for row in views.rows(view)), key=repr)


def terms(one: Membership) -> tuple[Any, ...]:
    is_inferred = None if one.ended_at_ms is None else one.is_end_inferred
    return is_inferred, one.end_cause, one.session_timeout_ms


def started_at(one: Rebalance) -> int | None:
    return one.started_at_ms if one.is_start_known else None


@pytest.mark.parametrize(
    ("view", "columns", "read", "row"),
    [
        (
            "assignments",
            "topic partition member_id from_at to_at generation_id",
            holdings_of,
            lambda one: (*one.partition, one.member_id, one.from_ms, one.to_ms, one.generation_id),
        ),
        (
            "sessions",
            "member_id client_host joined_at ended_at end_is_inferred end_cause session_timeout_ms",
            memberships_of,
            lambda one: (one.member_id, one.client_host, one.joined_at_ms, one.ended_at_ms, *terms(one)),
        ),
        (
            "rebalances",
            "from_generation_id to_generation_id started_at ended_at cause outcome",
            rebalances_of,
            lambda one: (
                *(one.from_generation_id, one.to_generation_id, started_at(one), one.ended_at_ms),
                *(one.cause.kind, one.outcome),
            ),
        ),
    ],
    ids=["holdings", "memberships", "rebalances"],
)
def test_what_why_reads_is_in_the_view(
    view: str, columns: str, read: Any, row: Any, views: Views, facts: dict[str, list[Fact]]
) -> None:
    found = ((name, *row(one)) for name, some in facts.items() for one in read(effects_in(some)))
    assert shown(views, view, "group_id", *columns.split()) == sorted(found, key=repr)


def test_the_longest_gaps_are_those_of_heartbeat_slack(views: Views, facts: dict[str, list[Fact]]) -> None:
    gaps = {name: gaps_of(some) for name, some in facts.items()}
    memberships = {
        (name, one.member_id, one.joined_at_ms): one
        for name, some in facts.items()
        for one in memberships_of(effects_in(some))
    }
    rows = views.rows("heartbeat_slack")
    assert len(rows) > 100
    for row in rows:
        since = [gap for gap in gaps[row.group_id] if gap.member_id == row.member_id and gap.from_ms >= row.joined_at]
        own = [gap for gap in since if row.ended_at is None or gap.to_ms <= row.ended_at]
        found = nearest_to_expiry(own, memberships[row.group_id, row.member_id, row.joined_at])
        assert row.longest_gap_ms == (None if found is None else found.length_ms), (row.group_id, row.member_id)


def test_the_rows_are_the_same_from_a_session_as_without_one(spark: SparkSession, tmp_path: Path) -> None:
    write_effects(tmp_path, {story.group_id: story.rows for story in stories()})
    reported = explain_rebalance(spark, tmp_path, "expired", generation_id=3)
    assert reported.dtypes[:4] == [("part", "string"), ("about", "string"), ("text", "string"), ("at", "timestamp")]
    rows = [tuple(row) for row in reported.withColumn("at", F.unix_millis("at")).collect()]
    assert rows == [tuple(line) for line in lines_of(explanation_of(Home(tmp_path), "expired", 3))]
    assert explain_rebalance(spark, tmp_path, "expired", at="1970-01-01 00:00:03").where("part = 'moved'").count() == 1


def test_a_question_without_an_answer_is_refused_in_a_session_too(spark: SparkSession, tmp_path: Path) -> None:
    write_effects(tmp_path, {story.group_id: story.rows for story in stories()})
    with pytest.raises(NoSuchGroup, match="did you mean expired"):
        explain_rebalance(spark, tmp_path, "expird")
    with pytest.raises(WhyError, match="--generation 9"):
        explain_rebalance(spark, tmp_path, "expired", generation_id=9)
