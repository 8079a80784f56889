"""The tables of a home, each column declared once: as an Arrow schema for Delta, as text for Spark.

A home is the folder (or object-store prefix) that ROLLCALL_HOME names. In it:

    requests/     Delta, appended by clients and gateways, one commit a flush; read by the job
    effects/      Delta, appended by the job, one commit a batch, partitioned by at_date; replies and history alike
    quarantine/   Delta, appended by the job: what could not be understood
    log_ends/     Delta, partitioned by at_date: where the logs of topics began and ended, as far as known
    fetches/      Delta, partitioned by at_date: what clients fetched, by a request log
    alerts/       Delta, appended by whoever sends alarms: what was sent to whom
    checkpoint/   Spark's; the state of every group is in its state store, one row a group, columns `STATE`
    merged/       what of a log and a topic waits, and how far each was read, where both are followed

Knows names and types; knows no Spark, no protocol and no path but these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rollcall.schemas.effect_names import EffectName

if TYPE_CHECKING:
    import pyarrow as pa

CHECKPOINT_FOLDER = "checkpoint"
LEASE_FOLDER = "lease"


class Column(NamedTuple):
    """A column: its name, its type as Spark spells it, and what it holds."""

    name: str
    type: str
    holds: str


class Table(NamedTuple):
    """A table: its name, which is its folder's in a home, and its columns in order."""

    name: str
    columns: tuple[Column, ...]
    row: str = ""
    """What one row is."""
    times: tuple[tuple[str, str], ...] = ()
    """Asked in SQL it has a timestamp for each of these columns of ms; the first says when the row was made."""
    partition_by: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Its text columns that homes of earlier versions do not have."""
    order: tuple[str, ...] = ()
    """The columns by which the rows of a compacted file are sorted; none: as they came."""
    apart: tuple[str, str] | None = None
    """A column and its value: rows that have it share no row group with others, and come after them."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        """The table's Arrow schema; every column may be null."""
        # Whoever asks in SQL knows the columns without Arrow, which takes longer to load than the answer.
        import pyarrow as pa

        kinds = {
            "string": pa.string(),
            "int": pa.int32(),
            "long": pa.int64(),
            "date": pa.date32(),
            "binary": pa.binary(),
        }
        return pa.schema([(column.name, kinds[column.type]) for column in self.columns])

    @property
    def ddl(self) -> str:
        """The table's schema as Spark reads it: `group_id string, seq long, ...`."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)

    @property
    def shown_columns(self) -> tuple[Column, ...]:
        """The columns when it is asked in SQL, types as Spark shows them: its own, then the timestamps."""
        own = (column._replace(type="bigint" if column.type == "long" else column.type) for column in self.columns)
        return (*own, *(Column(name, "timestamp", f"{of_ms} as a timestamp") for name, of_ms in self.times))

    @property
    def moment(self) -> str:
        """The column that says when a row was made, in ms."""
        return self.times[0][1]


REQUESTS = Table(
    "requests",
    (
        Column("group_id", "string", "the one group the request is for"),
        Column("request_id", "string", "unique; the answer carries it"),
        Column("received_at_ms", "long", "when it arrived, ms since the epoch"),
        Column("request_seq", "long", "its place among the requests of that millisecond"),
        Column(
            "request", "string", "the request as JSON, envelope included: see `rollcall.schemas.messages`, tag `api`"
        ),
    ),
    row="a request as it was appended for the job to read",
    times=(("received_at", "received_at_ms"),),
)
"""One row is one Kafka request for one group; those that name several are split first (`rollcall.schemas.fan_out`)."""

TICK_ID = "tick"
"""The request id of a row that asks nothing (no group, no request): on the event clock it lets time pass up to its
received_at_ms, as the end of a log does."""

EFFECTS = Table(
    "effects",
    (
        Column("group_id", "string", "whose fact it is"),
        Column("seq", "long", "its place among the group's facts of the same at_ms; order by at_ms, seq"),
        Column("effect", "string", "what kind of fact: reply, member_joined, rebalance_ended, ..."),
        Column("at_ms", "long", "when it happened on the group's clock, ms since the epoch"),
        Column("request_id", "string", "the request it answers or comes of, or the line or record that shows it"),
        Column("api", "string", "that request's API"),
        Column("api_version", "int", "a reply: the version it is shaped for"),
        Column("error_code", "string", "a reply: Kafka's name of its error, NONE included"),
        Column("received_at_ms", "long", "a reply: when its request arrived on the group's clock"),
        Column("generation_id", "int", "the generation it is about, where there is one"),
        Column("member_id", "string", "the member it is about, where there is one"),
        Column("client_id", "string", "that member's client id"),
        Column("cause", "string", "a rebalance's cause, a member's end_cause, or why a request or group is gone"),
        Column("detail", "string", "the whole fact as JSON, null where the columns say it all"),
        Column("at_date", "date", "the day of at_ms, UTC"),
    ),
    row="a fact: a reply, a change of state, a member that joined, ...",
    times=(("at", "at_ms"), ("received_at", "received_at_ms")),
    partition_by=("at_date",),
    # Queries are mostly about one group, and commits, whose details are long, interest few of them.
    order=("group_id", "at_ms", "seq"),
    apart=("effect", EffectName.OFFSETS_COMMITTED.value),
)
"""One row is one fact. A reply's detail is {"response": ...}, its fields as its version carries them."""
AFTER_THE_LOGS = 1 << 40
"""Added to `seq` of the topic's facts in a history of both inputs, so that at one moment they come after the log's."""

QUARANTINE = Table(
    "quarantine",
    (
        Column("received_at_ms", "long", "when it arrived, as far as that could be read"),
        Column("source", "string", "the source it came from: delta, kafka, request-log, offsets-topic"),
        Column("group_id", "string", "the group it named, as far as that could be read"),
        Column("reason", "string", "why it was not applied"),
        Column("raw", "string", "what came, cut where it is longer than spark.coordinator.quarantine.raw.max.bytes"),
        Column("at_ms", "long", "when it was put here, ms since the epoch"),
    ),
    row="something that could not be applied, with the reason",
    times=(("at", "at_ms"), ("received_at", "received_at_ms")),
)
"""One row is one request that was never applied: it was not understood, or applying it failed."""

LOG_ENDS = Table(
    "log_ends",
    (
        Column("cluster", "string", "the cluster's id, null: not known"),
        Column("topic", "string", "the topic; its id if its name is not known"),
        Column("partition", "int", "the partition"),
        Column("at_ms", "long", "the moment that this was true of, ms since the epoch"),
        Column("log_start_offset", "long", "the first offset that is there, null: not known"),
        Column("end_offset", "long", "the high watermark: the offset of the next record, null: not known"),
        Column("last_stable_offset", "long", "up to where transactions are decided, null: not known"),
        Column("known_from", "string", "where it is known from: fetch, list_offsets, delete_records or sample"),
        Column("topic_id", "string", "the topic's id, another one if it is made again; null: not known"),
        Column("at_date", "date", "the day of at_ms, UTC"),
    ),
    row="where a partition's log began and ended at one moment",
    times=(("at", "at_ms"),),
    partition_by=("at_date",),
    added=("topic_id",),
    order=("topic", "partition", "at_ms"),
)
"""One row is where a partition's log began and ended at one moment. Of a time in which nothing changed the first and
the last moment are kept. A row without a topic says: at this moment all partitions were asked for and still had their
last known ends."""

FETCHES = Table(
    "fetches",
    (
        Column("client_id", "string", "the client id of the consumer"),
        Column("client_host", "string", "the address it fetched from"),
        Column("topic", "string", "the topic; its id if its name is not known"),
        Column("partition", "int", "the partition"),
        Column("at_ms", "long", "when the request arrived, ms since the epoch"),
        Column("fetched_offset", "long", "the offset it asked for: all before it were fetched, processed or not"),
        Column("isolation_level", "string", "read_uncommitted or read_committed"),
        Column("at_date", "date", "the day of at_ms, UTC"),
    ),
    row="a partition from which a client fetched on",
    times=(("at", "at_ms"),),
    partition_by=("at_date",),
    order=("topic", "partition", "at_ms"),
)
"""One row is a partition from which a client fetched on, once a second at most."""

ALERTS = Table(
    "alerts",
    (
        Column("at_ms", "long", "when it was sent, or given up, ms since the epoch"),
        Column("receiver", "string", "who got it: webhook, slack, teams, alertmanager, pagerduty or command"),
        Column("event", "string", "opened, closed, or goes_on where a receiver gets it again and again"),
        Column("alarm_id", "string", "the same of an alarm that is opened and closed"),
        Column("group_id", "string", "the group, null: it is of the home's job or of alarms themselves"),
        Column("kind", "string", "the kind of trouble, by the view that finds it, else see Alarms"),
        Column("severity", "string", "info, warning or critical"),
        Column("since_ms", "long", "since when the trouble is there, ms since the epoch"),
        Column("closed_ms", "long", "when it ended, null: not yet"),
        Column("sentence", "string", "what was found"),
        Column("why", "string", "what happened, as an explanation says it; empty: no rebalance is part of it"),
        Column("who", "string", "the client that set that off, empty: not known"),
        Column("cost", "string", "how far the group fell behind, empty: not known"),
        Column("link", "string", "the page at that moment"),
        Column("answer", "string", "what the receiver answered, cut; begins with given up where it never took it"),
    ),
    row="what a receiver of alarms got",
    times=(("at", "at_ms"), ("since_at", "since_ms"), ("closed_at", "closed_ms")),
)
"""One row is one message about an alarm to one receiver."""

OF_A_HISTORY = (EFFECTS, REQUESTS, QUARANTINE, LOG_ENDS, FETCHES)
TABLES = (*OF_A_HISTORY, ALERTS)
"""A home's tables, in the order of the documentation."""

STATE = Table(
    "state",
    (
        Column("state", "string", "Empty, PreparingRebalance, CompletingRebalance, Stable or Dead"),
        Column("generation_id", "int", "the current generation"),
        Column("protocol_type", "string", "consumer, connect, ..."),
        Column("protocol_name", "string", "the selected protocol"),
        Column("leader_id", "string", "the leader's member id"),
        Column("member_count", "int", "how many members"),
        Column("next_deadline_ms", "long", "the earliest deadline, ms since the epoch"),
        Column("updated_at_ms", "long", "the group's last turn, ms since the epoch"),
        Column("document", "string", "the whole group as versioned JSON: see `rollcall.coordinator_udfs.state_codec`"),
    ),
)
"""A group's row in the state store. Frozen: Spark refuses a checkpoint whose state has other columns."""
