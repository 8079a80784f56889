"""Groups of the newer protocol on Spark, live: checkpoint, state and tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.jobs.spark.views import register_views
from rollcall.schemas.consumer_protocol import TopicPartition
from tests.requests import commit, consumer_beat, heartbeat, join
from tests.streaming.live import Live, form, now_ms

SETTINGS = {
    "topics": "t1:4",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.mark.nightly
def test_a_job_takes_consumers_and_converts_a_classic_group(live: Callable[..., Live], tmp_path: Path) -> None:
    running = live(tmp_path / "home", **SETTINGS)
    member = form(running, "classic", "moving", session_timeout_ms=600_000)
    committed = commit(
        member, 1, {TopicPartition("t1", 0): 7}, group="moving", request_id="commit", received_at_ms=now_ms()
    )
    assert running.ask(committed)["error_code"] == "NONE"
    # What must find a member alive is one commit with what makes it one.
    at_ms = now_ms()
    first, late = consumer_beat("m1", 0, at_ms), join("late", at_ms + 1, protocol_type="connect")
    running.send(first, late)
    alone = running.reply_to(first)
    given = alone["detail"]["response"]["assignment"]["topic_partitions"]
    assert given == [{"topic_id": "", "topic_name": "t1", "partitions": [0, 1, 2, 3]}]
    assert running.reply_to(late)["error_code"] == "INCONSISTENT_GROUP_PROTOCOL"

    at_ms = now_ms()
    moves = consumer_beat("m1", 0, at_ms, "moving", request_id="moves")
    after = heartbeat(member, 1, at_ms + 1, "moving", request_id="after")
    running.send(moves, after)
    moved = running.reply_to(moves)
    assert (moved["error_code"], moved["api"], moved["api_version"]) == ("NONE", "ConsumerGroupHeartbeat", 1)
    change = running.effect("group_type_changed", group_id="moving")["detail"]
    assert (change["from_type"], change["to_type"], change["why"]) == ("classic", "consumer", "upgraded")
    assert running.reply_to(after)["error_code"] == "REBALANCE_IN_PROGRESS"

    gone = running.effect("member_removed", group_id="orders")
    assert (gone["member_id"], gone["cause"], gone["generation_id"]) == ("m1", "session_expired", 2)
    assert gone["at_ms"] >= alone["at_ms"] + 6000
    ended = running.effect("rebalance_ended", group_id="orders", cause="session_expired")
    assert ended["detail"]["outcome"] == "empty"

    running.stop()
    register_views(running.spark, running.home, ["sessions", "offsets"])
    rows = running.spark.sql("SELECT client_id, end_cause FROM sessions WHERE group_id = 'orders'").collect()
    assert [tuple(row) for row in rows] == [("m1", "session_expired")]
    offsets = running.spark.sql("SELECT topic, committed_offset FROM offsets WHERE group_id = 'moving'").collect()
    assert [tuple(row) for row in offsets] == [("t1", 7)]
