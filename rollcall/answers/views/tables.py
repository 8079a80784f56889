"""A home's own tables as views: every row as it was written, with timestamps beside the milliseconds.

Knows the tables of `rollcall.schemas.tables`. Must not know where a home is.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.schemas.tables import (
    ALERTS,
    EFFECTS,
    FETCHES,
    LOG_ENDS,
    QUARANTINE,
    REQUESTS,
    Column,
    Table,
)


@dataclass(frozen=True)
class TableView:
    """A table's view: its name, what one row is, and the table."""

    name: str
    row: str
    table: Table
    times: tuple[tuple[str, str], ...]
    """The timestamp column for each column of ms; the first says when the row was made."""

    @property
    def folder(self) -> str:
        """The table's folder, which has its name."""
        return self.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """The table's columns, types as Spark shows them, then the timestamps."""
        own = (column._replace(type=_SHOWN.get(column.type, column.type)) for column in self.table.columns)
        return (*own, *(Column(name, "timestamp", f"{of_ms} as a timestamp") for name, of_ms in self.times))

    @property
    def moment(self) -> str:
        """The column that says when a row was made, in ms."""
        return self.times[0][1]

    @property
    def selects(self) -> list[str]:
        """The expressions that make the view of the table."""
        times = (f"timestamp_millis({of_ms}) AS {name}" for name, of_ms in self.times)
        return [*self.table.names, *times]


_SHOWN = {"long": "bigint"}

TABLE_VIEWS = (
    TableView(
        name="effects",
        row="a fact: a reply, a change of state, a member that joined, ...",
        table=EFFECTS,
        times=(("at", "at_ms"), ("received_at", "received_at_ms")),
    ),
    TableView(
        name="requests",
        row="a request as it was appended for the job to read",
        table=REQUESTS,
        times=(("received_at", "received_at_ms"),),
    ),
    TableView(
        name="quarantine",
        row="something that could not be applied, with the reason",
        table=QUARANTINE,
        times=(("at", "at_ms"), ("received_at", "received_at_ms")),
    ),
    TableView(
        name="log_ends",
        row="where a partition's log began and ended at one moment",
        table=LOG_ENDS,
        times=(("at", "at_ms"),),
    ),
    TableView(
        name="fetches",
        row="a partition from which a client fetched on",
        table=FETCHES,
        times=(("at", "at_ms"),),
    ),
    TableView(
        name="alerts",
        row="what a receiver of alarms got",
        table=ALERTS,
        times=(("at", "at_ms"), ("since_at", "since_ms"), ("closed_at", "closed_ms")),
    ),
)
