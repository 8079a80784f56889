"""What a rebalance cost in records, as the views `rebalance_costs` and `partition_lag` have it.

Knows the queries and their rows. Must not know who answers them, nor how lag is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rollcall.history.words import moment, ms_of

PARTITIONS_SHOWN = 3


class Peak(NamedTuple):
    """The highest lag of a partition meanwhile."""

    topic: str
    partition: int
    records: int
    is_upper_bound: bool
    """It counts from a commit after which others may be missing."""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class Cost:
    """How far the group fell behind by one rebalance. Lags are records of all partitions together."""

    lag_before: int
    """The highest of the seconds before it, or before the member whose session expired fell silent."""
    lag_peak: int
    peak_ms: int
    caught_up_ms: int | None
    """None: not yet, as far as is known."""
    caught_up_after_ms: int | None
    is_from_silence: bool
    """It is counted from when a member whose session expired fell silent, or from the beginning."""
    records_delayed: int
    is_upper_bound: bool = False
    """The lags count a partition from a commit after which others may be missing; records_delayed is exact."""
    peaks: list[Peak] = field(default_factory=list)
    """The partitions that were furthest behind, the worst first."""


class Asked(NamedTuple):
    """Who answers."""

    rows: Callable[[str], Sequence[Mapping[str, Any]]]
    """A query's rows, by column."""
    of_group: str
    """The condition on the group that a query needs, ` and ...`; empty: the answers are of one group only."""


def cost_of(asked: Asked, started_at_ms: int, from_generation_id: int) -> Cost | None:
    """The cost of one rebalance; None: the group's lag around it is not known.

    The queries are the same in the SQL of Spark and of DuckDB.
    """
    begun = literal(started_at_ms)
    found = asked.rows(
        "select * from rebalance_costs "
        f"where started_at = {begun} and from_generation_id = {from_generation_id}{asked.of_group}"
    )
    if not found:
        return None
    row = found[0]
    began, until = row["silent_since"] or row["started_at"], row["caught_up_at"] or row["peak_at"]
    peaks = asked.rows(
        "select topic, partition, max(greatest(coalesce(lag_before_records, 0), coalesce(lag_records, 0))) as records, "
        "max(not was_recorded or not is_recorded) as is_upper_bound "
        "from (select p.*, "
        "lag(is_recorded) over (partition by group_id, topic, partition order by p.at) as was_recorded "
        f"from partition_lag as p where true{asked.of_group}) as p "
        f"where p.at >= {literal(ms_of(began))} and p.at <= {literal(ms_of(until))} "
        f"group by topic, partition order by records desc, topic, partition limit {PARTITIONS_SHOWN}"
    )
    return Cost(
        lag_before=row["lag_before"] if row["lag_before_silence"] is None else row["lag_before_silence"],
        lag_peak=row["lag_peak"],
        peak_ms=ms_of(row["peak_at"]),
        caught_up_ms=None if row["caught_up_at"] is None else ms_of(row["caught_up_at"]),
        caught_up_after_ms=row["caught_up_after_ms"],
        is_from_silence=row["silent_since"] is not None,
        records_delayed=row["records_delayed"],
        is_upper_bound=row["is_upper_bound"],
        peaks=[Peak(one["topic"], one["partition"], one["records"], bool(one["is_upper_bound"])) for one in peaks],
    )


def is_lag_known(asked: Asked) -> bool:
    """Whether the group's lag is known at some time."""
    return bool(asked.rows(f"select topic from lag_history where true{asked.of_group} limit 1"))


def literal(at_ms: int) -> str:
    """A moment as an SQL literal of Spark and DuckDB."""
    return f"timestamp'{moment(at_ms)}'"
