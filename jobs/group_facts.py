"""Reads one group's facts from a home's effects table: from this machine's disk without Spark, from anywhere with it.

Knows the effects table and how its files are skipped. Must not know what facts mean.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from jobs.home import Home, HomeError
from jobs.queries import check_home
from programs.errors import UserError
from tables.delta_log import DeltaLogError
from tables.group_rows import GroupRows, day_of
from why.facts import COLUMNS
from why.past import Read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN_GROUPS = 10


class NoSuchGroup(UserError):
    """A group that a home knows nothing of; the text is the sentence for the user."""


def read_from_disk(home: Home, group_id: str) -> Read:
    """A reader of a group's facts, by DuckDB. Raises HomeError, NoSuchGroup."""
    check_home(home)
    try:
        rows = GroupRows(home.effects, group_id)
    except DeltaLogError:
        raise HomeError(f"{home.shown} holds no effects yet: its job has not finished a batch.") from None
    if rows.is_empty():
        raise NoSuchGroup(_no_such(group_id, rows.groups()))
    return partial(rows.read, COLUMNS)


def last_fact_ms(home: Home, group_id: str) -> int:
    """When the latest fact of a group happened that read_from_disk can read."""
    return GroupRows(home.effects, group_id).last_ms()


def read_by_spark(spark: SparkSession, home: Home, group_id: str) -> Read:
    """A reader of a group's facts, by Spark; the view `effects` is this home's then. Raises HomeError, NoSuchGroup."""
    from pyspark.sql import functions as F

    from jobs.spark.views import register_views

    register_views(spark, home, ["effects"])
    effects = spark.table("effects")
    own = effects.where(F.col("group_id") == group_id)
    if own.isEmpty():
        raise NoSuchGroup(_no_such(group_id, [row.group_id for row in effects.select("group_id").distinct().collect()]))

    def read(wanted: Sequence[str], from_ms: int, to_ms: int) -> Iterable[Mapping[str, Any]]:
        found = own.where(F.col("effect").isin(list(wanted)) & F.col("at_ms").between(from_ms, to_ms))
        found = found.where(F.col("at_date").between(F.lit(day_of(from_ms)), F.lit(day_of(to_ms))))
        return [row.asDict() for row in found.select(*COLUMNS).collect()]

    return read


def _no_such(group_id: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(group_id, known, n=1)
    listed = ", ".join(sorted(known)[:SHOWN_GROUPS]) + (" and others" if len(known) > SHOWN_GROUPS else "")
    others = f"did you mean {near[0]}?" if near else f"it knows {listed}." if known else "it knows none yet."
    return f"GROUP={group_id}: the home knows no such group; {others}"
