"""The live clock: time is the batches' own; what the coordinator sleeps through costs no member its session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import StreamSettings
from tests.requests import heartbeat, join, leave
from tests.udf.live_clock import SETTINGS, T, removed, replies, stable, stream_with_member
from tests.udf.stream import Stream, arrived


def test_an_idle_group_is_called_only_when_something_is_due_as_when_its_silent_member_expires() -> None:
    stream, _ = stream_with_member()
    calls = stream.calls
    for tick in range(1, 11):
        assert stream.batch(T + tick * 1000) == []
    assert stream.calls == calls
    assert removed(stream.batch(T + 10_001)) == [("session_expired", T + 10_000)]
    assert stream.document("orders")["state"] == "Empty"
    for tick in range(11, 100):
        stream.batch(T + tick * 1000)
    assert stream.calls == calls + 1


def test_requests_are_applied_in_order_of_arrival_and_ties_by_their_place() -> None:
    stream, member = stream_with_member()
    late, early = heartbeat(member, 1, T + 700), heartbeat(member, 1, T + 500, request_seq=1)
    first = heartbeat(member, 1, T + 500, request_seq=0, request_id="z-first-by-place")
    found = replies(stream.batch(T + 900, arrived(late, early, first)))
    assert [e["request_id"] for e in found] == [first.request_id, early.request_id, late.request_id]
    assert [e["at_ms"] for e in found] == [T + 500, T + 500, T + 700]


def test_a_deadline_between_two_requests_of_a_batch_fires_between_them() -> None:
    stream, member = stream_with_member()
    found = stream.batch(T + 20_000 - 7_000, arrived(heartbeat(member, 1, T + 12_000), heartbeat("x", 1, T + 9_000)))
    reported = [
        (e["effect"], e["at_ms"], e.get("error_code")) for e in found if e["effect"] in ("reply", "member_removed")
    ]
    assert reported == [
        ("reply", T + 9_000, "UNKNOWN_MEMBER_ID"),
        ("member_removed", T + 10_000, None),
        ("reply", T + 12_000, "UNKNOWN_MEMBER_ID"),
    ]


def test_deadlines_count_from_the_batch_not_from_the_arrival() -> None:
    stream, member = stream_with_member()
    stream.batch(T + 8_000, arrived(heartbeat(member, 1, T + 1_000)))
    assert removed(stream.batch(T + 17_999)) == []
    assert removed(stream.batch(T + 18_001)) == [("session_expired", T + 18_000)]


@pytest.mark.parametrize(("said_ms", "counts_as_ms"), [(T - 60_000, T), (T + 3_600_000, T + 2_000)])
def test_an_arrival_lies_between_the_groups_last_turn_and_the_batch(said_ms: int, counts_as_ms: int) -> None:
    stream, member = stream_with_member()
    (reply,) = replies(stream.batch(T + 2_000, arrived(heartbeat(member, 1, said_ms))))
    assert (reply["at_ms"], reply["received_at_ms"]) == (counts_as_ms, counts_as_ms)


def test_a_group_that_is_gone_leaves_no_state() -> None:
    stream = Stream(StreamSettings(group=GroupConfig(group_initial_rebalance_delay_ms=0)))
    member = stable(stream)
    stream.batch(T + 1, arrived(leave(member, T + 1)))
    found = stream.batch(T + 600_001)
    assert [e["effect"] for e in found] == ["group_removed"]
    assert stream.stored == {}


def test_a_request_for_an_unknown_group_leaves_no_state() -> None:
    stream = Stream(SETTINGS)
    (reply,) = stream.batch(T, arrived(heartbeat("x", 1, T)))
    assert reply["error_code"] == "UNKNOWN_MEMBER_ID"
    assert stream.stored == {}


# ---------------------------------------------------------------- after a restart, after a stall


def restarted(stream: Stream, started_at_ms: int) -> Stream:
    return replace(stream, settings=replace(stream.settings, started_at_ms=started_at_ms), effects=[])


def test_a_minute_down_removes_nobody_who_kept_sending() -> None:
    stream, member = stream_with_member()
    again = restarted(stream, T + 60_000)
    beats = [heartbeat(member, 1, T + s * 1000) for s in range(3, 60, 3)]
    assert {e["error_code"] for e in replies(again.batch(T + 62_000, arrived(*beats)))} == {"NONE"}
    assert removed(again.batch(T + 71_000)) == []


def test_a_minute_down_gives_a_silent_member_its_whole_session_once() -> None:
    stream, _ = stream_with_member()
    again = restarted(stream, T + 60_000)
    assert removed(again.batch(T + 61_000)) == []
    assert removed(again.batch(T + 70_000)) == []
    assert removed(again.batch(T + 70_001)) == [("session_expired", T + 70_000)]


def test_a_deadline_still_to_come_is_lifted_too_when_its_group_is_first_seen() -> None:
    stream, member = stream_with_member()
    again = restarted(stream, T + 8_000)
    again.batch(T + 9_000, arrived(heartbeat("x", 1, T + 9_000)))
    assert again.document("orders")["members"][0]["session_deadline_ms"] == T + 18_000
    assert replies(again.batch(T + 17_500, arrived(heartbeat(member, 1, T + 17_500))))[0]["error_code"] == "NONE"


def test_a_batch_begun_before_the_restart_is_run_again_as_it_was() -> None:
    before = Stream(SETTINGS)
    stable(before)
    twin = replace(before, stored=dict(before.stored))
    first = before.batch(T + 10_500)
    assert removed(first) == [("session_expired", T + 10_000)]
    assert restarted(twin, T + 60_000).batch(T + 10_500) == first


def test_a_coordinator_that_is_always_slow_expires_the_dead_and_no_one_else() -> None:
    stream = Stream(SETTINGS)
    living = stable(stream, T, "living")
    stable(stream, T, "dead")
    gone: list[tuple[str, str]] = []
    for batch in range(1, 8):
        at_ms = T + batch * 30_000
        # An answer is read when its batch has ended, just after the next one has begun.
        beats = arrived(heartbeat(living, 1, at_ms - 29_900, "living")) if batch % 2 else []
        found = stream.batch(at_ms, beats)
        gone += [(e["group_id"], e["cause"]) for e in found if e["effect"] == "member_removed"]
    assert gone == [("dead", "session_expired")]


def test_a_rebalance_that_waited_through_a_stall_waits_on() -> None:
    stream, member = stream_with_member()
    found = stream.batch(T + 1_000, arrived(join("b", T + 1_000)))
    assert "rebalance_started" in {e["effect"] for e in found}
    assert stream.document("orders")["join_deadline_ms"] == T + 31_000
    stalled = stream.batch(T + 60_000, arrived(join("a", T + 59_000, member_id=member)))
    assert sorted(e["error_code"] for e in replies(stalled)) == ["NONE", "NONE"]
    assert stream.document("orders")["generation_id"] == 2
