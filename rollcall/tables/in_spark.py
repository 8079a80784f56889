"""How Spark reads, writes and keeps up a home's tables: its name of the format, its options, its statements.

Knows Spark's options and statements; must not know Spark's classes.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollcall.schemas.tables import Table

FORMAT = "delta"
UPKEEP_SETTINGS = {
    # Spark refuses to remove files younger than a week, unless this says that versions.retention.minutes means it.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # Vacuum lists folders in as many tasks as this, by default ten thousand; a table has a folder a day.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
}
NOT_SET_UP = ("DELTA_CONFIGURE_SPARK_SESSION", "DATA_SOURCE_NOT_FOUND")
"""Spark's error classes for a session that cannot read the format."""
NO_TABLE = ("PATH_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND")
"""Its error classes for a table that is not there."""


def append_options(app_id: str, number: int) -> dict[str, str]:
    """Options by which an append carries its writer's number, so that it is made once."""
    return {"txnAppId": app_id, "txnVersion": str(number)}


def make(path: str, table: Table, properties: Mapping[str, str]) -> str:
    """Makes a table that is not there yet."""
    partitioned = f"PARTITIONED BY ({', '.join(table.partition_by)})" if table.partition_by else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {_named(path)} ({table.ddl}) USING {FORMAT} {partitioned} "
        f"TBLPROPERTIES ({_listed(properties)})"
    )


def describe(path: str) -> str:
    """One row, whose column `properties` has the table's."""
    return f"DESCRIBE DETAIL {_named(path)}"


def set_properties(path: str, properties: Mapping[str, str]) -> str:
    return f"ALTER TABLE {_named(path)} SET TBLPROPERTIES ({_listed(properties)})"


def upkeep(path: str, old: str | None, versions_retention_minutes: int) -> list[str]:
    """Statements of one thorough run of upkeep. old: the condition of rows that are too old."""
    delete = [] if old is None else [f"DELETE FROM {_named(path)} WHERE {old}"]
    return [
        *delete,
        f"OPTIMIZE {_named(path)}",
        f"VACUUM {_named(path)} RETAIN {versions_retention_minutes / 60} HOURS",
    ]


def _named(path: str) -> str:
    return f"{FORMAT}.`{path}`"


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
