"""A turn that has cost what it may: the rest of it comes in the next batch, with the same facts in the same order."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs import group_turns
from rollcall.coordinator_udfs.group_turns import take_turns
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import step
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.coordinator_udfs.state_codec import StateRow
from rollcall.coordinator_udfs.turn_budget import THROTTLE_MS
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.messages import (
    APIS,
    DescribeGroupsRequest,
    GroupRequest,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    StreamRequest,
)
from rollcall.schemas.wire_fields import carries
from rollcall.serve.gateway.tables.effects_table import response_of
from tests.requests import commit, consumer_beat, fitting, heartbeat, join, leave, sync
from tests.udf.live_clock import SETTINGS, T, replies, stream_with_member
from tests.udf.stream import Effect, Stream, arrived
from tests.udf.world import SETTINGS as WORLD_SETTINGS
from tests.udf.world import Move, lived

LIMITED = replace(SETTINGS, turn_max_work=100)
"""Two or three heartbeats a turn."""
MOVES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 300, 4_000, 11_000, 31_000]),
        st.just("orders"),
        st.sampled_from("abcd"),
        st.sampled_from(["join", "sync", "beat", "leave", "consume", "depart", "again"]),
    ),
    min_size=3,
    max_size=30,
)


def texts(requests: list[Any]) -> list[str]:
    return [msgspec.json.encode(request).decode() for request in requests]


def played(batches: list[tuple[int, list[str]]], limits: StreamSettings) -> tuple[list[EffectRow], dict[str, Any], int]:
    """All rows, the last document, and how often a turn was cut; what is put off goes on at the batch's own time."""
    rows: list[EffectRow] = []
    row: StateRow | None = None
    cuts = 0
    for at_ms, requests in batches:
        while True:
            waited = waiting_in(row)
            outcome = take_turns("orders", requests, row, at_ms, limits)
            rows += outcome.rows
            parked = {each.request_id for each in rows if each.effect == "request_parked"}
            assert_only_who_waited_is_asked_to_wait(outcome.rows, waited, parked)
            row, requests = outcome.row, []
            if not any(each.effect == "requests_put_off" for each in outcome.rows):
                break
            assert outcome.deadline_ms == at_ms + 1
            cuts += 1
    return rows, {} if row is None else json.loads(row.document), cuts


def waiting_in(row: StateRow | None) -> set[str]:
    """The ids of the requests that a state has put off."""
    texts = [] if row is None else json.loads(row.document)["stream"].get("put_off", [])
    return {json.loads(text)["request_id"] for text in texts}


def assert_only_who_waited_is_asked_to_wait(rows: list[EffectRow], waited: set[str], parked: set[str | None]) -> None:
    """A request that was put off is answered with a throttle time, one that is parked first perhaps; no other is."""
    for row in rows:
        if row.effect != "reply" or row.api is None or row.error_code is None:
            continue
        wait_ms = response_of(row.api, row.error_code, row.detail).wait_ms
        can_be_asked = carries(APIS[row.api].response, "throttle_time_ms", row.api_version or 0)
        if row.request_id not in waited or not can_be_asked:
            assert wait_ms == 0, row
        elif row.request_id not in parked:
            assert wait_ms == THROTTLE_MS, row


def said(row: EffectRow) -> Any:
    """What a row says but for its number, and that a client is to wait."""
    detail = json.loads(row.detail or "{}")
    detail.get("response", {}).pop("throttle_time_ms", None)
    if detail.get("response", {}).keys() == {"error_code"}:
        detail = {}
    return {**msgspec.structs.asdict(row), "seq": 0, "detail": detail}


def without_memory(document: dict[str, Any]) -> dict[str, Any]:
    """A document without time and number of the last fact; facts about putting off have them too."""
    stream = {name: value for name, value in document.get("stream", {}).items() if name not in ("seq", "seq_at_ms")}
    return {**document, "stream": stream}


def logged(moves: list[Move]) -> list[GroupRequest]:
    """The requests that clients send who act like this."""
    log = lived(moves).log
    assume(log)
    return log


def in_batches(log: list[GroupRequest], most: int) -> list[tuple[int, list[str]]]:
    """At most `most` requests a batch, each a millisecond after its last request; at the end all deadlines pass."""
    batches = [log[start : start + most] for start in range(0, len(log), most)]
    timed = [(batch[-1].received_at_ms + 1, texts(batch)) for batch in batches]
    return [*timed, (timed[-1][0] + 2_000_000, [])]


UNLIMITED = replace(WORLD_SETTINGS, clock=Clock.PROCESSING, stall_ms=3_600_000_000)


def test_a_cut_anywhere_changes_no_fact_and_no_order() -> None:
    throttled: set[str | None] = set()

    @settings(max_examples=60, deadline=None)
    @given(moves=MOVES, work=st.integers(1, 300), a_batch=st.integers(1, 15))
    def play(moves: list[Move], work: int, a_batch: int) -> None:
        timed = in_batches(logged(moves), a_batch)
        whole, document, none = played(timed, UNLIMITED)
        cut, cut_document, cuts = played(timed, replace(UNLIMITED, turn_max_work=work))
        assert none == 0
        assert cuts == sum(row.effect == "requests_put_off" for row in cut)
        assert [said(row) for row in cut if row.effect != "requests_put_off"] == [said(row) for row in whole]
        assert without_memory(cut_document) == without_memory(document)
        throttled.update(row.api for row in cut if '"throttle_time_ms":1000' in (row.detail or ""))

    play()
    assert throttled >= {"Heartbeat", "SyncGroup", "LeaveGroup", "ConsumerGroupHeartbeat"}, "of both protocols"


@settings(max_examples=40, deadline=None)
@given(moves=MOVES, work=st.integers(1, 300), a_batch=st.integers(1, 15))
def test_each_request_is_applied_once_in_order_though_others_come_meanwhile(
    moves: list[Move], work: int, a_batch: int
) -> None:
    log = logged([move for move in moves if move[-1] != "again"])
    applied: list[str] = []

    def applying(group: Group, request: StreamRequest, *more: Any) -> list[Any]:
        applied.append(request.request_id)
        return step(group, request, *more)

    row: StateRow | None = None
    at_ms = 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(group_turns, "step", applying)
        for at_ms, requests in in_batches(log, a_batch):
            row = take_turns("orders", requests, row, at_ms, replace(UNLIMITED, turn_max_work=work)).row
        for tick in range(1, 2 * len(log)):
            row = take_turns("orders", [], row, at_ms + tick, replace(UNLIMITED, turn_max_work=work)).row
    assert applied == [request.request_id for request in log]
    assert waiting_in(row) == set()


def test_a_cut_turn_is_the_same_when_it_is_run_again() -> None:
    log = [join(client, T + n, request_seq=n, api_version=3) for n, client in enumerate("abcdef")]
    first = take_turns("orders", texts(log), None, T + 10, LIMITED)
    assert take_turns("orders", texts(log), None, T + 10, LIMITED) == first
    assert [row.effect for row in first.rows].count("requests_put_off") == 1


# ---------------------------------------------------------------- what the stream does


def put_off(effects: list[Effect]) -> list[tuple[int, int]]:
    reported = [json.loads(e["detail"]) for e in effects if e["effect"] == "requests_put_off"]
    return [(each["requests"], each["refused"]) for each in reported]


def answered(effects: list[Effect]) -> list[str]:
    return [e["request_id"] for e in replies(effects)]


def throttled(effects: list[Effect]) -> list[str]:
    return [
        e["request_id"]
        for e in replies(effects)
        if getattr(response_of(e["api"], e["error_code"], e.get("detail")), "throttle_time_ms", 0) > 0
    ]


def small() -> tuple[Stream, str]:
    """A Stable group of one member, which was made without limits; limited from now on."""
    stream, member = stream_with_member()
    return replace(stream, settings=LIMITED), member


def test_the_rest_comes_with_the_next_batch_and_its_clients_are_asked_to_wait() -> None:
    stream, member = small()
    beats = [heartbeat(member, 1, T + n, request_id=f"b{n}") for n in range(10)]
    first = stream.batch(T + 50, arrived(*beats))
    assert 0 < len(answered(first)) < 5
    assert put_off(first) == [(10 - len(answered(first)), 0)]
    assert throttled(first) == []
    found = list(first)
    for tick in range(1, 10):
        later = stream.batch(T + 50 + 100 * tick)
        assert throttled(later) == answered(later)
        found += later
    assert answered(found) == [f"b{n}" for n in range(10)]
    assert "put_off" not in stream.document("orders")["stream"]
    last = stream.batch(T + 2_000, arrived(heartbeat(member, 1, T + 2_000, request_id="last")))
    assert (answered(last), throttled(last)) == (["last"], [])


def test_what_was_put_off_comes_before_what_arrives_then() -> None:
    stream, member = small()
    found = stream.batch(T + 50, arrived(*(heartbeat(member, 1, T + n, request_id=f"b{n}") for n in range(4))))
    found += stream.batch(T + 60, arrived(heartbeat(member, 1, T + 1, request_id="late")))
    for tick in range(1, 5):
        found += stream.batch(T + 60 + 100 * tick)
    assert answered(found) == ["b0", "b1", "b2", "b3", "late"]


def test_another_group_of_the_same_batch_does_not_wait() -> None:
    stream, member = small()
    beats = [heartbeat(member, 1, T + n, request_id=f"b{n}") for n in range(10)]
    found = stream.batch(T + 50, arrived(*beats, join("x", T + 9, "payments")))
    payments = [e for e in found if e["group_id"] == "payments"]
    assert answered(payments) == ["join-x-" + str(T + 9)]
    assert throttled(payments) == []


def test_a_member_whose_heartbeat_was_put_off_keeps_its_session() -> None:
    """It would have expired at T + 10 s; its heartbeat of T + 9 s is applied with the next batch, at T + 11 s."""
    stream, member = small()
    strangers = [heartbeat(f"x{n}", 1, T + 8_000 + n) for n in range(6)]
    first = stream.batch(T + 10_500, arrived(*strangers, heartbeat(member, 1, T + 9_000, request_id="mine")))
    assert "mine" not in answered(first)
    found = list(first)
    for tick in range(1, 5):
        found += stream.batch(T + 10_500 + 200 * tick)
    assert "mine" in answered(found)
    assert [e for e in found if e["effect"] == "member_removed"] == []


def test_requests_to_a_group_that_is_not_known_are_put_off_too() -> None:
    stream = Stream(LIMITED)
    found = stream.batch(T, arrived(*(heartbeat("x", 1, T + n, request_id=f"b{n}", request_seq=n) for n in range(9))))
    assert put_off(found) == [(9 - len(answered(found)), 0)]
    assert stream.document("orders")["is_known"] is False
    for tick in range(1, 10):
        found += stream.batch(T + 100 * tick)
    assert answered(found) == [f"b{n}" for n in range(9)]
    assert stream.stored == {}
    numbers = [(e["at_ms"], e["seq"]) for e in found]
    assert len(set(numbers)) == len(numbers)


def test_deadlines_that_are_very_many_fire_in_several_batches() -> None:
    stream = Stream(SETTINGS)
    for number in range(20):
        stream.batch(T, arrived(join(f"c{number}", T, request_id=f"j{number}", api_version=5)))
    limited = replace(stream, settings=replace(SETTINGS, turn_max_work=300, stall_ms=3_600_000), effects=[])
    whole = replace(limited, settings=replace(SETTINGS, stall_ms=3_600_000), stored=dict(stream.stored), effects=[])
    whole.batch(T + 1_000_000)
    found = limited.batch(T + 1_000_000)
    assert put_off(found) == [(0, 0)]
    for tick in range(1, 60):
        limited.batch(T + 1_000_000 + tick)
    facts = [
        (e["effect"], e["at_ms"], e.get("member_id")) for e in limited.effects if e["effect"] != "requests_put_off"
    ]
    assert facts == [(e["effect"], e["at_ms"], e.get("member_id")) for e in whole.effects]
    assert len(put_off(limited.effects)) == 2


# ---------------------------------------------------------------- what there is no room for

LONG = {"range": b"x" * 1_565_000}
"""Two JoinGroups with this leave room for short requests alone."""


def refusing(*requests: StreamRequest) -> list[Effect]:
    """The replies to requests that come behind so much that they are not kept; members' heartbeats stay."""
    stream, member = small()
    first = [heartbeat(member, 1, T + n) for n in range(4)]
    long = [join(f"long{n}", T + 10 + n, protocols=LONG) for n in range(2)]
    found = stream.batch(T + 50, arrived(*first, *long, *requests, heartbeat(member, 1, T + 40, request_id="mine")))
    ((_, refused),) = put_off(found)
    assert refused == len(requests)
    assert len(stream.document("orders")["stream"]["put_off"][-1]) < 1_000
    return [e for e in replies(found) if e["error_code"] == "COORDINATOR_LOAD_IN_PROGRESS"]


def bulky(request: Any) -> Any:
    return msgspec.structs.replace(request, client_host="/" + "h" * 30_000)


FETCH: dict[str, Any] = {
    "group_id": "orders",
    "topics": [OffsetFetchRequestTopic(name="t1", partition_indexes=[0])],
}
REFUSED = [
    bulky(join("b", T + 20)),
    bulky(sync("m", 1, T + 20)),
    bulky(leave("m", T + 20)),
    bulky(commit("m", 1, {TopicPartition("t1", 0): 1}, received_at_ms=T + 20, request_id="c")),
    bulky(consumer_beat("m", 0, T + 20)),
    bulky(fitting(DescribeGroupsRequest, 5, groups=["orders"], request_id="d", received_at_ms=T + 20)),
    *(
        bulky(fitting(OffsetFetchRequest, version, **FETCH, request_id="f", received_at_ms=T + 20))
        for version in (1, 5)
    ),
]


@pytest.mark.parametrize("request_", REFUSED, ids=lambda request: f"{type(request).__name__}-{request.api_version}")
def test_what_cannot_be_kept_is_refused_as_by_a_coordinator_that_loads(request_: StreamRequest) -> None:
    (reply,) = refusing(request_)
    assert reply["request_id"] == request_.request_id
    assert reply["api"] in APIS
    response = response_of(reply["api"], reply["error_code"], reply["detail"])
    assert "COORDINATOR_LOAD_IN_PROGRESS" in msgspec.json.encode(response).decode()
    carries_it = carries(APIS[reply["api"]].response, "throttle_time_ms", reply["api_version"])
    assert throttled([reply]) == ([request_.request_id] if carries_it else [])
