"""Runs of heartbeats in the stream's function: read, taken at their moments on both clocks, repeated, refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rollcall.coordinator_udfs.request_texts import read_request
from rollcall.coordinator_udfs.settings import Clock
from rollcall.schemas.messages import HeartbeatRunRequest
from rollcall.schemas.wire_fields import RequestError
from tests.requests import heartbeat, join, packed
from tests.udf.live_clock import SETTINGS, T, replies, stable, stream_with_member
from tests.udf.stream import Stream, arrived


def run(member_id: str, *moments: int, request_id: str = "run", **more: Any) -> HeartbeatRunRequest:
    """A run of one member's heartbeats."""
    beats = packed([heartbeat(member_id, 1, at_ms, client_id="a") for at_ms in moments], request_id)
    return msgspec.structs.replace(beats, **more)


def deadline(stream: Stream) -> int:
    (member,) = stream.document("orders")["members"]
    return int(member["session_deadline_ms"])


def test_a_run_is_one_fact_and_no_reply() -> None:
    stream, member_id = stream_with_member()
    (fact,) = stream.batch(T + 4000, arrived(run(member_id, T + 1000, T + 2500, T + 3900)))
    assert (fact["effect"], fact["at_ms"], fact["request_id"], fact["generation_id"]) == (
        *("heartbeats_taken", T + 3900),
        *("run", 1),
    )
    detail = json.loads(fact["detail"])
    assert detail["from_ms"] == T + 1000
    assert [(one["member_id"], one["beats"]) for one in detail["taken"]] == [(member_id, [0, 1500, 2900])]


def test_live_a_session_counts_from_the_batch_less_the_time_that_the_run_waited() -> None:
    stream, member_id = stream_with_member()
    stream.batch(T + 4300, arrived(run(member_id, T + 1000, T + 2500, handed_on_ms=T + 4000)))
    assert deadline(stream) == T + 2500 + 300 + 10_000


def test_in_a_replay_a_session_counts_from_its_heartbeat() -> None:
    stream = Stream(replace(SETTINGS, clock=Clock.EVENT))
    member_id = stable(stream)
    stream.batch(T + 2500, arrived(run(member_id, T + 1000, T + 2500)))
    assert deadline(stream) == T + 2500 + 10_000


def test_a_deadline_between_the_heartbeats_of_a_run_fires_between_them() -> None:
    stream, member_id = stream_with_member()
    stream.batch(T, arrived(join("b", T, session_timeout_ms=10_000)))
    assert [e["error_code"] for e in replies(stream.batch(T + 100, arrived(heartbeat(member_id, 1, T + 100))))] == [
        "REBALANCE_IN_PROGRESS"
    ]
    reported = stream.batch(T + 11_000, arrived(run(member_id, T + 9000, T + 10_990)))
    assert [e["at_ms"] for e in replies(reported) if e["api"] == "Heartbeat"] == [T + 9000, T + 10_990]


def test_a_run_that_comes_twice_is_reported_as_such() -> None:
    stream = Stream(SETTINGS)
    beats = run(stable(stream), T + 1000)
    stream.batch(T + 1100, arrived(beats))
    (again,) = stream.batch(T + 1200, arrived(beats))
    assert (again["effect"], again["request_id"]) == ("request_repeated", "run")


def test_a_run_comes_before_what_arrived_after_its_last_heartbeat() -> None:
    stream, member_id = stream_with_member()
    beats = run(member_id, T + 1000, T + 2000)
    reported = stream.batch(T + 2500, arrived(join("b", T + 2000, request_seq=7), beats))
    assert reported[0]["effect"] == "heartbeats_taken"


def unfit(**fields: Any) -> bytes:
    known = json.loads(msgspec.json.encode(run("m", T, T + 5)))
    return json.dumps({**known, **fields}).encode()


def member(*beats: int, **more: Any) -> list[dict[str, Any]]:
    return [{"member_id": "m", "api_version": 3, "beats": list(beats), **more}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (unfit(api_version=1), "api_version: 1 of HeartbeatRun: 0 to 0 are answered"),
        (unfit(members=[]), "received_at_ms: "),
        (unfit(members=member()), r"members\[0\].beats: '\[\]': each must be later than the one before it"),
        (unfit(members=member(5, 5)), r"members\[0\].beats: '\[5, 5\]': each must be later"),
        (unfit(members=member(-1, 5)), r"members\[0\].beats: '\[-1, 5\]': 0 to 30000 ms are taken"),
        (unfit(members=member(0, 30_001)), r"members\[0\].beats: '\[0, 30001\]': 0 to 30000 ms are taken"),
        (unfit(members=member(0, 5, api_version=9)), r"members\[0\].api_version: 9 of Heartbeat: 0 to 4 are answered"),
        (unfit(members=member(0, 4)), "is not when the run's last heartbeat arrived"),
        (unfit(from_ms=T + 1), "is not when the run's last heartbeat arrived"),
        (unfit(handed_on_ms=T + 4), "handed_on_ms: .* is not after the run's last heartbeat"),
        (unfit(group_id="payments"), "group_id: the row says 'orders', the request 'payments'"),
    ],
)
def test_a_run_that_does_not_fit_itself_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        read_request(text, "orders")
