"""A clock that is set an hour back or forward, and a machine that sleeps ten minutes: no living member is removed.

Both protocols. What is promised stands in docs/reliability.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec
import pytest

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.coordinator_udfs.settings import StreamSettings
from rollcall.schemas.messages import StreamRequest
from tests.requests import consumer_beat, heartbeat, packed
from tests.udf.live_clock import T, removed, replies, stable, stream_with_member
from tests.udf.stream import Effect, Stream, arrived

HOUR_MS, TEN_MINUTES_MS, SESSION_MS = 3_600_000, 600_000, 10_000
SETTINGS = StreamSettings(
    group=GroupConfig(
        group_initial_rebalance_delay_ms=0,
        consumer=ConsumerConfig(session_timeout_ms=SESSION_MS, assignment_interval_ms=0),
        topics={"t1": 4},
    )
)


@dataclass
class Member:
    """A member of a group of its own, and how it says that it lives."""

    stream: Stream
    beat: Callable[[int], StreamRequest]
    session_ms: int = SESSION_MS

    def says_at(self, batch_ms: int, received_at_ms: int | None = None) -> list[Effect]:
        """A batch with its heartbeat; the answers."""
        at_ms = batch_ms if received_at_ms is None else received_at_ms
        return replies(self.stream.batch(batch_ms, arrived(self.beat(at_ms))))

    def gone_at(self, batch_ms: int) -> list[tuple[str, int]]:
        """A batch without requests; who is removed by it, why and when."""
        return removed(self.stream.batch(batch_ms))


@pytest.fixture(params=["classic", "consumer"])
def member(request: pytest.FixtureRequest) -> Member:
    stream = Stream(SETTINGS)
    if request.param == "classic":
        member_id = stable(stream)
        return Member(stream, lambda at_ms: heartbeat(member_id, 1, at_ms))
    joined = replies(stream.batch(T, arrived(consumer_beat("m1", 0, T))))[0]
    epoch = int(joined["generation_id"])
    return Member(stream, lambda at_ms: consumer_beat("m1", epoch, at_ms))


def test_a_clock_that_is_set_forward_an_hour_gives_everybody_a_whole_session_from_then(member: Member) -> None:
    late_ms = T + HOUR_MS
    assert member.gone_at(late_ms) == []
    assert [e["error_code"] for e in member.says_at(late_ms + 3000)] == ["NONE"]
    assert member.gone_at(late_ms + 3000 + SESSION_MS - 1) == []
    assert member.gone_at(late_ms + 3000 + SESSION_MS + 1) == [("session_expired", late_ms + 3000 + SESSION_MS)]


def test_a_clock_that_is_set_back_an_hour_stops_the_timers_until_it_has_caught_up(member: Member) -> None:
    early_ms = T - HOUR_MS
    for step in range(0, HOUR_MS, TEN_MINUTES_MS):
        (reply,) = member.says_at(early_ms + step)
        assert (reply["error_code"], reply["at_ms"]) == ("NONE", T)
    assert member.gone_at(T - 1) == []
    assert member.gone_at(T + SESSION_MS - 1) == []
    assert member.gone_at(T + SESSION_MS + 1) == [("session_expired", T + SESSION_MS)]


def test_a_gateway_whose_clock_is_wrong_by_an_hour_is_taken_to_speak_now(member: Member) -> None:
    for place, wrong_by_ms in enumerate((-HOUR_MS, HOUR_MS)):
        now_ms = T + 3000 * (place + 1)
        (reply,) = member.says_at(now_ms, now_ms + wrong_by_ms)
        assert (reply["error_code"], T <= reply["at_ms"] <= now_ms) == ("NONE", True)
    assert member.gone_at(T + 6000 + SESSION_MS - 1) == []


def test_a_machine_that_slept_ten_minutes_wakes_with_all_its_members(member: Member) -> None:
    """The batch that ran when it fell asleep ends ten minutes later; clients that slept too send after that."""
    woken_ms = T + TEN_MINUTES_MS
    assert member.gone_at(woken_ms) == []
    assert [e["error_code"] for e in member.says_at(woken_ms + 2000)] == ["NONE"]
    assert member.gone_at(woken_ms + 2000 + SESSION_MS - 1) == []


def test_whose_session_ended_just_before_the_machine_woke_is_removed(member: Member) -> None:
    late_ms = T + SESSION_MS + SETTINGS.stall_ms
    assert member.gone_at(late_ms) == [("session_expired", T + SESSION_MS)]


def test_heartbeats_that_a_gateway_held_through_the_sleep_take_no_time_from_their_member() -> None:
    stream, member_id = stream_with_member()
    woken_ms = T + TEN_MINUTES_MS
    held = [heartbeat(member_id, 1, T + at_ms) for at_ms in (500, 1500)]
    member = Member(stream, lambda at_ms: heartbeat(member_id, 1, at_ms))
    assert member.gone_at(woken_ms) == []
    stream.batch(woken_ms + 300, arrived(msgspec.structs.replace(packed(held, "held"), handed_on_ms=woken_ms + 100)))
    assert member.gone_at(woken_ms + SESSION_MS) == []
    assert member.gone_at(woken_ms + SESSION_MS + 2) == [("session_expired", woken_ms + 1 + SESSION_MS)]


def test_a_job_that_is_started_after_its_clock_was_set_back_removes_nobody(member: Member) -> None:
    early_ms = T - HOUR_MS
    again = replace(member.stream, settings=replace(SETTINGS, started_at_ms=early_ms))
    after = Member(again, member.beat)
    assert [e["error_code"] for e in after.says_at(early_ms + 2000)] == ["NONE"]
    assert after.gone_at(early_ms + SESSION_MS + 5000) == []
