"""What cannot be understood, and what breaks: put aside with its reason, the group untouched, the others unharmed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rollcall.coordinator_udfs import group_turns
from rollcall.coordinator_udfs.group_turns import BROKEN_RETRY_MS
from rollcall.coordinator_udfs.protocol import step as rules
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import StreamSettings
from rollcall.schemas.messages import DescribeGroupsRequest, OffsetFetchRequest
from tests.requests import heartbeat, join
from tests.udf.live_clock import SETTINGS, T, replies, stream_with_member
from tests.udf.stream import Arrived, Effect, Stored, Stream, arrived


def quarantined(effects: list[Effect]) -> list[Effect]:
    return [e for e in effects if e["effect"] == "quarantined"]


def beat(**fields: Any) -> str:
    """A Heartbeat's text with other fields; None takes one away."""
    known = json.loads(msgspec.json.encode(heartbeat("m", 1, T)))
    return json.dumps({name: value for name, value in {**known, **fields}.items() if value is not None})


def consumer_beat_text(**fields: Any) -> str:
    """A ConsumerGroupHeartbeat's text with other fields."""
    return beat(**{"api": "ConsumerGroupHeartbeat", "generation_id": None, "member_epoch": 1, **fields})


CONSUMER_BEAT = {"api": "ConsumerGroupHeartbeat", "api_version": 1, "generation_id": None, "member_epoch": 0}
"""What makes a heartbeat of the newer protocol of one of the older."""
UNFIT = {
    "no JSON": ("{", "request: is not JSON: Input data was truncated"),
    "nothing": ("", "request: is not JSON"),
    "a JSON list": ("[]", "request: Expected `object`, got `array`"),
    "half a surrogate pair": ('{"api": "Heartbeat", "client_id": "\\ud800"}', "request: is not JSON"),
    "nested without end": ("[" * 100_000, "request: "),
    "an unknown API": (beat(api="ShareGroupHeartbeat"), "Invalid value 'ShareGroupHeartbeat' - at `$.api`"),
    "no API": (beat(api=None), "missing required field `api`"),
    "an API of no single group": (beat(api="ListGroups"), "Invalid value 'ListGroups' - at `$.api`"),
    "a version too new of the newer protocol": (
        consumer_beat_text(api_version=2),
        "api_version: 2 of ConsumerGroupHeartbeat: 0 to 1 are answered",
    ),
    "a pattern before there were any": (
        consumer_beat_text(api_version=0, subscribed_topic_regex="a"),
        "subscribed_topic_regex: ConsumerGroupHeartbeat v0 does not carry this field",
    ),
    "a version too new": (beat(api_version=5), "api_version: 5 of Heartbeat: 0 to 4 are answered"),
    "a negative version": (beat(api_version=-1), "api_version: -1 of Heartbeat"),
    "no member": (beat(member_id=None), "missing required field `member_id`"),
    "a field of the wrong type": (beat(generation_id="one"), "Expected `int`, got `str` - at `$.generation_id`"),
    "an unknown field": (beat(generation=1), "Object contains unknown field `generation`"),
    "a generation beyond 32 bits": (beat(generation_id=2**31), "Expected `int` <= 2147483647 - at `$.generation_id`"),
    "an arrival beyond 64 bits": (beat(received_at_ms=2**63), "at `$.received_at_ms`"),
    "an arrival before 1970": (beat(received_at_ms=-1), "received_at_ms: -1 lies outside the years 1970 to 9999"),
    "an arrival after 9999": (beat(received_at_ms=10**15), "received_at_ms: 1000000000000000 lies outside"),
    "a field of a later version": (
        beat(api_version=2, group_instance_id="i-1"),
        "group_instance_id: Heartbeat v2 does not carry this field",
    ),
    "a member id that only a recording gives": (
        msgspec.json.encode(join("c", T, recorded_member_id="c-mine")).decode(),
        "recorded_member_id: JoinGroup v3 does not carry this field",
    ),
    "a topic of a thousand million partitions": (
        beat(**CONSUMER_BEAT, cluster_topics={"t": 10**9}),
        "cluster_topics: more than 200000 partitions",
    ),
    "a topic of fewer partitions than none": (
        beat(**CONSUMER_BEAT, cluster_topics={"t": 5, "u": -1}),
        "cluster_topics: a topic has -1 partitions",
    ),
    "an empty request id": (beat(request_id=""), "request_id: has 0 characters, 1 to 512 are taken"),
    "an endless request id": (beat(request_id="r" * 513), "request_id: has 513 characters"),
    "a member id of 32,768 bytes": (beat(member_id="m" * 32_768), "member_id: has 32768 bytes, 32767 at most"),
    "a client id that is longer in bytes": (beat(client_id="é" * 16_384), "client_id: has 32768 bytes, 32767 at most"),
    "a long name inside a list": (
        json.dumps(
            {
                **{"api": "LeaveGroup", "api_version": 3, "request_id": "l", "received_at_ms": T, "group_id": "orders"},
                "members": [{"member_id": "m"}, {"member_id": "m", "group_instance_id": "i" * 40_000}],
            }
        ),
        "members[1].group_instance_id: has 40000 bytes, 32767 at most",
    ),
    "a client id that no member id can begin with": (
        msgspec.json.encode(join("c" * 32_731, T, request_id="j")).decode(),
        "client_id: has 32731 bytes, 32730 at most where a new member's id begins with it",
    ),
    "an instance id that no member id can begin with": (
        msgspec.json.encode(join("c", T, api_version=5, group_instance_id="i" * 32_731)).decode(),
        "group_instance_id: has 32731 bytes, 32730 at most where",
    ),
    "another group's request": (beat(group_id="payments"), "group_id: the row says 'orders', the request 'payments'"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_an_unfit_request_is_put_aside_and_its_group_is_untouched(case: str) -> None:
    text, reason = UNFIT[case]
    stream, member = stream_with_member()
    found = stream.batch(T + 1000, [Arrived("orders", text), *arrived(heartbeat(member, 1, T + 900))])
    (aside,) = quarantined(found)
    assert reason in aside["cause"]
    assert (aside["group_id"], aside["detail"], aside["at_ms"]) == ("orders", text, T + 1000)
    assert [e["error_code"] for e in replies(found)] == ["NONE"]


def test_the_longest_names_that_are_taken_are_answered_in_every_version() -> None:
    stream = Stream(SETTINGS)
    rows = arrived(
        join("c" * 32_730, T, request_id="j"), join("d", T + 1, api_version=5, group_instance_id="é" * 16_365)
    )
    assert quarantined(stream.batch(T + 1, rows)) == []
    asked = DescribeGroupsRequest(request_id="d", api_version=4, received_at_ms=T + 2, groups=["orders"])
    (reported,) = replies(stream.batch(T + 2, arrived(asked)))
    members = json.loads(reported["detail"])["response"]["groups"][0]["members"]
    assert sorted(len(member["member_id"].encode()) for member in members) == [32_767, 32_767]


def test_a_request_that_names_two_groups_or_none_is_put_aside() -> None:
    two = DescribeGroupsRequest(request_id="d", api_version=5, received_at_ms=T, groups=["orders", "payments"])
    none = OffsetFetchRequest(request_id="f", api_version=8, received_at_ms=T, groups=[])
    rows = [Arrived("orders", msgspec.json.encode(request).decode()) for request in (two, none)]
    reasons = sorted(e["cause"] for e in quarantined(Stream(SETTINGS).batch(T, rows)))
    assert reasons == [
        "group_id: the request names 0 groups, a row is for exactly one",
        "group_id: the request names 2 groups, a row is for exactly one",
    ]


def test_the_time_of_arrival_is_kept_where_it_can_be_read() -> None:
    rows = [Arrived("orders", beat(api="Nonsense")), Arrived("orders", "{")]
    found = quarantined(Stream(SETTINGS).batch(T + 5, rows))
    assert sorted(str(e.get("received_at_ms")) for e in found) == [str(T), "None"]


def test_a_raw_text_is_cut_to_the_limit_in_bytes() -> None:
    stream = Stream(replace(SETTINGS, quarantine_raw_max_bytes=10))
    (aside,) = quarantined(stream.batch(T, [Arrived("orders", "ä" * 100)]))
    assert aside["detail"] == "ä" * 5


def test_negative_and_absurd_timeouts_get_the_protocols_own_answer() -> None:
    rows = arrived(
        join("a", T, session_timeout_ms=-1),
        join("b", T, session_timeout_ms=2**31 - 1),
        join("c", T, rebalance_timeout_ms=-5),
    )
    found = replies(Stream(SETTINGS).batch(T, rows))
    assert [e["error_code"] for e in found] == ["INVALID_SESSION_TIMEOUT", "INVALID_SESSION_TIMEOUT", "NONE"]


def test_a_row_whose_columns_disqualify_it_is_put_aside_under_what_it_named() -> None:
    text = json.dumps({"reason": "group_id: is null", "request": "{}", "received_at_ms": T - 3})
    stream = Stream(SETTINGS)
    (aside,) = stream.batch(T, [Arrived(None, text)])
    assert (aside["group_id"], aside["cause"], aside["detail"], aside["received_at_ms"]) == (
        None,
        "group_id: is null",
        "{}",
        T - 3,
    )
    assert stream.stored == {}


# ---------------------------------------------------------------- what breaks inside


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Request ids, or "timers", that make the rules raise after they have changed the group."""
    ids: set[str] = set()

    def step(group: Any, request: Any, *more: Any) -> Any:
        effects = rules.step(group, request, *more)
        if request.request_id in ids:
            group.generation_id += 7
            raise AssertionError("awaiting_join below zero")
        return effects

    def expire_due(group: Any, *more: Any) -> Any:
        effects = rules.expire_due(group, *more)
        if "timers" in ids:
            raise KeyError("gone")
        return effects

    monkeypatch.setattr(group_turns, "step", step)
    monkeypatch.setattr(group_turns, "expire_due", expire_due)
    return ids


def test_a_request_that_breaks_its_group_is_put_aside_and_undone(broken: set[str]) -> None:
    stream, member = stream_with_member()
    beats = [heartbeat(member, 1, T + ms) for ms in (100, 200, 300)]
    broken.add(beats[1].request_id)
    found = stream.batch(T + 1000, arrived(*beats, join("c", T, "other")))
    (aside,) = quarantined(found)
    assert "broke the group" in aside["cause"]
    assert "AssertionError: awaiting_join below zero" in aside["cause"]
    assert json.loads(aside["detail"])["request_id"] == beats[1].request_id
    assert [e["at_ms"] for e in replies(found) if e["group_id"] == "orders"] == [T + 100, T + 300]
    assert [e["error_code"] for e in replies(found)] == ["NONE"] * 3
    assert stream.document("orders")["generation_id"] == 1


def test_what_a_broken_request_leaves_is_what_was_there_without_it(broken: set[str]) -> None:
    stream, twin = Stream(SETTINGS), Stream(SETTINGS)
    requests = [join("a", T), join("b", T + 1), join("c", T + 2), join("d", T + 3)]
    broken.update(requests[n].request_id for n in (1, 3))
    stream.batch(T + 10, arrived(*requests))
    twin.batch(T + 10, arrived(requests[0], requests[2]))
    assert stream.stored == twin.stored


def test_a_first_request_that_breaks_leaves_no_group(broken: set[str]) -> None:
    stream = Stream(SETTINGS)
    broken.add(join("a", T).request_id)
    assert [e["effect"] for e in stream.batch(T, arrived(join("a", T)))] == ["quarantined"]
    assert stream.stored == {}


def test_a_deadline_that_breaks_is_tried_again_later_and_requests_go_on(broken: set[str]) -> None:
    stream, member = stream_with_member()
    broken.add("timers")
    found = stream.batch(T + 11_000, arrived(heartbeat(member, 1, T + 10_500)))
    assert "KeyError: 'gone'" in quarantined(found)[0]["cause"]
    assert [e["error_code"] for e in replies(found)] == ["NONE"]
    assert stream.batch(T + 11_000 + BROKEN_RETRY_MS) == []
    broken.clear()
    # So late a deadline counts as slept through: the member gets its session back, once.
    assert stream.batch(T + 11_001 + BROKEN_RETRY_MS) == []
    assert "member_removed" in {e["effect"] for e in stream.batch(T + 22_000 + BROKEN_RETRY_MS)}


def test_a_group_whose_state_cannot_be_read_keeps_it_and_the_others_go_on() -> None:
    stream, _ = stream_with_member()
    stream.stored["orders"] = Stored((*stream.stored["orders"].value[:-1], '{"v": 99}'), stream.stored["orders"][1])
    before = stream.stored["orders"].value
    found = stream.batch(T + 1000, arrived(heartbeat("m", 1, T + 1), join("b", T, "other")))
    assert "stored document has version 99" in quarantined(found)[0]["cause"]
    assert [e["group_id"] for e in replies(found)] == ["other"]
    assert stream.stored["orders"] == Stored(before, T + 1000 + BROKEN_RETRY_MS)


def test_limits_come_from_the_settings() -> None:
    settings = StreamSettings(group=GroupConfig(group_max_session_timeout_ms=9_000))
    (reply,) = replies(Stream(settings).batch(T, arrived(join("a", T))))
    assert reply["error_code"] == "INVALID_SESSION_TIMEOUT"
