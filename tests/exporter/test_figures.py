"""What is exported of a history: the figures of its views, however it grew; bounded, and whatever groups are called."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rollcall.answers.sql.engine import ask
from rollcall.serve.exporter.labels import OTHERS
from rollcall.serve.exporter.serving import Exporter
from rollcall.serve.exporter.settings import ExportSettings, Pattern
from rollcall.tables.lag.rows import LagRows
from rollcall.tables.lag_rows import append_lag
from tests.exporter.groups import stories
from tests.exporter.scraped import OF_ITSELF, Scraped, exported, scraped
from tests.lag.homes import ends, group, lag_of_capture, write_capture, write_home
from tests.request_log.truth import OF_LAG
from tests.views.histories import two_members
from tests.views.story import Story, one_member, write_effects
from tests.why.reading import capture

COMMITS = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("t-lag"))


@pytest.fixture(scope="module")
def found(home: Path) -> dict[str, Scraped]:
    return exported(home, ExportSettings(cluster_name="c", has_members=True))


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ask(home, query).rows]


def test_lag_is_that_of_the_view_under_kafka_exporters_names(home: Path, found: dict[str, Scraped]) -> None:
    query = (
        "select group_id, topic, partition, committed_offset, lag_records, lag_ms, coalesce(client_id, '') as client, "
        "coalesce(member_id, '') as member, coalesce(client_host, '') as host from lag "
        "where committed_offset is not null or end_offset is not null"
    )
    reported = rows(home, query)
    offsets, lags, seconds = Scraped(), Scraped(), Scraped()
    offset_sums, lag_sums, longest = (
        Counter[tuple[str, ...]](),
        Counter[tuple[str, ...]](),
        defaultdict[Any, float](float),
    )
    for group_id, topic, partition, committed, lag, lag_ms, client, member, host in reported:
        # By name: consumergroup, partition, topic.
        offsets[group_id, str(partition), topic] = -1 if committed is None else committed
        offset_sums[group_id, topic] += -1 if committed is None else committed
        if committed is None or lag is not None:
            lags[group_id, str(partition), topic] = -1 if committed is None else lag
        if committed is not None and lag is not None:
            lag_sums[group_id, topic] += lag
        if lag_ms is not None:
            # By name: client_id, cluster_name, consumer_id, group, member_host, partition, topic.
            seconds[client, "c", member, group_id, host, str(partition), topic] = lag_ms / 1000
            longest["c", group_id] = max(longest["c", group_id], lag_ms / 1000)
    assert len(offsets) > 40
    assert -1 in offsets.values()
    assert found["kafka_consumergroup_current_offset"] == offsets
    assert found["kafka_consumergroup_current_offset_sum"] == offset_sums
    assert found["kafka_consumergroup_lag"] == lags
    assert found["kafka_consumergroup_lag_sum"] == lag_sums
    assert found["kafka_consumergroup_group_lag_seconds"] == seconds
    assert found["kafka_consumergroup_group_max_lag_seconds"] == longest


def test_where_commits_may_be_missing_a_lag_is_an_upper_bound_and_its_age_is_not_exported(tmp_path: Path) -> None:
    """The first group was silent for longer than its heartbeats allow, the second was not."""
    stories = [group(name, "t", (10_000, 100), session_timeout_ms=60_000) for name in ("silent", "heard")]
    for at_ms in (13_000, *range(16_000, 70_000, 3000), 70_000):
        for story in stories if at_ms in (13_000, 70_000) else stories[1:]:
            story.heartbeat(at_ms, "a")
    write_home(tmp_path, stories, ends((5000, 0), (9000, 100), (60_000, 300)))
    found = exported(tmp_path)
    assert found["kafka_consumergroup_lag"] == {("silent", "0", "t"): 200, ("heard", "0", "t"): 200}
    assert found["rollcall_consumergroup_lag_upper_bounds"] == {("silent", "t"): 1, ("heard", "t"): 0}
    assert [key[1] for key in found["kafka_consumergroup_group_max_lag_seconds"]] == ["heard"]


def test_the_moment_of_lags_is_exported_where_ends_of_logs_are_known(tmp_path: Path) -> None:
    write_home(tmp_path, [group("g", "t", (10_000, 100))], [])
    assert not exported(tmp_path).get("rollcall_log_ends_timestamp_seconds")
    append_lag(tmp_path, LagRows(ends((5000, 0), (9000, 100)), asked_ms=20_000))
    assert exported(tmp_path)["rollcall_log_ends_timestamp_seconds"] == {(): 20}


def test_topics_and_groups_are_those_of_the_views(home: Path, found: dict[str, Scraped]) -> None:
    reported = rows(home, "select topic, max(partition) + 1 as n from log_ends where topic is not null group by topic")
    assert found["kafka_topic_partitions"] == {(topic,): count for topic, count in reported}
    query = (
        "select topic, partition, max_by(end_offset, at_ms) as e from log_ends where end_offset is not null "
        "group by topic, partition"
    )
    assert found["kafka_topic_partition_current_offset"] == {
        (str(partition), topic): end for topic, partition, end in rows(home, query)
    }
    members = rows(home, "select group_id, member_count from groups")
    assert found["kafka_consumergroup_members"] == {(group_id,): count for group_id, count in members}
    states = {state for _, state in found["kafka_consumergroup_group_state"].items()}
    assert states <= {3.0, 5.0}
    assert found["kafka_consumergroup_group_state"]["c", "clicks-agg"] == 3.0


def test_rebalances_are_counted_as_the_views_have_them(home: Path, found: dict[str, Scraped]) -> None:
    reported = rows(home, "select group_id, cause, count(*) as n from rebalances group by group_id, cause")
    counted = {(cause, group_id): count for group_id, cause, count in reported}
    assert found["rollcall_group_rebalances_total"] == counted
    costs = rows(
        home, "select group_id, started_at, caught_up_at, records_delayed from rebalance_costs order by started_at"
    )
    grown, until = Counter[tuple[str, ...]](), dict[str, datetime]()
    for group_id, started_at, caught_up_at, records in costs:
        # Else it is in the peak of one before, which the group had not caught up from.
        if group_id not in until or started_at >= until[group_id]:
            grown[group_id,] += records
            until[group_id] = caught_up_at or started_at + timedelta(hours=1)
    delayed = found["rollcall_group_lag_grown_in_rebalances_total"]
    assert {key: count for key, count in delayed.items() if count} == +grown
    assert grown["emails-send",] == 3978
    reported = rows(
        home, "select group_id, count(*) as n from sessions where end_cause = 'session_expired' group by group_id"
    )
    expired = found["rollcall_group_expired_members_total"]
    assert {group_id: count for (group_id,), count in expired.items() if count} == dict(reported)


def test_a_members_stop_and_a_partitions_gap_are_counted_in_seconds(tmp_path: Path) -> None:
    story = one_member("g", ["t-0", "t-1"])
    story.join(5_000, "b")
    story.join(8_000, "a")
    story.sync(8_500, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(8_600, "b")
    write_effects(tmp_path, {"g": story.rows})
    found = exported(tmp_path)
    assert found["rollcall_group_rebalances_total"]["member_joined", "g"] == 2
    # An increase from nothing is none to Prometheus.
    assert found["rollcall_group_expired_members_total"] == {("g",): 0}
    # The first join waits 0.1 s; then b waits from 5.0 and a from 8.0 until all is stable at 8.5.
    assert found["rollcall_group_member_seconds_stopped_total"]["g",] == pytest.approx(0.1 + 3.5 + 0.5)
    # Both partitions are without an owner from 8.0 to 8.5.
    assert found["rollcall_group_partition_seconds_unserved_total"]["g",] == pytest.approx(0.5 + 0.5)


def test_a_history_that_grows_gives_what_reading_it_at_once_gives(tmp_path: Path) -> None:
    """Facts that later ones replace are dropped, lists of groups without news are kept: nothing of it may show."""
    facts, reported = capture(OF_LAG), lag_of_capture()
    moments = sorted(row.at_ms or 0 for rows_of_group in facts.values() for row in rows_of_group)
    cuts = [moments[len(moments) * place // COMMITS] for place in range(1, COMMITS)] + [moments[-1] + 1]
    exporter, from_ms = Exporter(tmp_path, ExportSettings()), 0
    for to_ms in cuts:
        part = {
            group_id: [row for row in its if from_ms <= (row.at_ms or 0) < to_ms] for group_id, its in facts.items()
        }
        write_effects(tmp_path, {group_id: its for group_id, its in part.items() if its})
        append_lag(
            tmp_path,
            LagRows(
                [one for one in reported.ends if from_ms <= one.at_ms < to_ms],
                [one for one in reported.fetches if from_ms <= one.at_ms < to_ms],
            ),
        )
        from_ms = to_ms
        for kept in exporter.history._kept:
            kept.rests_until = 0.0
        exporter.history.costs_rest_until = 0.0
        exporter.step()
    grown = scraped(exporter.text(is_openmetrics=False))
    exporter.stop()
    anew = exported(tmp_path)
    assert grown.keys() == anew.keys()
    for name, samples in anew.items():
        if name.startswith(OF_ITSELF):
            continue
        if name.endswith("_total"):
            # A cause that was inferred later stays counted under what it was taken for.
            assert all(grown[name][key] >= value for key, value in samples.items())
        else:
            assert grown[name] == samples, name
    assert sum(grown["rollcall_group_rebalance_seconds_total"].values()) == pytest.approx(
        sum(anew["rollcall_group_rebalance_seconds_total"].values())
    )


def of_members(home: Path, **settings: Any) -> Scraped:
    return exported(home, ExportSettings(**settings)).get("kafka_consumergroup_members", {})


def test_groups_are_chosen_by_patterns_and_at_most_so_many_have_a_name(tmp_path: Path) -> None:
    write_home(tmp_path, stories("z-first b-1 b-2 c"), [*ends((9_000, 100)), *ends((9_000, 100), partition=1)])
    one = dict.fromkeys([("z-first",), ("b-1",), ("b-2",), ("c",)], 1.0)
    assert of_members(tmp_path) == one
    assert of_members(tmp_path, groups=Pattern("b.*")) == {("b-1",): 1, ("b-2",): 1}
    assert of_members(tmp_path, groups=Pattern("b")) == {}
    assert of_members(tmp_path, groups_excluded=Pattern("b.*")) == {("z-first",): 1, ("c",): 1}
    found = exported(tmp_path, ExportSettings(groups_max=2))
    assert found["kafka_consumergroup_members"] == {("z-first",): 1, ("b-1",): 1, (OTHERS,): 2}
    assert found["kafka_consumergroup_lag_sum"] == {("z-first", "t"): 170, ("b-1", "t"): 170, (OTHERS, "t"): 340}
    assert {group for group, *_ in found["kafka_consumergroup_lag"]} == {"z-first", "b-1"}
    assert found["rollcall_group_rebalances_total"]["member_joined", OTHERS] == 2


def test_partitions_can_be_left_out(tmp_path: Path) -> None:
    write_home(tmp_path, stories("g"), ends((9_000, 100)))
    found = exported(tmp_path, ExportSettings(has_partitions=False))
    assert found["kafka_consumergroup_lag_sum"] == {("g", "t"): 90}
    of_partitions = {name for name, samples in found.items() if any("0" in labels for labels in samples)}
    assert of_partitions == set()


def test_a_trouble_is_counted_while_it_goes_on_and_for_a_while_after(tmp_path: Path) -> None:
    story = one_member("g", session_timeout_ms=10_000)
    story.heartbeat(10_000, "a")
    story.heartbeat(13_000, "a")
    write_effects(tmp_path, {"g": story.rows})
    assert exported(tmp_path)["rollcall_troubles"]["g", "near_misses"] == 1
    later = Story("h")
    later.join(10_000 + 301_000, "a")
    write_effects(tmp_path, {"h": later.rows})
    assert ("g", "near_misses") not in exported(tmp_path).get("rollcall_troubles", {})


def test_an_empty_home_has_no_groups(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path, ExportSettings())
    exporter.step()
    assert [name for name in scraped(exporter.text(is_openmetrics=False)) if not name.startswith(OF_ITSELF)] == []
    exporter.stop()


def test_a_database_that_has_not_enough_memory_gets_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollcall.serve.exporter.history.MEMORY_MB", 1)
    monkeypatch.setattr("rollcall.serve.exporter.serving.MORE_MB", 4)
    write_effects(tmp_path, {"two": two_members().rows})
    exporter = Exporter(tmp_path, ExportSettings())
    failed = made = 0
    while not made and failed < 100:
        try:
            exporter.step()
            made += 1
        except duckdb.OutOfMemoryException:
            failed += 1
    assert 0 < failed < 100
    assert scraped(exporter.text(is_openmetrics=False))["kafka_consumergroup_members"] == {("two",): 2}
