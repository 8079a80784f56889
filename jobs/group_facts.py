"""Reads one group's facts from a home's effects table: without Spark on this machine's disk, with Spark elsewhere.

By Parquet's statistics and the partitions by day, rows of other groups and days are not read. Knows the effects table.
Must not know what facts mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollcall.answers.no_such_group import no_such_group
from rollcall.answers.sql.engine import ask
from rollcall.answers.why.cost import Asked
from rollcall.answers.why.past import Read
from rollcall.history.facts import COLUMNS
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.duck_database import files_of, open_database, quoted, rows_of
from rollcall.tables.home import Home, HomeError
from rollcall.tables.readable_files import ask_readable
from rollcall.tables.versions import TableError, is_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LAST_MS = 253_402_300_799_999
"""The end of the year 9999, the latest day there is a date for."""


class GroupFacts:
    """A group's facts in a home on this disk, by DuckDB, as of the moment this is made."""

    def __init__(self, home: Home, group_id: str) -> None:
        """Raises HomeError; NoSuchGroup, naming the groups there are."""
        home.check_tables()
        self._home, self._group_id, self._database = home, group_id, open_database()
        try:
            self._files: Sequence[str] = files_of(Path(home.effects))
            """Without those that a query failed with."""
        except TableError:
            raise HomeError(f"{home.shown} holds no effects yet: its job has not finished a batch.") from None
        if not self._ask("SELECT 1 FROM {rows} WHERE group_id = $group_id LIMIT 1"):
            asked = "SELECT DISTINCT group_id FROM {rows} WHERE $group_id IS NOT NULL AND group_id IS NOT NULL"
            raise no_such_group(group_id, [row[0] for row in self._ask(asked)], "the home")

    def read(self, wanted: Sequence[str], from_ms: int, to_ms: int) -> Iterable[Mapping[str, Any]]:
        """See `rollcall.answers.why.past.Read`."""
        asked = (
            f"SELECT {', '.join(COLUMNS)} FROM {{rows}} WHERE group_id = $group_id AND list_contains($effects, effect) "
            "AND at_ms BETWEEN $from_ms AND $to_ms AND at_date BETWEEN $from_day AND $to_day"
        )
        days = {"from_day": _day_of(from_ms), "to_day": _day_of(to_ms)}
        found = self._ask(asked, effects=[str(one) for one in wanted], from_ms=from_ms, to_ms=to_ms, **days)
        return [dict(zip(COLUMNS, row, strict=True)) for row in found]

    def last_ms(self) -> int:
        """The time of the group's latest fact."""
        ((found,),) = self._ask("SELECT max(at_ms) FROM {rows} WHERE group_id = $group_id")
        return int(found)

    def asked(self) -> Asked | None:
        """Queries about the group's lag, by DuckDB; None: the home has no log ends."""
        if not is_table(self._home.log_ends):
            return None

        def rows(query: str) -> list[dict[str, Any]]:
            return ask(self._home.path, query, is_duckdbs=True).rows_by_column()

        return Asked(rows, f" and group_id = '{quoted(self._group_id)}'")

    def _ask(self, asked: str, **given: Any) -> list[tuple[Any, ...]]:
        def rows_in(files: Sequence[str]) -> list[tuple[Any, ...]]:
            if not files:
                return []
            query = asked.format(rows=rows_of(files, EFFECTS))
            found = self._database.execute(query, {"group_id": self._group_id, **given}).fetchall()
            self._files = files
            return found

        return ask_readable(rows_in, self._files)


def read_by_spark(spark: SparkSession, home: Home, group_id: str) -> Read:
    """A reader of a group's facts, by Spark; the view `effects` is this home's then. Raises HomeError, NoSuchGroup."""
    from pyspark.sql import functions as F

    from rollcall.jobs.spark.views import register_views

    register_views(spark, home, ["effects"])
    effects = spark.table("effects")
    own = effects.where(F.col("group_id") == group_id)
    if own.isEmpty():
        known = [row.group_id for row in effects.select("group_id").distinct().collect()]
        raise no_such_group(group_id, known, "the home")

    def read(wanted: Sequence[str], from_ms: int, to_ms: int) -> Iterable[Mapping[str, Any]]:
        found = own.where(F.col("effect").isin(list(wanted)) & F.col("at_ms").between(from_ms, to_ms))
        found = found.where(F.col("at_date").between(F.lit(_day_of(from_ms)), F.lit(_day_of(to_ms))))
        return [row.asDict() for row in found.select(*COLUMNS).collect()]

    return read


def _day_of(at_ms: int) -> date:
    """The UTC day of a moment, as in the column at_date; the nearest possible day if there is no such date."""
    return datetime.fromtimestamp(min(max(at_ms, 0), _LAST_MS) / 1000, UTC).date()
