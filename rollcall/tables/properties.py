"""The properties of a home's tables, for all that make them: delta-rs, Spark, a gateway.

Knows Delta's names of properties; must not know a table's columns, nor load pyarrow or deltalake.
"""

from __future__ import annotations

VERSIONS_RETENTION_MINUTES = 60
"""The default of spark.coordinator.versions.retention.minutes; a process without the job's settings makes a table with
it, and the job sets its own value when it starts (`rollcall.tables.appending.open_table`)."""


def table_properties(versions_retention_minutes: int = VERSIONS_RETENTION_MINUTES) -> dict[str, str]:
    """A table's Delta properties. Its log is kept short, since it gets a commit a batch or a flush.

    versions_retention_minutes: how long old versions stay readable, and with them the files that they need.
    """
    kept = f"interval {versions_retention_minutes} minutes"
    return {
        "delta.checkpointInterval": "100",
        "delta.logRetentionDuration": kept,
        "delta.deletedFileRetentionDuration": kept,
    }


def request_properties(versions_retention_minutes: int = VERSIONS_RETENTION_MINUTES) -> dict[str, str]:
    """The request table's Delta properties: those of every table, and its writers never clean its log.

    Delta libraries clean it after a commit, and while the job is stopped they would remove unread commits. The job's
    upkeep, which knows what was read, cleans the log itself.
    """
    return {**table_properties(versions_retention_minutes), "delta.enableExpiredLogCleanup": "false"}


def differing(present: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
    """The wanted properties that a table has not, or has with another value."""
    return {name: value for name, value in wanted.items() if present.get(name) != value}
