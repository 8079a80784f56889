"""Groups of the newer protocol (KIP-848) in the stream: the same function, key, state row and clocks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.coordinator_udfs.settings import StreamSettings
from rollcall.coordinator_udfs.state_codec import StateRow, decode, encode
from tests.requests import consumer_beat, join, sync
from tests.source_tree import ROOT
from tests.udf.live_clock import T, replies, stream_with_member
from tests.udf.stream import Effect, Stored, Stream, arrived

TOPICS = GroupConfig(
    topics={"t1": 4}, consumer=ConsumerConfig(assignment_interval_ms=0), group_initial_rebalance_delay_ms=0
)
SETTINGS = StreamSettings(group=TOPICS)
KEPT = ROOT / "tests" / "state" / "documents" / "v2.json"
"""What version 0.2.0 stored of a classic group."""


def response_of(effect: Effect) -> dict[str, Any]:
    """A reply's response."""
    response: dict[str, Any] = json.loads(effect["detail"])["response"]
    return response


def given(effect: Effect) -> list[int]:
    """The partitions of t1 that a heartbeat's answer gives."""
    (topic,) = response_of(effect)["assignment"]["topic_partitions"]
    assert topic["topic_name"] == "t1"
    partitions: list[int] = topic["partitions"]
    return partitions


def alone(stream: Stream, at_ms: int = T) -> None:
    """A group whose one member has all of t1."""
    (reply,) = replies(stream.batch(at_ms, arrived(consumer_beat("m1", 0, at_ms))))
    assert given(reply) == [0, 1, 2, 3]


def removed(effects: list[Effect]) -> list[tuple[str, str, int]]:
    return [(e["member_id"], e["cause"], e["at_ms"]) for e in effects if e["effect"] == "member_removed"]


def test_two_members_share_a_topic_out_from_batch_to_batch() -> None:
    stream = Stream(SETTINGS)
    alone(stream)
    (second,) = replies(stream.batch(T + 1000, arrived(consumer_beat("m2", 0, T + 1000))))
    assert response_of(second)["assignment"] == {"topic_partitions": []}
    (first,) = replies(stream.batch(T + 2000, arrived(consumer_beat("m1", 2, T + 2000))))
    kept = given(first)
    acknowledged = consumer_beat("m1", 2, T + 2100, owned={"t1": kept})
    (first, second) = replies(stream.batch(T + 3000, arrived(acknowledged, consumer_beat("m2", 3, T + 2200))))
    assert (response_of(first)["member_epoch"], sorted(kept + given(second))) == (3, [0, 1, 2, 3])
    assert stream.stored["orders"].value[:6] == ("Stable", 3, "consumer", None, None, 2)
    ended = next(e for e in reversed(stream.effects) if e["effect"] == "rebalance_ended")
    assert (ended["cause"], ended["generation_id"], ended["at_ms"]) == ("member_joined", 3, T + 2200)


def test_what_a_member_owns_may_stand_as_homes_of_earlier_versions_have_it() -> None:
    stream = Stream(SETTINGS)
    alone(stream)
    stream.batch(T + 1000, arrived(consumer_beat("m2", 0, T + 1000)))
    (first,) = replies(stream.batch(T + 2000, arrived(consumer_beat("m1", 2, T + 2000))))
    owned = [{"topic_id": "t1", "partitions": given(first)}]
    earlier = arrived(consumer_beat("m1", 2, T + 2100))[0]
    text = json.dumps(json.loads(earlier.text) | {"topic_partitions": owned})
    (acknowledged,) = replies(stream.batch(T + 3000, [earlier._replace(text=text)]))
    assert response_of(acknowledged)["member_epoch"] == 3


def test_a_silent_member_expires_by_the_groups_timeout_and_no_request_and_nothing_is_called_before() -> None:
    stream = Stream(SETTINGS)
    alone(stream)
    assert stream.stored["orders"].timeout_ms == T + 45_000
    calls = stream.calls
    for tick in range(1, 46):
        assert stream.batch(T + tick * 1000) == []
    assert stream.calls == calls
    assert removed(stream.batch(T + 45_001)) == [("m1", "session_expired", T + 45_000)]
    assert stream.stored["orders"].value[0] == "Empty"


def test_a_member_that_does_not_give_up_what_others_need_is_fenced_by_the_groups_timeout() -> None:
    stream = Stream(SETTINGS)
    first = consumer_beat("m1", 0, T, rebalance_timeout_ms=20_000)
    stream.batch(T, arrived(first, consumer_beat("m2", 0, T + 1)))
    stream.batch(T + 2000, arrived(consumer_beat("m1", 2, T + 2000)))
    assert stream.stored["orders"].timeout_ms == T + 22_000
    stream.batch(T + 10_000, arrived(consumer_beat("m2", 3, T + 10_000), consumer_beat("m1", 2, T + 10_000)))
    assert removed(stream.batch(T + 22_001)) == [("m1", "rebalance_timeout", T + 22_000)]


def test_a_member_that_the_coordinator_could_not_hear_has_its_session_back() -> None:
    stream = Stream(SETTINGS)
    alone(stream)
    again = Stream(replace(SETTINGS, started_at_ms=T + 100_000), stream.stored)
    assert removed(again.batch(T + 100_000, arrived(consumer_beat("m1", 2, T + 99_999)))) == []
    assert [reply["error_code"] for reply in replies(again.effects)] == ["NONE"]


def test_a_first_heartbeat_without_an_id_that_comes_again_does_not_make_a_second_member() -> None:
    stream = Stream(replace(SETTINGS, remembered_request_ids=1))
    first = consumer_beat("", 0, T, api_version=0, client_id="a", request_id="first")
    (reply,) = replies(stream.batch(T, arrived(first)))
    member_id = response_of(reply)["member_id"]
    stream.batch(T + 1, arrived(consumer_beat(member_id, 2, T + 1, client_id="a")))
    stream.effects.clear()
    stream.batch(T + 2, arrived(first))
    assert [(e["effect"], e["request_id"]) for e in stream.effects] == [("request_repeated", "first")]
    assert stream.stored["orders"].value[5] == 1


# ---------------------------------------------------------------- from one protocol to the other


def test_the_last_consumer_that_goes_leaves_a_classic_group() -> None:
    stream, member = stream_with_member()
    stream.batch(T + 1000, arrived(consumer_beat("m2", 0, T + 1000)))
    stream.batch(T + 2000, arrived(consumer_beat("m2", -1, T + 2000)))
    assert stream.stored["orders"].value[:2] == ("PreparingRebalance", stream.document("orders")["generation_id"])
    assert "consumer" not in stream.document("orders")
    rejoined = join("a", T + 3000, member_id=member)
    (reply,) = replies(stream.batch(T + 3000, arrived(rejoined)))
    synced = sync(member, reply["generation_id"], T + 3001, assigned=[member])
    assert [e["error_code"] for e in replies(stream.batch(T + 3001, arrived(synced)))] == ["NONE"]
    assert stream.stored["orders"].value[0] == "Stable"


def of_an_earlier_release() -> Stored:
    """The state row of a group as the first release stored it, two members in the middle of a rebalance."""
    document = KEPT.read_text()
    row = encode(decode("orders", document))
    assert row.next_deadline_ms is not None
    return Stored(tuple(StateRow(*row[:-1], document)), row.next_deadline_ms)


def test_a_group_that_an_earlier_release_stored_goes_on_as_it_was() -> None:
    stream = Stream(SETTINGS, {"orders": of_an_earlier_release()})
    ((_, cause, at_ms),) = removed(stream.batch(11_400))
    assert (cause, at_ms) == ("session_expired", 11_300)
    assert stream.document("orders")["offsets"][0]["offset"]["committed_offset"] == 7


@pytest.mark.parametrize("members", ["gone", "there"])
def test_a_group_that_an_earlier_release_stored_takes_a_consumer(members: str) -> None:
    stream = Stream(SETTINGS, {"orders": of_an_earlier_release()})
    at_ms = 100_000 if members == "gone" else 2_000
    for tick_ms in range(2_000, at_ms, 1_000):
        stream.batch(tick_ms)
    found = stream.batch(at_ms, arrived(consumer_beat("m1", 0, at_ms)))
    (reply,) = [e for e in replies(found) if e["client_id"] == "m1"]
    assert reply["error_code"] == "NONE"
    (change,) = [json.loads(e["detail"]) for e in found if e["effect"] == "group_type_changed"]
    assert change["why"] == ("replaced" if members == "gone" else "upgraded")
    assert stream.document("orders")["offsets"][0]["offset"]["committed_offset"] == 7
