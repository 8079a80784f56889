"""The trace's topics: lines that change them, names in the place of ids, and consumer groups that follow them."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.trace import Trace, TraceError, config_from

Line = dict[str, Any]


def beat(at_ms: int, epoch: int, **fields: Any) -> Line:
    said = {"client_id": "c1", "client_host": "/h", "group_id": "g", "member_id": "m1", "member_epoch": epoch}
    envelope = {"at_ms": at_ms, "request_id": f"r{at_ms}", "api": "ConsumerGroupHeartbeat", "api_version": 1}
    return envelope | said | fields


def join(at_ms: int) -> Line:
    return beat(at_ms, 0, rebalance_timeout_ms=5000, subscribed_topic_names=["t1", "t2"], topic_partitions=[])


def fed(*lines: Line, config: str = "topics=t1:2") -> list[Line]:
    trace = Trace(config_from([config, "group.consumer.assignment.interval.ms=0"]))
    return [answer for line in lines for answer in trace.feed(line)]


def test_topics_come_grow_and_go() -> None:
    answers = fed(
        join(0),
        {"at_ms": 1, "api": "CreateTopics", "topics": {"t2": 1}},
        beat(2, 2),
        {"at_ms": 3, "api": "CreatePartitions", "topics": {"t1": 3}},
        beat(4, 3),
        {"at_ms": 5, "api": "DeleteTopics", "topics": ["t2"]},
        beat(6, 4),
    )
    reported = [{t["topic"]: t["partitions"] for t in answer["assignment"]["topic_partitions"]} for answer in answers]
    assert reported == [{"t1": [0, 1]}, {"t1": [0, 1], "t2": [0]}, {"t1": [0, 1, 2], "t2": [0]}, {"t1": [0, 1, 2]}]


@pytest.mark.parametrize(
    ("api", "topics", "says"),
    [
        ("CreateTopics", {"t1": 3}, "topics: 't1' exists already"),
        ("CreateTopics", {"t2": 0}, "topics: 't2': 0 is not a number of partitions from 1 on"),
        ("CreateTopics", ["t2"], "does not give the number of partitions by topic"),
        ("CreatePartitions", {"t1": 2}, "topics: 't1': 2 is not a number of partitions from 3 on"),
        ("CreatePartitions", {"t2": 2}, "topics: 't2' does not exist"),
        ("DeleteTopics", ["t2"], "topics: there is no topic 't2' to delete"),
        ("DeleteTopics", {"t1": 1}, "is not a list of names"),
    ],
)
def test_topics_that_cannot_be_changed_so_are_named(api: str, topics: Any, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        fed({"at_ms": 0, "api": api, "topics": topics})


def test_a_topic_is_named_by_topic_where_kafka_has_its_id() -> None:
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    commit: Line = {"at_ms": 1, "request_id": "r1", "api": "OffsetCommit", "api_version": 10, "group_id": "g"}
    said = {
        "member_id": "m1",
        "generation_id_or_member_epoch": 2,
        "topics": [{"topic": "t1", "partitions": [partition]}],
    }
    answer = fed(join(0), commit | said)[1]
    assert answer["topics"] == [{"topic": "t1", "partitions": [{"partition_index": 0, "error_code": "NONE"}]}]
    unknown = said | {"topics": [{"topic": "nobody's", "partitions": [partition]}]}
    assert fed(join(0), commit | unknown)[1]["topics"][0]["partitions"][0]["error_code"] == "UNKNOWN_TOPIC_ID"


def test_a_member_id_that_the_group_makes_can_be_bound() -> None:
    first = join(0) | {"api_version": 0, "member_id": "", "bind": "m"}
    answers = fed(first, beat(1, 2, member_id="$m"))
    assert [answer["error_code"] for answer in answers] == ["NONE", "NONE"]
    assert answers[1]["member_id"] == answers[0]["member_id"]


def test_several_groups_are_described_in_one_answer() -> None:
    ask: Line = {"at_ms": 1, "request_id": "d", "api": "ConsumerGroupDescribe", "api_version": 1}
    answer = fed(join(0), ask | {"group_ids": ["g", "h"], "include_authorized_operations": True})[1]
    assert [group["error_code"] for group in answer["groups"]] == ["NONE", "GROUP_ID_NOT_FOUND"]
    assert answer["groups"][0]["authorized_operations"] > 0
