"""A home's own tables as views: every row as it was written, with timestamps beside the milliseconds.

Knows the tables of `rollcall.schemas.tables`. Must not know where a home is.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.schemas.tables import (
    ALERTS,
    ALERTS_FOLDER,
    EFFECTS,
    EFFECTS_FOLDER,
    FETCHES,
    FETCHES_FOLDER,
    LOG_ENDS,
    LOG_ENDS_FOLDER,
    QUARANTINE,
    QUARANTINE_FOLDER,
    REQUESTS,
    REQUESTS_FOLDER,
    Column,
    Table,
)


@dataclass(frozen=True)
class TableView:
    """A table's view: its name, what one row is, the table and its folder."""

    name: str
    row: str
    folder: str
    table: Table
    times: tuple[tuple[str, str], ...]
    """The timestamp column for each column of ms; the first says when the row was made."""

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
        folder=EFFECTS_FOLDER,
        table=EFFECTS,
        times=(("at", "at_ms"), ("received_at", "received_at_ms")),
    ),
    TableView(
        name="requests",
        row="a request as it was appended for the job to read",
        folder=REQUESTS_FOLDER,
        table=REQUESTS,
        times=(("received_at", "received_at_ms"),),
    ),
    TableView(
        name="quarantine",
        row="something that could not be applied, with the reason",
        folder=QUARANTINE_FOLDER,
        table=QUARANTINE,
        times=(("at", "at_ms"), ("received_at", "received_at_ms")),
    ),
    TableView(
        name="log_ends",
        row="where a partition's log began and ended at one moment",
        folder=LOG_ENDS_FOLDER,
        table=LOG_ENDS,
        times=(("at", "at_ms"),),
    ),
    TableView(
        name="fetches",
        row="a partition from which a client fetched on",
        folder=FETCHES_FOLDER,
        table=FETCHES,
        times=(("at", "at_ms"),),
    ),
    TableView(
        name="alerts",
        row="what a receiver of alarms got",
        folder=ALERTS_FOLDER,
        table=ALERTS,
        times=(("at", "at_ms"), ("since_at", "since_ms"), ("closed_at", "closed_ms")),
    ),
)
