"""The views beside a running job and after it: what they say from facts is what the query's own state store holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import terms_of
from rollcall.coordinator_udfs.state_codec import decode
from tests.requests import heartbeat, join, leave
from tests.streaming.live import Live, form, now_ms
from tests.views.state_facts import settled_leader, waits_for
from tests.views.view_rows import rows_of

Lives = Callable[..., Live]
PATIENT: dict[str, Any] = {"session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000}


def stored_groups(spark: SparkSession, live: Live) -> dict[str, Group]:
    """Every group as the checkpoint's latest batch has it."""
    rows = spark.read.format("statestore").load(live.home.checkpoint).collect()
    return {row.key.group_id: decode(row.key.group_id, row.value.groupState.document) for row in rows}


def assert_views_are_the_state(spark: SparkSession, live: Live) -> None:
    stored = stored_groups(spark, live)
    groups = {row.group_id: row for row in rows_of(live.home.path, "groups")}
    assert groups.keys() == stored.keys()
    for name, group in stored.items():
        row = groups[name]
        assert (row.state, row.generation_id, row.protocol_name) == (
            *(group.state, group.generation_id, group.protocol_name),
        )
        assert (row.leader_id, row.member_count) == (settled_leader(group), len(group.members))
    members = {(row.group_id, row.member_id): row for row in rows_of(live.home.path, "members")}
    assert members.keys() == {(name, member_id) for name, group in stored.items() for member_id in group.members}
    for (name, member_id), row in members.items():
        group, member = stored[name], stored[name].members[member_id]
        assert (row.client_id, row.last_seen_at, row.waits_for) == (
            *(member.client_id, member.last_seen_at_ms, waits_for(member)),
        )
        assert (row.session_timeout_ms, row.rebalance_timeout_ms, row.topics) == terms_of(group, member)
        # The job arms its timers when the batch begins, which is a little later.
        deadline_ms = member.session_deadline_ms or 0
        assert row.session_deadline_at is None or 0 <= deadline_ms - row.session_deadline_at < 60_000


def test_the_views_are_empty_at_first_and_then_what_the_state_store_holds(live: Lives, spark: SparkSession) -> None:
    running = live()
    assert rows_of(running.home.path, "groups") == []
    leader = form(running, "a", **PATIENT)
    form(running, "p", "payments", **PATIENT)
    emptied = form(running, "e", "emptied", **PATIENT)
    running.ask(leave(emptied, now_ms(), "emptied"))
    waiting = join("b", now_ms(), **PATIENT)
    running.send(waiting)
    running.effect("request_parked", request_id=waiting.request_id)
    answer = running.ask(heartbeat(leader, 1, now_ms()))
    assert answer["error_code"] == "REBALANCE_IN_PROGRESS"
    running.after_batches(1)
    assert_views_are_the_state(spark, running)
    running.stop()
    assert_views_are_the_state(spark, running)
    states = {row.group_id: row.state for row in rows_of(running.home.path, "groups")}
    assert states == {"orders": "PreparingRebalance", "payments": "Stable", "emptied": "Empty"}
