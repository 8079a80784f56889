"""The metrics of a home's groups: their names, labels and values.

`kafka_consumergroup_*` and `kafka_topic_*` are kafka_exporter's, `kafka_consumergroup_group_*` klag-exporter's, as
dashboards and rules know them; those that end in `_sum` have no type, for only a histogram's may. Knows the lists of
the history; must not know how they are made, nor who asks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, UnknownMetricFamily
from prometheus_client.samples import Sample

from rollcall.answers.views.rebalance_costs import CAUGHT_UP_WITHIN_MS
from rollcall.serve.exporter.history import COSTS, ExportHistory
from rollcall.serve.exporter.labels import Labels, label_values
from rollcall.serve.exporter.places import Amount, Chosen, Counted, choose
from rollcall.serve.exporter.settings import ExportSettings
from rollcall.serve.page.lists import TROUBLE_MS, counts_now

NOT_COMMITTED = -1.0
"""kafka_exporter's offset and lag of a partition without a commit of the group."""
_STATES = (
    "Unknown",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
"""klag-exporter's number of a state is its place."""
_GROUP, _KLAG_GROUP = ("consumergroup",), ("cluster_name", "group")
_KLAG_PARTITION = (*_KLAG_GROUP, "topic", "partition", "member_host", "consumer_id", "client_id")

_GROWN = f"""
WITH grown AS (
  SELECT group_id, records_delayed, coalesce(started_at < max(coalesce(caught_up_at, started_at
    + to_milliseconds({CAUGHT_UP_WITHIN_MS}))) OVER earlier, false) AS is_counted
  FROM all_{COSTS}
  WINDOW earlier AS (PARTITION BY group_id ORDER BY started_at, from_generation_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT group_id, coalesce(sum(records_delayed) FILTER (NOT is_counted), 0) AS records
FROM all_groups LEFT JOIN grown USING (group_id)
WHERE EXISTS (SELECT 1 FROM grown)
GROUP BY group_id ORDER BY group_id
"""
"""What lag rose in a rebalance that began before the group had caught up from an earlier one is in that one's peak."""

Samples = Mapping[Labels, float]
"""The values of one metric by their labels."""
Series = Samples | Iterator[tuple[Labels, float]]


class Figures:
    """The metrics of one home. A counter never falls in this object, even if a cause is found later."""

    def __init__(self, history: ExportHistory, settings: ExportSettings) -> None:
        self._history, self._settings = history, settings
        self.chosen = Chosen()
        self.counted: defaultdict[str, Counted] = defaultdict(Counted)
        """By metric; cleared after the history was read again, when counters may be lower."""

    def families(self, now_ms: int) -> Iterator[Metric]:
        """Every metric with its values. Raises duckdb.Error, OSError: the history cannot be read."""
        self.chosen = choose(self._history, self._settings, self.chosen, now_ms)
        yield from self._groups()
        yield from self._lag()
        yield from self._log_ends()
        yield from self._rebalances()
        yield from self._memberships()
        yield self._troubles(now_ms)

    # ------------------------------------------------------------ which groups

    def _amounts(self, rows: list[dict[str, Any]], value: str, *labels: str) -> Iterator[Amount]:
        """A column of rows, with the group and the other labels of each."""
        for row in rows:
            if row[value] is not None:
                yield row["group_id"], tuple(row[label] or "unknown" for label in labels), float(row[value])

    def _summed(self, rows: list[dict[str, Any]], value: str, *labels: str, least: bool = False) -> Samples:
        """A column of rows by group and labels, those of one name together: added up, or the least of them."""
        samples: dict[Labels, float] = {}
        for group_id, others, amount in self._amounts(rows, value, *labels):
            if self.chosen.has(group_id):
                key = (self.chosen.name_of(group_id), *others)
                before = samples.get(key)
                samples[key] = amount if before is None else min(before, amount) if least else before + amount
        return samples

    # ------------------------------------------------------------ now

    def _groups(self) -> Iterator[Metric]:
        rows = self._history.all("SELECT group_id, state, member_count FROM all_groups ORDER BY group_id")
        members = self._summed(rows, "member_count")
        yield _gauge("kafka_consumergroup_members", "How many members a group has", _GROUP, members)
        states: dict[Labels, float] = {
            (self._settings.cluster_name, row["group_id"]): float(_STATES.index(row["state"]))
            for row in rows
            if row["group_id"] in self.chosen.named and row["state"] in _STATES
        }
        numbers = ", ".join(f"{number}={state}" for number, state in enumerate(_STATES))
        yield _gauge("kafka_consumergroup_group_state", f"A group's state: {numbers}", _KLAG_GROUP, states)

    def _lag(self) -> Iterator[Metric]:
        rows: list[_Lag] = []
        longest: dict[Labels, float] = {}
        offset_sums: defaultdict[Labels, float] = defaultdict(float)
        lag_sums: defaultdict[Labels, float] = defaultdict(float)
        bounds: defaultdict[Labels, float] = defaultdict(float)
        cluster = self._settings.cluster_name
        for group_id, *of_partition in self._history.lag(has_owners=self._settings.has_members):
            if not self.chosen.has(group_id):
                continue
            name = self.chosen.name_of(group_id)
            row = _Lag(name, *of_partition)
            offset_sums[name, row.topic] += NOT_COMMITTED if row.committed is None else row.committed
            if row.committed is not None and row.lag is not None:
                lag_sums[name, row.topic] += row.lag
                bounds[name, row.topic] += row.is_upper_bound
            if row.lag_ms is not None:
                longest[cluster, name] = max(longest.get((cluster, name), 0.0), row.lag_ms / 1000)
            if self._settings.has_partitions and name is not None:
                rows.append(row)
        of_topic = (*_GROUP, "topic")
        labels = (*of_topic, "partition")
        offsets = ((row.place, NOT_COMMITTED if row.committed is None else float(row.committed)) for row in rows)
        yield _gauge("kafka_consumergroup_current_offset", "A group's committed offset, -1: none", labels, offsets)
        yield _untyped("kafka_consumergroup_current_offset_sum", "Its offsets of a topic", of_topic, offset_sums)
        lags = ((row.place, row.shown_lag) for row in rows if row.shown_lag is not None)
        yield _gauge("kafka_consumergroup_lag", "A group's lag in records, -1: no offset", labels, lags)
        yield _untyped("kafka_consumergroup_lag_sum", "Its lag in a topic", of_topic, lag_sums)
        means = "Of how many partitions its lag is at most so high, since later commits may be missing"
        yield _gauge("rollcall_consumergroup_lag_upper_bounds", means, of_topic, bounds)
        means = "How old the oldest record is that a group has not read"
        seconds = (((cluster, *row.place, *row.owner), row.lag_ms / 1000) for row in rows if row.lag_ms is not None)
        yield _gauge("kafka_consumergroup_group_lag_seconds", means, _KLAG_PARTITION, seconds)
        yield _gauge("kafka_consumergroup_group_max_lag_seconds", f"{means}, in any partition", _KLAG_GROUP, longest)

    def _log_ends(self) -> Iterator[Metric]:
        latest_ms = self._history.log_ends_known_ms()
        known: Samples = {} if latest_ms is None else {(): latest_ms / 1000}
        yield _gauge("rollcall_log_ends_timestamp_seconds", "When the end of any log was known last", (), known)
        found = self._history.log_ends()
        counts = Counter((topic,) for topic, *_ in found)
        means = "How many partitions of a topic are known"
        yield _gauge("kafka_topic_partitions", means, ("topic",), {topic: float(n) for topic, n in counts.items()})
        if self._settings.has_partitions:
            labels = ("topic", "partition")
            ends = (((topic, str(number)), float(end)) for topic, number, _, end in found if end is not None)
            yield _gauge("kafka_topic_partition_current_offset", "Where a partition's log ends", labels, ends)
            starts = (((topic, str(number)), float(start)) for topic, number, start, _ in found if start is not None)
            yield _gauge("kafka_topic_partition_oldest_offset", "Where a partition's log begins", labels, starts)

    def _troubles(self, now_ms: int) -> Metric:
        samples = self._summed(counts_now(self._history, now_ms), "n", "kind")
        means = f"Troubles that are ongoing, or ended within {TROUBLE_MS // 1000} s, by the view that lists them"
        return _gauge("rollcall_troubles", means, ("group", "kind"), samples)

    # ------------------------------------------------------------ since the history began

    def _rebalances(self) -> Iterator[Metric]:
        rows = self._history.all(
            "SELECT group_id, cause, count(*) AS n, sum(duration_ms) / 1000 AS seconds FROM all_rebalances "
            "GROUP BY ALL ORDER BY ALL"
        )
        means = "Rebalances that began, by cause"
        yield self._counter("rebalances", means, rows, "n", "cause")
        yield self._counter("rebalance_seconds", "How long rebalances took", rows, "seconds")
        costs = [
            {
                "group_id": group_id,
                "stopped": cost.stopped_member_ms / 1000,
                "unserved": cost.unserved_partition_ms / 1000,
            }
            for group_id, cost in sorted(self._history.costs.items())
        ]
        means = "How long members stood still in rebalances, all members added up"
        yield self._counter("member_seconds_stopped", means, costs, "stopped")
        means = "How long partitions that had an owner once had none while the group had members, all added up"
        yield self._counter("partition_seconds_unserved", means, costs, "unserved")
        rows = self._history.all(_GROWN)
        means = "By how many records lag rose above what it was before, in rebalances and until the group had caught up"
        yield self._counter("lag_grown_in_rebalances", means, rows, "records")

    def _memberships(self) -> Iterator[Metric]:
        rows = self._history.all(
            "SELECT group_id, count(*) FILTER (end_cause = 'session_expired') AS expired, "
            "min(slack_ms / session_timeout_ms) FILTER (ended_at IS NULL AND session_timeout_ms > 0) AS slack "
            "FROM all_heartbeat_slack GROUP BY group_id ORDER BY group_id"
        )
        yield self._counter("expired_members", "Members whose session expired", rows, "expired")
        means = "The smallest share of its session that a current member had left when it was seen; 0: none"
        slack = self._summed(rows, "slack", least=True)
        yield _gauge("rollcall_group_heartbeat_slack_ratio_min", means, ("group",), slack)

    def _counter(self, name: str, means: str, rows: list[dict[str, Any]], value: str, *labels: str) -> Metric:
        family = CounterMetricFamily(f"rollcall_group_{name}", means, labels=("group", *labels))
        for key, total in self.counted[name].totals(self._amounts(rows, value, *labels), self.chosen).items():
            family.add_metric(label_values(key), total)
        return family


class _Lag(NamedTuple):
    """A partition as a group has it."""

    name: str | None
    topic: str
    number: int
    committed: int | None
    lag: int | None
    is_upper_bound: bool
    lag_ms: int | None
    host: str
    member_id: str
    client_id: str

    @property
    def place(self) -> Labels:
        return self.name, self.topic, str(self.number)

    @property
    def owner(self) -> tuple[str, ...]:
        return self.host, self.member_id, self.client_id

    @property
    def shown_lag(self) -> float | None:
        return NOT_COMMITTED if self.committed is None else None if self.lag is None else float(self.lag)


def _gauge(name: str, means: str, labels: tuple[str, ...], samples: Series) -> Metric:
    return _filled(GaugeMetricFamily(name, means, labels=labels), labels, samples)


def _untyped(name: str, means: str, labels: tuple[str, ...], samples: Series) -> Metric:
    return _filled(UnknownMetricFamily(name, means, labels=labels), labels, samples)


def _filled(family: Metric, labels: tuple[str, ...], samples: Series) -> Metric:
    """The family with samples that are made one by one as they are written, to save memory."""
    pairs = samples.items() if isinstance(samples, Mapping) else samples
    made = (Sample(family.name, dict(zip(labels, label_values(key), strict=True)), value) for key, value in pairs)
    family.samples = made  # type: ignore[assignment]
    return family
