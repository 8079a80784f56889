"""What a gateway remembers of requests is bounded by what there is: ids that clients make up are not kept."""

from __future__ import annotations

import asyncio
import itertools
import tracemalloc
from collections.abc import Callable

import pytest

from gateway.tables import unseen_answers
from gateway.tables.heartbeat_door import HeartbeatDoor
from gateway.tables.listings import LONGEST_WAIT_S, Listings
from gateway.tables.membership import KnownMember, Memberships, Standing
from gateway.tables.unseen_answers import ConsumerBeats
from gateway.topic_ids import TopicIds
from schemas.consumer_protocol import TopicPartition
from schemas.messages import ConsumerGroupAssignment, ConsumerGroupHeartbeatResponse, GroupRequest, Response
from tests.gateway.running import asynchronous
from tests.requests import commit, consumer_beat, heartbeat, join, sync

T = 1_000_000
LONG_BYTES = 30_000
TIMES = 100
_numbers = itertools.count()


def long_id() -> str:
    return f"{next(_numbers)}-".ljust(LONG_BYTES, "x")


def kept_bytes(act: Callable[[], object]) -> int:
    """How much of what is allocated meanwhile is still there."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def of_one_member() -> Memberships:
    memberships = Memberships()
    memberships._groups["g"] = Standing("Stable", 1, "consumer", "range", {"m": KnownMember(None, 45_000)})
    return memberships


@pytest.mark.parametrize(
    "forged",
    [
        lambda: heartbeat(long_id(), 1, T, "g"),
        lambda: heartbeat("m", 1, T, long_id()),
        lambda: sync(long_id(), 1, T, "g"),
        lambda: commit(long_id(), 1, {TopicPartition("t", 0): 1}, group="g", received_at_ms=T),
        lambda: commit("", -1, {TopicPartition("t", 0): 1}, group=long_id(), received_at_ms=T),
        lambda: join("", T, long_id(), protocols={long_id(): b"m" * LONG_BYTES}),
    ],
    ids=["member id", "group id", "sync", "commit", "group of a commit", "join"],
)
@pytest.mark.parametrize("is_answered", [True, False])
def test_ids_that_nobody_has_are_not_kept(forged: Callable[[], GroupRequest], is_answered: bool) -> None:
    door = HeartbeatDoor(of_one_member())

    def ask() -> None:
        for n in range(TIMES):
            request = forged()
            request.request_id = f"r{n}"
            door.begin(request)
            if is_answered:
                door.settle(request.request_id)

    assert kept_bytes(ask) < 5 * LONG_BYTES


def test_a_member_and_a_group_that_are_gone_are_forgotten() -> None:
    memberships = of_one_member()
    door = HeartbeatDoor(memberships)
    standing = memberships.of("g")
    assert standing is not None

    def come_and_go() -> None:
        for n in range(TIMES):
            member_id = long_id()
            standing.set(member_id, KnownMember(None, 45_000))
            beat = heartbeat(member_id, 1, T, "g", request_id=f"r{n}")
            assert door.is_open_for(beat)
            door.take(beat)
            standing.remove(member_id)
            door.forget("g", member_id)
        memberships._groups.pop("g")
        door.forget("g")

    assert kept_bytes(come_and_go) < 5 * LONG_BYTES


def test_an_assignment_is_kept_for_nobody_who_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    memberships, beats = of_one_member(), ConsumerBeats()

    def answer_nobody() -> None:
        for member_id in ["m", *(long_id() for _ in range(TIMES))]:
            asked = consumer_beat(member_id, 0, T, "g")
            beats.begin(asked)
            response = ConsumerGroupHeartbeatResponse(assignment=ConsumerGroupAssignment())
            beats.answered(asked.request_id, response, is_awaited=False)
        beats.forget_gone(memberships)

    assert kept_bytes(answer_nobody) < 5 * LONG_BYTES
    again = consumer_beat("m", 1, T, "g")
    beats.begin(again)
    told = beats.answered(again.request_id, ConsumerGroupHeartbeatResponse(), is_awaited=True)
    assert isinstance(told, ConsumerGroupHeartbeatResponse)
    assert told.assignment is not None


def test_heartbeats_that_stay_unanswered_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen_answers, "REMEMBERED", 10)
    beats = ConsumerBeats()
    asked = [consumer_beat(f"m{n}", 1, T, "g") for n in range(25)]
    for request in asked:
        beats.begin(request)
    assert [beats.has_asked(request) for request in asked] == [False] * 15 + [True] * 10
    odd = consumer_beat(long_id(), 1, T, "g")
    beats.begin(odd)
    assert not beats.has_asked(odd)


@asynchronous
async def test_what_nobody_lists_for_is_forgotten_in_time() -> None:
    listings = Listings()

    def ask() -> None:
        for turn in range(10):
            for n in range(1000):
                listings.begin(join("a", request_id=f"r{turn}-{n}"), turn * 10.0)
            listings.tell([], turn * 10.0 + LONGEST_WAIT_S + 1)

    assert kept_bytes(ask) < 5 * LONG_BYTES


def test_the_groups_that_know_the_topics_are_remembered_in_little() -> None:
    topic_ids = TopicIds({"t1": 4})
    loop = asyncio.new_event_loop()

    def settle() -> None:
        for n in range(TIMES):
            request = topic_ids.named(consumer_beat("m", 0, T, long_id(), request_id=f"r{n}"))
            done: asyncio.Future[Response] = loop.create_future()
            done.set_result(ConsumerGroupHeartbeatResponse())
            topic_ids.settle(request, done)

    try:
        assert kept_bytes(settle) < 5 * LONG_BYTES
    finally:
        loop.close()
